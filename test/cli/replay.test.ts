import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Folder, jsonLines, podwright, start } from './podwright.ts';

const traces = fileURLToPath(new URL('../traces', import.meta.url));
const notFound = `${traces}/1.36.3/rules-pull-not-found-then-fixed.jsonl.gz`;

let folder: Folder;
beforeAll(() => {
  folder = new Folder();
});
afterAll(() => folder.end());

describe('podwright replay', () => {
  test('--json prints one object, with the fields that apply to each outcome', async () => {
    const { code, out, err } = await podwright(['replay', notFound, '--json']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(jsonLines(out)).toEqual([
      {
        pods: [
          {
            name: 'build',
            uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
            containers: [
              { name: 'a', outcome: 'pullFailed', class: 'notFound', permanent: true, decidedAt: 13.916 },
              { name: 'b', outcome: 'terminated', exitCode: 0, cause: 'completed', decidedAt: 55.457 },
            ],
          },
        ],
      },
    ]);
  });

  test('an exit code that nobody knows is null, a container that nobody asked for is idle', async () => {
    const { out } = await podwright(['replay', `${traces}/1.36.3/placeholder-died.jsonl.gz`, '--json']);
    expect(JSON.parse(out)).toMatchObject({
      pods: [
        {
          containers: [
            { outcome: 'terminated', exitCode: null, cause: 'placeholderLost' },
            { name: 'b', outcome: 'idle' },
          ],
        },
      ],
    });
  });

  test('for people it prints the time line, then the verdicts; a file need not be compressed', async () => {
    folder.file('trace.jsonl', gunzipSync(readFileSync(notFound)).toString('utf8'));
    const { code, out } = await podwright(['replay', 'trace.jsonl'], { cwd: folder.path });
    expect(code).toBe(0);
    expect(out).toMatch(/^ +1\.53 {2}build\/a: asked to run localhost:5000\/step:none$/m);
    expect(out).toMatch(/^ +13\.92 {2}build\/a: container pulling → pullFailed: image not pulled: .*not found/m);
    expect(out).toMatch(/^ {2}a +pullFailed, notFound, permanent \(at 13\.92 s\)$/m);
    expect(out).toMatch(/^ {2}b +terminated, exit code 0, completed \(at 55\.46 s\)$/m);
  });

  test('--speed plays as time goes, and can be interrupted', async () => {
    const replay = start(['replay', notFound, '--speed', '1']);
    await replay.seen('asked to run localhost:5000/step:none');
    replay.signal('SIGINT');
    const { code, out } = await replay.ended;
    expect(code).toBe(130);
    expect(out).not.toMatch(/pullFailed/);
  });

  test.each([
    ['no such file', 'nothing.jsonl', '', /cannot read nothing\.jsonl: there is no such file/],
    ['not JSON', 'half.jsonl', '{"t":0,"kind":"meta","data":{}}\n{"t":1,"ki', /half\.jsonl:2: this is not JSON/],
    ['no time', 'odd.jsonl', '{"kind":"note"}', /odd\.jsonl:1: a line needs "t" \(seconds\) and "kind"/],
    [
      'no identity',
      'bare.jsonl',
      '{"t":0,"kind":"watch","data":{"resource":"pods","type":"ADDED","object":{}}}',
      /bare\.jsonl:1: an object without name, uid or resourceVersion/,
    ],
    [
      'an unknown frame',
      'new.jsonl',
      '{"t":0,"kind":"watch","data":{"resource":"pods","type":"MOVED","object":{}}}',
      /new\.jsonl:1: a frame of type "MOVED"/,
    ],
    ['nothing in it', 'empty.jsonl', '\n', /empty\.jsonl:2: it holds no line/],
  ])('refuses %s with the place and a remedy', async (_what, file, text, message) => {
    if (file !== 'nothing.jsonl') folder.file(file, text);
    const { code, out, err } = await podwright(['replay', file], { cwd: folder.path });
    expect(code).toBe(2);
    expect(out).toBe('');
    expect(err).toMatch(message);
  });

  test('refuses a damaged archive', async () => {
    writeFileSync(`${folder.path}/broken.gz`, Buffer.from([0x1f, 0x8b, 8, 0, 0]));
    const { code, err } = await podwright(['replay', 'broken.gz'], { cwd: folder.path });
    expect(code).toBe(2);
    expect(err).toMatch(/broken\.gz cannot be decompressed/);
  });

  test('refuses a speed that is none', async () => {
    const { code, err } = await podwright(['replay', notFound, '--speed', 'fast']);
    expect(code).toBe(2);
    expect(err).toMatch(/"fast" is no speed/);
  });
});

describe('podwright run --record', () => {
  test('writes a recording that replays to the verdicts of the run, without what the steps were told', async () => {
    folder.file(
      'pipeline.yml',
      'steps:\n  - name: good\n    image: alpine:3\n    environment: { TOKEN: hunter2 }\n    commands: [echo hello]\n  - name: bad\n    image: alpine:3\n    commands: [exit 3]\n',
    );
    const ran = await podwright(['run', 'pipeline.yml', '--record', 'run.jsonl'], { cwd: folder.path });
    expect(ran.code).toBe(1);
    const text = readFileSync(`${folder.path}/run.jsonl`, 'utf8');
    expect(text).not.toMatch(/hunter2|echo hello|exit 3/);
    const { out } = await podwright(['replay', 'run.jsonl', '--json'], { cwd: folder.path });
    expect(JSON.parse(out)).toMatchObject({
      pods: [
        {
          containers: [
            { name: 'good', outcome: 'terminated', exitCode: 0, cause: 'completed' },
            { name: 'bad', outcome: 'terminated', exitCode: 3, cause: 'error' },
          ],
        },
      ],
    });
  });

  test('refuses a file that cannot be made before anything is created', async () => {
    folder.file('one.yml', 'steps:\n  - name: one\n    image: alpine:3\n    commands: [true]\n');
    const { code, err } = await podwright(['run', 'one.yml', '--record', 'no/such/folder.jsonl'], { cwd: folder.path });
    expect(code).toBe(2);
    expect(err).toMatch(/cannot write no\/such\/folder\.jsonl/);
  });
});

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startCluster } from '../../src/cluster/index.ts';
import { connect } from '../../src/kube/client.ts';
import { eventually } from '../runtime/embedded.ts';
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

  test('refuses a file that is none, with the place and a remedy', async () => {
    const missing = await podwright(['replay', 'nothing.jsonl'], { cwd: folder.path });
    expect(missing.code).toBe(2);
    expect(missing.err).toMatch(/cannot read nothing\.jsonl: there is no such file/);
    folder.file('half.jsonl', '{"t":0,"kind":"meta","data":{}}\n{"t":1,"ki');
    const half = await podwright(['replay', 'half.jsonl'], { cwd: folder.path });
    expect([half.code, half.out]).toEqual([2, '']);
    expect(half.err).toMatch(/half\.jsonl:2: this is not JSON/);
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

describe('podwright record', () => {
  test('writes what a namespace’s pods do until it is interrupted, and says where', async () => {
    const cluster = await startCluster({
      backend: 'scripted',
      namespaces: ['seen'],
      lives: [{ match: { container: 'a' }, runs: 10, exitCode: 4 }],
    });
    const client = await connect({ kubeConfig: cluster.kubeConfig });
    try {
      const file = `${folder.path}/seen.jsonl`;
      const recording = start(['record', '--kubeconfig', cluster.kubeConfig, '--namespace', 'seen', '--out', file]);
      const written = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
      await recording.line(/Recording pods of seen/);
      const spec = { restartPolicy: 'Never', containers: [{ name: 'a', image: 'lab.local/step:1' }] };
      await client.create({ resource: 'pods', namespace: 'seen' }, { metadata: { name: 'one' }, spec });
      await eventually(() => written().includes('"phase":"Failed"'), 'the pod has ended');
      recording.signal('SIGINT');
      const { code, err } = await recording.ended;
      expect(code).toBe(0);
      expect(err).toMatch(
        /Recording pods of seen on http:.* to .*seen\.jsonl\. Interrupt to end\.\n.*seen\.jsonl: \d+ lines/s,
      );
      const { out } = await podwright(['replay', file, '--json']);
      expect(JSON.parse(out)).toMatchObject({
        pods: [{ name: 'one', containers: [{ outcome: 'terminated', exitCode: 4 }] }],
      });
    } finally {
      await client.close();
      await cluster.stop();
    }
  });

  test('--for ends it by itself; a cluster that cannot be reached is told', async () => {
    const { code, err } = await podwright(
      ['record', '--kubeconfig', 'nowhere.yml', '--out', 'x.jsonl', '--for', '1s'],
      { cwd: folder.path },
    );
    expect(code).toBe(2);
    expect(err).toMatch(/nowhere\.yml/);
  });
});

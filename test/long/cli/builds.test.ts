// The commands on builds that a cluster has: list, logs, cancel, cleanup, adopt.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EmbeddedCluster, startCluster } from '../../../src/cluster/index.ts';
import { Folder, jsonLines, podwright, type Started, start } from '../../cli/podwright.ts';

const folder = new Folder();
const file = folder.file(
  'steps.yml',
  `version: "1"
secrets: [{ name: token }]
steps:
  - { name: first, image: alpine, commands: ["echo first"] }
  - { name: second, image: alpine, secrets: [token], commands: ["echo begun with $TOKEN", "sleep $WAIT", "echo ended"] }
  - { name: third, image: alpine, commands: ["echo third"] }
`,
);

/** A port that nobody can listen on without being root. */
const nobody = folder.file(
  'nobody.kubeconfig',
  `current-context: x
contexts: [{ name: x, context: { cluster: x, user: x } }]
clusters: [{ name: x, cluster: { server: "http://127.0.0.1:1" } }]
users: [{ name: x, user: {} }]
`,
);

let cluster: EmbeddedCluster;
beforeAll(async () => {
  cluster = await startCluster({ namespaces: ['a', 'b', 'c'] });
});
afterAll(async () => {
  await cluster.stop();
  folder.end();
});

/** A build whose second step waits. */
async function startBuild(namespace: string, seconds = 300): Promise<{ readonly run: Started; readonly id: string }> {
  const run = start([
    'run',
    file,
    ...at(namespace),
    '--secret',
    'token=t0k3n-value',
    '--env',
    `WAIT=${seconds}`,
    '--output',
    'json',
  ]);
  await run.seen('begun with');
  // From its own output: the list's order is by second, and another build may be as old.
  const [id] = run.output().match(/(?<="type":"build.prepared","time":"[^"]*","build":")[^"]+/) ?? [];
  if (id === undefined) throw new Error(`no build in ${run.output()}`);
  return { run, id };
}

const at = (namespace: string): readonly string[] => ['--kubeconfig', cluster.kubeConfig, '--namespace', namespace];

test.concurrent.each([
  ['list'],
  ['cancel', 'x'],
  ['logs', 'x', 'y'],
  ['adopt', 'x'],
  ['record', '--out', '/dev/null'],
  ['serve'],
  ['watch'],
])('a server that is not there is told soon: %s', { timeout: 60_000 }, async (...args) => {
  const { code, err } = await podwright([...args, '--kubeconfig', nobody]);
  expect(err).toContain('connection refused');
  expect(code).toBe(3);
});

describe('a build that runs', { timeout: 60_000 }, () => {
  test('is listed, its log is shown, and it can be canceled', async () => {
    const { run, id } = await startBuild('a');
    const list = await podwright(['list', ...at('a')]);
    expect(list.out).toMatch(new RegExp(`^BUILD +PHASE +AGE +STEPS .*\\n${id} +Running +[0-9.]+ (?:s|min \\d+ s) +3 `));
    const followed = start(['logs', id, 'second', ...at('a')]);
    await followed.seen('begun with');
    followed.signal('SIGINT');
    expect((await followed.ended).code).toBe(130);
    const logs = await podwright(['logs', id, 'second', '--no-follow', ...at('a')]);
    expect(logs.out).toContain('begun with t0k3n-value\n');
    expect((await podwright(['logs', id, 'third', ...at('a')])).err).toContain('has not started yet');
    expect((await podwright(['logs', id, 'fourth', ...at('a')])).err).toContain('It has: first, second, third.');
    expect((await podwright(['logs', 'nothing', 'x', ...at('a')])).err).toContain(`There are: ${id}.`);

    expect(await podwright(['cancel', id, ...at('a')])).toMatchObject({ code: 0, out: `${id}: removed\n` });
    const { code, out } = await run.ended;
    expect(code).toBe(3);
    expect(jsonLines(out).at(-1)).toMatchObject({
      outcome: 'error',
      steps: [{}, { cause: 'podDeleted' }, { status: 'skipped' }],
    });
    expect((await podwright(['list', ...at('a')])).out).toBe('There are no builds in the namespace "a".\n');
  });

  test('whose runner was killed is gone on with: no step twice, no line lost', async () => {
    const { run, id } = await startBuild('b', 8);
    run.signal('SIGKILL');
    await run.ended;
    const missing = await podwright(['adopt', 'nothing', ...at('b'), '--output', 'json']);
    expect(jsonLines(missing.out)).toMatchObject([
      { type: 'build.settled', outcome: 'error', error: { code: 'ERR_PODWRIGHT_NOT_FOUND' } },
    ]);
    const { code, out } = await podwright(['adopt', id, ...at('b'), '--output', 'json']);
    expect(code, out).toBe(0);
    const lines = jsonLines(out).filter((line) => line['type'] === 'step.log');
    expect(lines.map((line) => `${line['step']}: ${line['line']}`)).toEqual([
      'first: $ echo first',
      'first: first',
      'second: $ echo begun with $TOKEN',
      'second: begun with ***',
      'second: $ sleep $WAIT',
      'second: $ echo ended',
      'second: ended',
      'third: $ echo third',
      'third: third',
    ]);
    expect(out).not.toContain('t0k3n-value');
    const creates = cluster.requests.find({ resource: 'pods', verb: 'create', namespace: 'b', subresource: '' });
    expect(creates).toHaveLength(1);
  });

  test('that has ended is cleaned up, and one that runs only when it is old', async () => {
    const done = folder.file('done.yml', 'steps: [{ name: s, image: alpine, commands: ["true"] }]\n');
    expect((await podwright(['run', done, ...at('c'), '--keep'])).code).toBe(0);
    const { run, id } = await startBuild('c');
    const dry = await podwright(['cleanup', '--dry-run', ...at('c')]);
    expect(dry.out).toMatch(/^\S+: would be removed \(pw-\S+\)\n$/);
    expect(dry.out).not.toContain(`${id}:`);
    expect((await podwright(['cleanup', ...at('c')])).out).toMatch(/^\S+: removed\n$/);
    expect((await podwright(['cleanup', ...at('c')])).out).toBe('Nothing to remove; 1 build on the cluster.\n');
    expect((await podwright(['cleanup', '--older-than', '0s', ...at('c')])).out).toBe(`${id}: removed\n`);
    expect((await run.ended).code).toBe(3);
  });
});

// `podwright run` as a user runs it: the real binary, on the embedded cluster.
import { afterAll, describe, expect, test } from 'vitest';
import { startCluster } from '../../src/cluster/index.ts';
import { inProcess } from './in-process.ts';
import { Folder, jsonLines, podwright, start } from './podwright.ts';

const folder = new Folder();
afterAll(() => folder.end());

const step = (name: string, ...commands: readonly string[]): string =>
  `  - name: ${name}\n    image: alpine:3\n    commands:\n${commands.map((command) => `      - ${JSON.stringify(command)}`).join('\n')}`;

const pipeline = (name: string, ...steps: readonly string[]): string =>
  folder.file(name, `version: "1"\nsteps:\n${steps.join('\n')}\n`);

describe('a build that ends by itself', () => {
  test('succeeds with 0, after the name, state and log of each step', async () => {
    const { code, out, err } = await podwright(['run', 'examples/hello.yml']);
    expect(err).toBe('');
    expect(code).toBe(0);
    expect(out).toMatch(/cluster +embedded cluster/);
    expect(out).toMatch(/step +greet from alpine:3/);
    expect(out).toMatch(/warning: .*unisolated/);
    expect(out).toContain('[greet] Hello from greet\n');
    expect(out).toMatch(/\[greet\] succeeded after/);
    expect(out).toContain('[Show the workspace] it is step 1 of a push build\n');
    expect(out).toContain('[on failure only] skipped: it runs only when the build has failed\n');
    expect(out).toMatch(/Build succeeded in .*: 2 of 3 steps succeeded, 1 skipped\.\n$/);
  });

  test('fails with 1, says which step, with which code, and what did not run', async () => {
    const file = pipeline(
      'fails.yml',
      step('one', 'true'),
      step('two', 'echo before', 'exit 3', 'echo after'),
      step('three', 'true'),
    );
    const { code, out } = await podwright(['run', file]);
    expect(code).toBe(1);
    expect(out).toContain('[two] failed: exit code 3');
    expect(out).not.toContain('[two] after');
    expect(out).toContain('[three] skipped: an earlier step failed');
    expect(out).toMatch(/two exit code 3\n {2}image: alpine:3/);
  });

  test('writes one JSON object a line, and the whole result last', async () => {
    const file = pipeline('json.yml', step('one', 'echo hello'), step('two', 'exit 7'));
    const { code, out } = await podwright(['run', file, '--output', 'json']);
    expect(code).toBe(1);
    const lines = jsonLines(out);
    expect(lines).toContainEqual(expect.objectContaining({ type: 'step.log', step: 'one', line: 'hello' }));
    expect(lines.at(-1)).toMatchObject({
      type: 'build.settled',
      outcome: 'failed',
      steps: [
        { name: 'one', outcome: 'terminated', exitCode: 0, cause: 'completed', status: 'succeeded' },
        { name: 'two', outcome: 'terminated', exitCode: 7, cause: 'error', status: 'failed' },
      ],
    });
  });

  test('opens two watches, however many steps', async () => {
    const cluster = await startCluster();
    try {
      const file = pipeline('many.yml', ...Array.from({ length: 8 }, (_, index) => step(`s${index}`, 'true')));
      const { code, out } = await podwright(['run', file, '--kubeconfig', cluster.kubeConfig]);
      expect(code, out).toBe(0);
      // The scheduler's and the kubelet's user agents are podwright-cluster/…
      const watches = cluster.requests.find({ userAgent: 'podwright/', verb: 'watch' });
      expect(watches.map((request) => request.resource).sort()).toEqual(['events', 'pods']);
    } finally {
      await cluster.stop();
    }
  });

  test('keeps the logs of steps that went well back when only the others are asked for', async () => {
    const file = pipeline('logs.yml', step('one', 'echo quiet'), step('two', 'echo loud', 'false'));
    const { out } = await podwright(['run', file, '--logs', 'failed']);
    expect(out).not.toContain('[one] quiet');
    expect(out).toContain('[two] loud');
  });
});

describe('a mistake of the user ends with 2, before anything is created', () => {
  test.each([
    ['a file that is not there', ['run', 'no-such.yml'], 'no-such.yml: there is no such file'],
    ['a folder', ['run', '/'], 'it is a folder'],
    ['no file', ['run'], "missing required argument 'file'"],
    ['an unknown flag', ['run', 'x.yml', '--outpt', 'json'], '--output'],
    ['an unknown command', ['rnu', 'x.yml'], 'run'],
    ['a bad choice', ['run', 'x.yml', '--output', 'xml'], 'pretty'],
    ['a placeholder without a code', ['run', 'x.yml', '--placeholder', 'a=b'], 'exit code'],
    ['a kubeconfig that is not there', ['run', 'examples/hello.yml', '--kubeconfig', '/no/such'], '/no/such'],
  ])('%s', async (_, args, message) => {
    const { code, out, err } = await inProcess(...args);
    expect(err).toContain(message);
    expect(out).toBe('');
    expect(code).toBe(2);
  });

  test('a report that cannot be written, and a service that is not there to wait for', async () => {
    const cluster = await startCluster();
    try {
      const file = pipeline('reported.yml', step('one', 'true'));
      const args = ['run', file, '--kubeconfig', cluster.kubeConfig];
      for (const [flags, message] of [
        [['--report', `html=${file}/report.html`], 'cannot write the report'],
        [['--report', `junit=${folder.path}`], 'it is a folder'],
        [['--ready', 'db=true'], 'there is no service "db" to wait for'],
      ] as const) {
        const { code, err } = await inProcess(...args, ...flags);
        expect(err).toContain(message);
        expect(code).toBe(2);
      }
      expect(cluster.requests.count({ verb: 'create', resource: 'pods' })).toBe(0);
    } finally {
      await cluster.stop();
    }
  });

  test('a broken pipeline, with every mistake at its place', async () => {
    const file = folder.file('broken.yml', 'steps:\n  - name: a\n    imge: alpine\n  - name: a\n    image: Alpine\n');
    const { code, err } = await podwright(['run', file]);
    expect(code).toBe(2);
    expect(err).toContain(`${file}:3:5: unknown key "imge" in step "a"\n    Did you mean "image"?`);
    expect(err).toContain(`${file}:4:11: there are two steps with the name "a"`);
    expect(err).toContain(`${file}:5:12:`);
  });

  test('and as JSON when that was asked for', async () => {
    const file = folder.file('broken-json.yml', 'steps: 3\n');
    const { code, out } = await inProcess('run', file, '--output', 'json');
    expect(code).toBe(2);
    expect(jsonLines(out).at(-1)).toMatchObject({
      type: 'build.settled',
      outcome: 'error',
      error: { code: 'ERR_PODWRIGHT_PIPELINE_INVALID' },
      problems: [{ line: 1, column: 8 }],
    });
  });
});

describe('an interrupt', () => {
  const sleeping = pipeline('sleeps.yml', step('one', 'echo begun', 'sleep 600'), step('two', 'true'));

  test('cancels the build, removes its pod, and ends with 130', async () => {
    const run = start(['run', sleeping, '--output', 'json']);
    await run.seen('begun');
    run.signal('SIGINT');
    const { code, out } = await run.ended;
    const lines = jsonLines(out);
    expect(lines).toContainEqual(
      expect.objectContaining({ type: 'build.removed', report: expect.objectContaining({ gone: true }) }),
    );
    expect(lines.at(-1)).toMatchObject({
      type: 'build.settled',
      outcome: 'canceled',
      steps: [
        { name: 'one', status: 'canceled' },
        { name: 'two', status: 'canceled' },
      ],
    });
    expect(code).toBe(130);
  });

  test('is also when nobody reads the output any more', async () => {
    const cluster = await startCluster();
    try {
      const chatty = pipeline('chatty.yml', step('one', 'while :; do echo still here; sleep 0.1; done'));
      const run = start(['run', chatty, '--kubeconfig', cluster.kubeConfig]);
      await run.seen('still here');
      run.stopReading();
      const { code, err } = await run.ended;
      expect(code).toBe(130);
      expect(err).not.toMatch(/fault|EPIPE/);
      expect(cluster.requests.count({ method: 'DELETE', resource: 'pods' })).toBeGreaterThan(0);
    } finally {
      await cluster.stop();
    }
  });

  test('the second one leaves at once and says what stays', async () => {
    const cluster = await startCluster();
    try {
      const stubborn = pipeline('stubborn.yml', step('one', 'trap "" TERM', 'echo begun', 'sleep 600'));
      const run = start(['run', stubborn, '--kubeconfig', cluster.kubeConfig]);
      await run.seen('[one] begun');
      run.signal('SIGINT');
      await run.seen('Interrupt again to leave at once');
      // Two signals in one moment are one press, passed on by a launcher.
      const press = setInterval(() => run.signal('SIGINT'), 50);
      const { code, err } = await run.ended.finally(() => clearInterval(press));
      expect(code).toBe(130);
      expect(err).toMatch(/Still there: pod default\/pw-\S+ on http/);
    } finally {
      await cluster.stop();
    }
  });
});

// `podwright run` through the real binary, on a real Kubernetes.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Folder, jsonLines, podwright, start } from '../cli/podwright.ts';
import { kubeConfig, type Lab, openLab } from './lab.ts';

const folder = new Folder();
let lab: Lab;
let flags: readonly string[];
beforeAll(async () => {
  lab = await openLab('cli');
  flags = [
    '--kubeconfig',
    kubeConfig ?? '',
    '--namespace',
    lab.namespace,
    '--placeholder',
    'lab.local/placeholder213:1=213',
  ];
});
afterAll(async () => {
  folder.end();
  await lab.end();
});

async function podsLeft(): Promise<number> {
  return (await lab.client.list<object>({ resource: 'pods', namespace: lab.namespace })).items.length;
}

describe('podwright run', () => {
  test('the example: every step, its log, exit code 0, no pod left', async () => {
    const { code, out, err } = await podwright(['run', 'examples/cluster.yml', ...flags]);
    expect(err).toBe('');
    expect(code, out).toBe(0);
    for (const line of ['[build] building one', '[build] building three', '[check] all targets were built']) {
      expect(out).toContain(`${line}\n`);
    }
    expect(out).toContain('3 of 3 steps succeeded');
    expect(await podsLeft()).toBe(0);
  });

  test('a step that exits 3: exit code 1, and it says 3', async () => {
    const file = folder.file('fails.yml', 'steps: [{ name: bad, image: "lab.local/base:1", commands: [exit 3] }]\n');
    const { code, out } = await podwright(['run', file, ...flags]);
    expect(code, out).toBe(1);
    expect(out).toContain('[bad] failed: exit code 3');
    expect(await podsLeft()).toBe(0);
  });

  test('an image that does not exist: exit code 1 within 30 s, with the words of the registry', async () => {
    const file = folder.file('pull.yml', 'steps: [{ name: bad, image: "localhost:5000/step:none", commands: [x] }]\n');
    const { code, out } = await podwright(['run', file, ...flags, '--output', 'json']);
    expect(code, out).toBe(1);
    const settled = jsonLines(out).at(-1);
    expect(settled).toMatchObject({
      type: 'build.settled',
      outcome: 'failed',
      steps: [
        {
          outcome: 'pullFailed',
          exitCode: null,
          verdict: { class: 'notFound', message: expect.stringContaining('localhost:5000/step:none: not found') },
        },
      ],
    });
    expect(settled?.['durationMs']).toBeLessThan(30_000);
  });

  test('an interrupt: exit code 130, no pod left', async () => {
    const file = folder.file(
      'sleeps.yml',
      'steps: [{ name: s, image: "lab.local/base:1", commands: [echo begun, sleep 600] }]\n',
    );
    const run = start(['run', file, ...flags]);
    await run.seen('[s] begun');
    run.signal('SIGINT');
    const { code, out } = await run.ended;
    expect(code, out).toBe(130);
    expect(out).toContain('Build canceled');
    expect(await podsLeft()).toBe(0);
  });
});

describe('a cluster that cannot be used ends with 3', () => {
  const file = folder.file('any.yml', 'steps: [{ name: s, image: "lab.local/base:1", commands: [x] }]\n');

  test('nobody listens: what was tried', async () => {
    const config = folder.file('nobody.kubeconfig', kubeconfigOf('https://127.0.0.1:1'));
    const { code, err } = await podwright(['run', file, '--kubeconfig', config]);
    expect(code).toBe(3);
    expect(err).toContain('127.0.0.1:1');
    expect(err).toMatch(/refused/);
  });

  test('a token that is not known: which one', async () => {
    const config = folder.file('token.kubeconfig', kubeconfigOf(lab.client.server, 'expired'));
    const { code, err } = await podwright(['run', file, '--kubeconfig', config]);
    expect(code).toBe(3);
    expect(err).toContain('401');
  });

  test('rights that are missing: which ones, and the Role that gives them', async () => {
    const config = folder.file('worker.kubeconfig', kubeconfigOf(lab.client.server, 'worker'));
    const { code, err } = await podwright(['run', file, '--kubeconfig', config, '--namespace', lab.namespace]);
    expect(code).toBe(3);
    expect(err).toContain('create pods');
    expect(err).toContain('kind: Role');
  });
});

function kubeconfigOf(server: string, token = 'none'): string {
  return `apiVersion: v1
kind: Config
current-context: test
contexts: [{ name: test, context: { cluster: test, user: test } }]
clusters: [{ name: test, cluster: { server: "${server}", insecure-skip-tls-verify: true } }]
users: [{ name: test, user: { token: "${token}" } }]
`;
}

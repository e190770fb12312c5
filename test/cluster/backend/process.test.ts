/** Containers as processes of this machine. */
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { kill } from 'node:process';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type ClusterOptions, type EmbeddedCluster, startCluster } from '../../../src/cluster/index.ts';
import { type Anything, aPod } from '../memory-client.ts';

const pods = '/api/v1/namespaces/default/pods';
const open: EmbeddedCluster[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((cluster) => cluster.stop()));
});

async function start(options: ClusterOptions = {}): Promise<EmbeddedCluster> {
  const cluster = await startCluster(options);
  open.push(cluster);
  return cluster;
}

async function send(cluster: EmbeddedCluster, method: string, path: string, body?: object): Promise<Anything> {
  const type = method === 'PATCH' ? 'application/strategic-merge-patch+json' : 'application/json';
  const response = await fetch(`${cluster.url}${path}`, {
    method,
    ...(body && { headers: { 'content-type': type }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return response.headers.get('content-type') === 'application/json' ? JSON.parse(text) : text;
}

/** The pod as it was when it first was so. `act` comes once it is watched: what is deleted may be gone before one looks. */
async function until(
  cluster: EmbeddedCluster,
  holds: (pod: Anything) => boolean,
  act?: () => Promise<unknown>,
): Promise<Anything> {
  const response = await fetch(`${cluster.url}${pods}?watch=1`);
  await act?.();
  let rest = '';
  for await (const bytes of response.body ?? []) {
    const lines = (rest + Buffer.from(bytes).toString()).split('\n');
    rest = lines.pop() ?? '';
    const found = lines.map((line) => JSON.parse(line).object).find(holds);
    if (found !== undefined) return found;
  }
  throw new Error('the watch ended');
}

const remove = (cluster: EmbeddedCluster, options?: object) => (): Promise<unknown> =>
  send(cluster, 'DELETE', `${pods}/p`, options);

const over = (pod: Anything): boolean => ['Succeeded', 'Failed'].includes(pod.status.phase);
const sh = (script: string, more: object = {}): object => ({
  name: 'a',
  image: 'x:1',
  command: ['/bin/sh', '-c', script],
  ...more,
});
const ended = (pod: Anything, at = 0): Anything => pod.status.containerStatuses[at].state.terminated;

async function run(
  container: object,
  spec: object = {},
  options: ClusterOptions = {},
): Promise<{ pod: Anything; log: string }> {
  const cluster = await start(options);
  await send(cluster, 'POST', pods, aPod('p', { containers: [container], spec }));
  const pod = await until(cluster, over);
  return { pod, log: await send(cluster, 'GET', `${pods}/p/log`) };
}

describe('exit', () => {
  test.each([
    ['exit 0', 0, 'Completed', 'Succeeded'],
    ['exit 3', 3, 'Error', 'Failed'],
    ['kill -9 $$$$', 137, 'Error', 'Failed'],
    ['kill -TERM $$$$', 143, 'Error', 'Failed'],
  ])('%s', async (script, exitCode, reason, phase) => {
    const { pod } = await run(sh(script));
    expect(ended(pod)).toMatchObject({ exitCode, reason });
    expect(pod.status.phase).toBe(phase);
  });

  test('a command that is not there is a start error', async () => {
    const { pod } = await run({ name: 'a', image: 'x:1', command: ['/nope'] });
    expect(ended(pod)).toMatchObject({ exitCode: 128, reason: 'StartError', startedAt: '1970-01-01T00:00:00Z' });
    expect(ended(pod).message).toContain('exec: "/nope": stat /nope: no such file or directory');
  });

  test('the termination log is told', async () => {
    const { pod } = await run(sh('echo why > /dev/termination-log; exit 4'));
    expect(ended(pod)).toMatchObject({ exitCode: 4, message: 'why\n' });
  });
});

test('output is kept in order, also lines without an end and bytes that are no text', async () => {
  const { log } = await run(sh('echo one; printf "two\\n\\n"; echo three >&2; printf "last \\303\\244"'));
  expect(log.split('\n').sort()).toEqual(['', 'last ä', 'one', 'three', 'two'].sort());
});

test('a line longer than the runtime keeps in one piece comes out whole', async () => {
  const { log } = await run(sh('head -c 100000 /dev/zero | tr "\\0" x; echo'));
  expect(log).toBe(`${'x'.repeat(100_000)}\n`);
});

test('volumes are shared by the containers of the pod, and their paths work', async () => {
  const cluster = await start();
  const volumeMounts = [{ name: 'w', mountPath: '/workspace' }];
  const containers = [
    { ...sh('cd /workspace && echo shared > file && pwd'), volumeMounts },
    {
      ...sh('until test -e /workspace/file; do sleep 0.05; done; cat "$DIR/file"'),
      name: 'b',
      volumeMounts,
      env: [{ name: 'DIR', value: '/workspace' }],
    },
  ];
  await send(cluster, 'POST', pods, aPod('p', { containers, spec: { volumes: [{ name: 'w', emptyDir: {} }] } }));
  await until(cluster, over);
  expect(await send(cluster, 'GET', `${pods}/p/log?container=b`)).toBe('shared\n');
  const folder = String(await send(cluster, 'GET', `${pods}/p/log?container=a`)).trim();
  expect(existsSync(folder)).toBe(true);
  await send(cluster, 'DELETE', `${pods}/p`, { gracePeriodSeconds: 0 });
  await expect.poll(() => existsSync(folder)).toBe(false);
});

test('a folder for temporary files that is no word to a shell is not used', async () => {
  vi.stubEnv('TMPDIR', '/tmp/two words');
  onTestFinished(() => void vi.unstubAllEnvs());
  const cluster = await start();
  const a = { ...sh('cd /workspace && pwd'), volumeMounts: [{ name: 'w', mountPath: '/workspace' }] };
  const volumes = [{ name: 'w', emptyDir: {} }];
  await send(cluster, 'POST', pods, aPod('p', { containers: [a], spec: { volumes } }));
  expect(ended(await until(cluster, over))).toMatchObject({ exitCode: 0 });
});

test('variables come from the spec, from secrets and from the pod; the host’s do not', async () => {
  const cluster = await start();
  await send(cluster, 'POST', '/api/v1/namespaces/default/secrets', {
    metadata: { name: 's' },
    stringData: { token: 'hidden', other: 'too' },
  });
  const env = [
    { name: 'A', value: 'a' },
    { name: 'B', value: '$(A)b $$(A)' },
    { name: 'T', valueFrom: { secretKeyRef: { name: 's', key: 'token' } } },
    { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ];
  const container = sh('env | grep -v -e ^HOME -e ^TMPDIR -e ^PWD -e ^_ -e ^SHLVL -e ^OLDPWD | sort', {
    env,
    envFrom: [{ prefix: 'S_', secretRef: { name: 's' } }],
  });
  await send(cluster, 'POST', pods, aPod('p', { containers: [container] }));
  await until(cluster, over);
  const log = String(await send(cluster, 'GET', `${pods}/p/log`));
  expect(log.trim().split('\n')).toEqual([
    'A=a',
    'B=ab $(A)',
    'HOSTNAME=p',
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    'POD=p',
    'S_other=too',
    'S_token=hidden',
    'T=hidden',
  ]);
});

test('a placeholder only waits: nothing of its args runs, and it ends with its code', async () => {
  const cluster = await start({ placeholders: [{ image: 'mine/wait:*', exitCode: 99 }] });
  const marker = `/tmp/podwright-never-${process.pid}`;
  const args = ['/bin/sh', '-c', `touch ${marker}`];
  await send(cluster, 'POST', pods, aPod('p', { containers: [{ name: 'a', image: 'mine/wait:7', args }] }));
  await until(cluster, (pod) => pod.status.phase === 'Running');
  const pod = await until(cluster, (one) => ended(one) !== undefined, remove(cluster, { gracePeriodSeconds: 30 }));
  expect(ended(pod).exitCode).toBe(99);
  expect(existsSync(marker)).toBe(false);
  expect(cluster.warnings).toEqual([]);
});

test('a step patched in runs its args', async () => {
  const cluster = await start();
  const args = ['/bin/sh', '-c', 'echo from $0 the step; exit 5'];
  await send(cluster, 'POST', pods, aPod('p', { containers: [{ name: 'a', image: 'lab.local/placeholder:1', args }] }));
  await until(cluster, (pod) => pod.status.phase === 'Running');
  await send(cluster, 'PATCH', `${pods}/p`, { spec: { containers: [{ name: 'a', image: 'tools:1' }] } });
  const pod = await until(cluster, over);
  expect(ended(pod).exitCode).toBe(5);
  expect(pod.status.containerStatuses[0]).toMatchObject({
    restartCount: 1,
    image: 'tools:1',
    lastState: { terminated: { exitCode: 0 } },
  });
  expect(cluster.warnings).toEqual([expect.stringContaining('unisolated')]);
});

describe('ends', () => {
  test('SIGTERM first, and the whole group is gone with its first process', async () => {
    const cluster = await start();
    await send(cluster, 'POST', pods, aPod('p', { containers: [sh('trap "exit 7" TERM; sleep 300 & echo $!; wait')] }));
    await until(cluster, (pod) => pod.status.phase === 'Running');
    await expect.poll(async () => send(cluster, 'GET', `${pods}/p/log`)).toMatch(/^\d+\n$/);
    const child = Number(await send(cluster, 'GET', `${pods}/p/log`));
    const pod = await until(cluster, (one) => ended(one) !== undefined, remove(cluster, { gracePeriodSeconds: 30 }));
    expect(ended(pod).exitCode).toBe(7);
    await expect.poll(() => lives(child)).toBe(false);
  });

  test('SIGKILL when the grace is over', async () => {
    const cluster = await start();
    const script = 'trap "" TERM; echo deaf; while :; do sleep 0.1; done';
    await send(cluster, 'POST', pods, aPod('p', { containers: [sh(script)] }));
    await expect.poll(async () => send(cluster, 'GET', `${pods}/p/log`)).toBe('deaf\n');
    const pod = await until(cluster, (one) => ended(one) !== undefined, remove(cluster, { gracePeriodSeconds: 1 }));
    expect(ended(pod)).toMatchObject({ exitCode: 137, reason: 'Error' });
  });

  test('stop leaves no process', async () => {
    const cluster = await start();
    await send(
      cluster,
      'POST',
      pods,
      aPod('p', { containers: [sh('trap "" TERM; echo $$$$; while :; do sleep 0.1; done')] }),
    );
    await expect.poll(async () => String(await send(cluster, 'GET', `${pods}/p/log`))).toMatch(/^\d+\n$/);
    const child = Number(await send(cluster, 'GET', `${pods}/p/log`));
    expect(lives(child)).toBe(true);
    await cluster.stop();
    await expect.poll(() => lives(child)).toBe(false);
  });
});

describe('what cannot be done is refused by name', () => {
  test.each([
    [
      'a privileged container',
      { containers: [sh('true', { securityContext: { privileged: true } })] },
      'cannot run the privileged container "a"',
    ],
    [
      'a volume of the host',
      { containers: [sh('true')], spec: { volumes: [{ name: 'h', hostPath: { path: '/' } }] } },
      'cannot run a pod with a hostPath volume ("h")',
    ],
    [
      'the network of the host',
      { containers: [sh('true')], spec: { hostNetwork: true } },
      'cannot run a pod in the namespaces of its host',
    ],
  ])('%s', async (_what, pod, text) => {
    const cluster = await start();
    const answer = await send(cluster, 'POST', pods, aPod('p', pod));
    expect(answer).toMatchObject({ code: 403, reason: 'Forbidden' });
    expect(answer.message).toContain(text);
  });

  test('a step without a command', async () => {
    const { pod } = await run({ name: 'a', image: 'x:1' });
    expect(ended(pod)).toMatchObject({ exitCode: 128, reason: 'StartError' });
    expect(ended(pod).message).toContain(
      'container "a": it has neither command nor args, and those of its image "x:1" are not known',
    );
  });
});

describe('hooks and probes', () => {
  /** The Warnings of the pod's containers. */
  async function told(cluster: EmbeddedCluster): Promise<string[]> {
    const { items } = await send(cluster, 'GET', '/api/v1/namespaces/default/events?fieldSelector=type%3DWarning');
    const texts = items.map(
      ({ reason, message, involvedObject }: Anything) =>
        `${reason} ${/\{(.*)\}/.exec(involvedObject.fieldPath)?.[1]}: ${message}`,
    );
    return texts.sort();
  }

  const exec = (script: string): object => ({ exec: { command: ['/bin/sh', '-c', script] } });
  /** On a busy machine an answer may take longer than the second it has by default. */
  const patient = { periodSeconds: 1, timeoutSeconds: 30 };
  const volumes = [{ name: 'w', emptyDir: {} }];
  const volumeMounts = [{ name: 'w', mountPath: '/workspace' }];

  test('run beside the container, with its folders and variables', async () => {
    const waits = 'trap "exit 7" TERM; while ! test -e /workspace/stop; do sleep 0.05; done; cat /workspace/*; exit 5';
    const lifecycle = {
      postStart: exec('echo "started $NAME" > /workspace/1-start'),
      preStop: exec('echo stopping > /workspace/2-stop; touch /workspace/stop; sleep 60'),
    };
    const cluster = await start();
    const container = sh(waits, { volumeMounts, lifecycle, env: [{ name: 'NAME', value: 'me' }] });
    const spec = { volumes, terminationGracePeriodSeconds: 60 };
    await send(cluster, 'POST', pods, aPod('p', { containers: [container], spec }));
    await until(cluster, ({ status }) => status.containerStatuses?.[0].state.running !== undefined);
    // It ended by itself, while the hook still ran, with which nothing is left to wait for.
    expect(ended(await until(cluster, over, remove(cluster)))).toMatchObject({ exitCode: 5 });
  });

  test('readiness comes when the probe finds what it looks for', async () => {
    const cluster = await start();
    const script = 'test -e /workspace/up || { touch /workspace/asked; echo not yet; exit 1; }';
    const readinessProbe = { ...exec(script), ...patient };
    const isAsked = 'until test -e /workspace/asked; do sleep 0.05; done; touch /workspace/up; sleep 60';
    const container = sh(isAsked, { volumeMounts, readinessProbe });
    await send(cluster, 'POST', pods, aPod('p', { containers: [container], spec: { volumes } }));
    await until(cluster, ({ status }) => status.containerStatuses?.[0].ready === true);
    await expect
      .poll(() => told(cluster), { timeout: 20_000 })
      .toEqual(['Unhealthy a: Readiness probe failed: not yet\n']);
  });

  test.each([
    ['tcpSocket', {}, 200, ''],
    ['httpGet', { path: '/up' }, 204, ''],
    ['httpGet', { path: '/up' }, 500, 'Readiness probe failed: HTTP probe failed with statuscode: 500'],
  ])('%s asks who listens on this machine (%j, %i)', async (kind, more, status, failure) => {
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url);
      response.writeHead(status).end();
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const readinessProbe = { [kind]: { port, ...more }, ...patient };
      const cluster = await start();
      await send(cluster, 'POST', pods, aPod('p', { containers: [sh('sleep 60', { readinessProbe })] }));
      if (failure === '') await until(cluster, (pod) => pod.status.containerStatuses?.[0].ready === true);
      else await expect.poll(() => told(cluster), { timeout: 20_000 }).toEqual([`Unhealthy a: ${failure}`]);
      if (kind === 'httpGet') expect(asked).toContain('/up');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test('a port where nobody listens is told', async () => {
    const port = 1;
    const cluster = await start();
    const readinessProbe = { tcpSocket: { port }, ...patient };
    await send(cluster, 'POST', pods, aPod('p', { containers: [sh('sleep 60', { readinessProbe })] }));
    const text = `dial tcp 127.0.0.1:${port}: connect: connection refused`;
    await expect
      .poll(() => told(cluster), { timeout: 20_000 })
      .toEqual([`Unhealthy a: Readiness probe failed: ${text}`]);
  });

  test('a command that is not there, and one in a placeholder, fail', async () => {
    const cluster = await start();
    const nope = { postStart: { exec: { command: ['/nope'] } } };
    const placeholder = { name: 'b', image: 'registry.k8s.io/pause:3.10', lifecycle: { postStart: exec('true') } };
    await send(cluster, 'POST', pods, aPod('p', { containers: [sh('sleep 60', { lifecycle: nope }), placeholder] }));
    await until(cluster, over);
    await expect
      .poll(() => told(cluster), { timeout: 20_000 })
      .toEqual(['FailedPostStartHook a: PostStartHook failed', 'FailedPostStartHook b: PostStartHook failed']);
  });

  test('what a hook started is gone with the container', async () => {
    const lifecycle = { postStart: exec('sleep 300 & echo $! > /workspace/pid') };
    const cluster = await start();
    const container = sh('until test -s /workspace/pid; do sleep 0.05; done; cat /workspace/pid', {
      volumeMounts,
      lifecycle,
    });
    await send(cluster, 'POST', pods, aPod('p', { containers: [container], spec: { volumes } }));
    await until(cluster, over);
    const pid = Number(await send(cluster, 'GET', `${pods}/p/log`));
    expect(pid).toBeGreaterThan(1);
    await expect.poll(() => lives(pid)).toBe(false);
  });
});

test('a missing image fails its pull with the text it was given', async () => {
  const cluster = await start({ missingImages: { 'none:1': 'no such thing' } });
  await send(cluster, 'POST', pods, aPod('p', { containers: [sh('true', { image: 'none:1' })] }));
  const waiting = (pod: Anything): Anything => pod.status.containerStatuses?.[0].state.waiting;
  const pod = await until(cluster, (one) => waiting(one)?.reason === 'ErrImagePull');
  expect(waiting(pod).message).toBe('no such thing');
});

/** A zombie does not live, though it still has its number. */
function lives(pid: number): boolean {
  try {
    kill(pid, 0);
    return !existsSync(`/proc/${pid}/stat`) || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // ESRCH, or gone between the two looks.
    return false;
  }
}

// The entry program on a real kubelet: it waits in the placeholder, becomes the step in the step's image, runs a step
// at most once, and says what ended. Needs KUBECONFIG, root on the node, and KUBELAB (the path of kubelab).
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { imageIndex, platformImage } from '../../src/image/oci.ts';
import { ociArchive } from '../../src/image/oci-archive.ts';
import {
  entryCodes,
  entryMounts,
  installCommand,
  lingerSeconds,
  placeholderImage,
  readEntryReport,
  runCommand,
} from '../../src/image/placeholder.ts';
import { buildPlaceholderImage } from '../../src/image/placeholder-image.ts';
import { tar } from '../../src/image/tar.ts';
import { api, eventually, linesOf, text } from '../helpers/plain-kube.ts';

const kubelab = process.env['KUBELAB'];
const kubeConfig = process.env['KUBECONFIG'];
const missing = kubelab === undefined ? 'KUBELAB' : kubeConfig === undefined ? 'KUBECONFIG' : undefined;
if (missing !== undefined) console.log(`skipped: entry on a real kubelet, because ${missing} is not set`);

const namespace = `entry-${process.pid}`;
const base = 'lab.local/base:1';
const withoutRules = 'this Kubernetes drops the restart rules of containers';
const withoutShell = 'lab.local/without-shell:1';

describe.skipIf(missing !== undefined)('entry on a real kubelet', () => {
  beforeAll(async () => {
    load(ociArchive(await buildPlaceholderImage(), placeholderImage.name));
    load(ociArchive(imageWithoutShell(), withoutShell));
    // The strictest standard: nothing here may need a right.
    await api('POST', '/api/v1/namespaces', {
      metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
    });
    await eventually(`/api/v1/namespaces/${namespace}/serviceaccounts`, 'default', () => true);
  });
  afterAll(async () => {
    await api('DELETE', `/api/v1/namespaces/${namespace}`);
  });

  test('a step gets its own code, log, environment and user, with any command in any image', async () => {
    const pod = await createPod('steps', {
      seven: { args: ['sh', '-c', 'echo "$0:$1"; exit 7', 'a b', '$$(NAME) ünï'] },
      tool: { args: ['/app/false'] },
      env: { args: ['env'], env: [{ name: 'GREETING', value: 'hello' }] },
      user: { args: ['id', '-u'], securityContext: { runAsUser: 1000, readOnlyRootFilesystem: true } },
      first: { args: ['sh', '-c', 'echo $$$$'] },
    });
    await pod.running();
    await pod.switchTo(base, 'seven', 'env', 'user', 'first');
    await pod.switchTo(withoutShell, 'tool');
    expect(await pod.ended('seven')).toMatchObject({ exitCode: 7 });
    expect(await pod.ended('tool')).toMatchObject({ exitCode: 1 });
    for (const name of ['env', 'user', 'first']) expect(await pod.ended(name)).toMatchObject({ exitCode: 0 });
    expect(await pod.log('seven')).toBe('a b:$(NAME) ünï\n');
    expect(await pod.log('env')).toContain('GREETING=hello\n');
    const names = (await pod.log('env')).match(/^\w+(?==)/gm)?.filter((name) => !name.startsWith('KUBERNETES_'));
    expect(names?.sort(), 'nothing of ours').toEqual(['GREETING', 'HOME', 'HOSTNAME', 'PATH']);
    expect(await pod.log('user')).toBe('1000\n');
    expect(await pod.log('first'), 'the step is process 1').toBe('1\n');
    const statuses = (await pod.read()).status.containerStatuses;
    for (const { name, state, lastState } of statuses) {
      expect(readEntryReport(state.terminated?.message), name).toBeUndefined();
      // A kubelet may have forgotten the placeholder by the time a short step has ended.
      if (lastState.terminated === undefined) continue;
      expect(lastState.terminated, name).toMatchObject({ exitCode: entryCodes.placeholder });
      expect(readEntryReport(lastState.terminated?.message)?.kind, name).toBe('placeholder');
    }
  });

  test('a step that ends with the reserved code is not run again, and its code and log are those of the instance before', async (context) => {
    const pod = await createPod('reserved', { again: { args: ['sh', '-c', 'echo once; exit 213'] } });
    if (!(await pod.keepsRules())) context.skip(withoutRules);
    await pod.running();
    await pod.switchTo(base, 'again');
    expect(await pod.ended('again')).toMatchObject({ exitCode: 213 });
    await pod.until('again', isGuarded);
    expect(await pod.log('again', '?previous=true')).toBe('once\n');
    const guarded = await pod.until(
      'again',
      ({ state, restartCount }) => restartCount === 2 && state.terminated !== undefined,
    );
    expect(guarded.state.terminated?.exitCode).toBe(entryCodes.alreadyRan);
    expect(readEntryReport(guarded.state.terminated?.message)?.kind).toBe('alreadyRan');
    expect(guarded.lastState.terminated?.exitCode).toBe(213);
    expect(readEntryReport(guarded.lastState.terminated?.message)).toBeUndefined();
    expect((await pod.phase('Failed')).status.phase).toBe('Failed');
  });

  test('a killed step that the kubelet starts again runs nothing the second time', async (context) => {
    const pod = await createPod('killed', { k: { args: ['sh', '-c', 'echo once; sleep 1000'] } }, [
      entryCodes.placeholder,
      137,
    ]);
    if (!(await pod.keepsRules())) context.skip(withoutRules);
    await pod.running();
    await pod.switchTo(base, 'k');
    const step = await pod.until('k', ({ state, restartCount }) => state.running !== undefined && restartCount === 1);
    await pod.logged('k', 'once\n');
    ctr('task', 'kill', '-s', 'KILL', idOf(step));
    const again = await pod.until('k', isGuarded);
    expect(again.lastState.terminated?.exitCode).toBe(137);
    expect(await pod.log('k', '?previous=true')).toBe('once\n');
    const ending = pod.until('k', ({ state, restartCount }) => state.terminated !== undefined && restartCount === 2);
    await pod.remove();
    expect((await ending).state.terminated?.exitCode, 'asked to stop, it does not linger').toBe(entryCodes.alreadyRan);
  });

  test('signals reach the step itself', async () => {
    const pod = await createPod('signals', {
      shell: { args: ['sh', '-c', 'trap "echo asked; exit 9" TERM; echo up; while :; do sleep 0.1; done'] },
    });
    await pod.running();
    await pod.switchTo(base, 'shell');
    await pod.logged('shell', 'up\n');
    const ending = pod.ended('shell');
    await pod.remove();
    expect(await ending).toMatchObject({ exitCode: 9 });
  });

  test('what entry cannot start has a code and a report, and no step runs unmarked', async () => {
    const pod = await createPod('refused', {
      absent: { args: ['no-such-program'] },
      folder: { args: ['/bin'] },
      shell: { args: ['sh', '-c', 'echo never'] },
      unmarked: { args: ['true'], volumeMounts: [{ name: 'bin', mountPath: entryMounts.bin, readOnly: true }] },
      sealed: {
        args: ['true'],
        volumeMounts: [...mounts.slice(0, 1), { name: 'marks', mountPath: entryMounts.marks, readOnly: true }],
      },
    });
    await pod.running();
    await pod.switchTo(base, 'absent', 'folder', 'unmarked', 'sealed');
    await pod.switchTo(withoutShell, 'shell');
    const seen: Record<string, unknown> = {};
    for (const name of ['absent', 'folder', 'shell', 'unmarked', 'sealed']) {
      const { exitCode, message } = await pod.ended(name);
      seen[name] = [exitCode, readEntryReport(message)?.kind];
    }
    expect(seen).toEqual({
      absent: [entryCodes.notFound, 'notFound'],
      folder: [entryCodes.notExecutable, 'notExecutable'],
      shell: [entryCodes.notFound, 'notFound'],
      unmarked: [entryCodes.noMark, 'noMark'],
      sealed: [entryCodes.noMark, 'noMark'],
    });
  });

  test('without rules a failed switch is the placeholder ending with its code, and a good one runs the step', async () => {
    const pod = await createPod('plain', { good: { args: ['sh', '-c', 'exit 3'] }, bad: { args: ['true'] } }, []);
    await pod.running();
    await pod.switchTo(base, 'good');
    expect(await pod.ended('good')).toMatchObject({ exitCode: 3 });
    await pod.switchTo('lab.local/absent:1', 'bad');
    const bad = await pod.until('bad', ({ state }) => state.terminated !== undefined);
    expect(bad.state.terminated?.exitCode).toBe(entryCodes.placeholder);
    expect(readEntryReport(bad.state.terminated?.message)?.kind).toBe('placeholder');
    expect(bad.restartCount).toBe(0);
  });

  test('with rules a failed pull is retried, and the corrected image runs the step once', async (context) => {
    const pod = await createPod('healed', { s: { args: ['sh', '-c', 'echo ran'] } });
    if (!(await pod.keepsRules())) context.skip(withoutRules);
    await pod.running();
    await pod.switchTo('lab.local/absent:1', 's');
    await pod.until('s', ({ state }) => /^(ErrImagePull|ImagePullBackOff)$/.test(state.waiting?.reason ?? ''));
    await pod.switchTo(base, 's');
    expect(await pod.ended('s')).toMatchObject({ exitCode: 0 });
    expect(await pod.log('s')).toBe('ran\n');
  });

  test('waiting uses no processor, and a waiting placeholder ends at once when its pod is deleted', async () => {
    const pod = await createPod('idle', { a: { args: ['wait'] }, b: { args: ['install', '/podwright/marks'] } });
    const { status } = await pod.running();
    const processes = status.containerStatuses.map((container) => processOf(idOf(container)));
    for (const process of processes) await asleep(process);
    const before = processes.map(usageOf);
    // Time goes by: another pod comes up.
    await (await createPod('other', { c: { args: ['wait'] } })).running();
    expect(processes.map(usageOf)).toEqual(before);
    const endings = [pod.ended('a'), pod.ended('b')];
    await pod.remove();
    for (const ending of endings) expect((await ending).exitCode).toBe(entryCodes.placeholder);
  });
});

interface Terminated {
  readonly exitCode: number;
  readonly message?: string;
}
interface ContainerStatus {
  readonly name: string;
  readonly containerID: string;
  readonly restartCount: number;
  readonly state: { running?: object; waiting?: { reason: string }; terminated?: Terminated };
  readonly lastState: { terminated?: Terminated };
}
interface Pod {
  readonly metadata: { resourceVersion: string; generation: number };
  readonly status: { phase: string; containerStatuses: ContainerStatus[] };
}

const mounts = [
  { name: 'bin', mountPath: entryMounts.bin, readOnly: true },
  { name: 'marks', mountPath: entryMounts.marks },
];
const confined = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
};

/** A pod of placeholders; `containers` are changes to each container's spec. */
async function createPod(
  name: string,
  containers: Record<string, object>,
  restartOn: number[] = [entryCodes.placeholder],
) {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const rules = { action: 'Restart', exitCodes: { operator: 'In', values: restartOn } };
  await api('POST', path, {
    metadata: { name },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 20,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      volumes: [
        { name: 'bin', emptyDir: {} },
        { name: 'marks', emptyDir: {} },
      ],
      initContainers: [
        {
          name: 'install',
          image: placeholderImage.name,
          command: installCommand(),
          securityContext: { ...confined, readOnlyRootFilesystem: true },
          volumeMounts: mounts.map(({ name, mountPath }) => ({ name, mountPath })),
        },
      ],
      containers: Object.entries(containers).map(([container, change]) => ({
        name: container,
        image: placeholderImage.name,
        command: runCommand(container).map((argument) => (argument === `${lingerSeconds}` ? '5' : argument)),
        volumeMounts: mounts,
        ...(restartOn.length === 0 ? {} : { restartPolicy: 'Never', restartPolicyRules: [rules] }),
        ...change,
        // Images of the lab run as root unless told otherwise.
        securityContext: { ...confined, runAsUser: placeholderImage.user, ...securityContextOf(change) },
      })),
    },
  });
  const until = async (
    container: string,
    predicate: (status: ContainerStatus) => boolean,
  ): Promise<ContainerStatus> => {
    const pod = await eventually<Pod>(path, name, ({ status }) => find(status, container).some(predicate));
    const [found] = find(pod.status, container);
    if (found === undefined) throw new Error(`${container} has no status`);
    return found;
  };
  return {
    until,
    read: () => api<Pod>('GET', `${path}/${name}`),
    keepsRules: async () => (await text('GET', `${path}/${name}`)).includes('"restartPolicyRules"'),
    running: () =>
      eventually<Pod>(path, name, ({ status }) =>
        Object.keys(containers).every((container) => find(status, container).some(({ state }) => state.running)),
      ),
    phase: (phase: string) => eventually<Pod>(path, name, ({ status }) => status.phase === phase),
    switchTo: (image: string, ...names: string[]) =>
      api('PATCH', `${path}/${name}`, { spec: { containers: names.map((container) => ({ name: container, image })) } }),
    /** The end of the step, not of its placeholder. Asked for after the switch. */
    ended: async (container: string): Promise<Terminated> => {
      const { state } = await until(container, ({ state }) => state.terminated !== undefined);
      if (state.terminated === undefined) throw new Error(`${container} has not ended`);
      return state.terminated;
    },
    log: (container: string, query = '?') => text('GET', `${path}/${name}/log${query}&container=${container}`),
    /** Waits until the log begins with the text. */
    logged: async (container: string, start: string): Promise<void> => {
      await until(container, ({ state, restartCount }) => state.running !== undefined && restartCount === 1);
      for await (const line of linesOf(`${path}/${name}/log?follow=true&container=${container}`)) {
        expect(`${line}\n`).toBe(start);
        return;
      }
      throw new Error(`the log of ${container} ended before "${start}"`);
    },
    remove: () => api('DELETE', `${path}/${name}`),
  };
}

function securityContextOf(change: object): object {
  return 'securityContext' in change && typeof change.securityContext === 'object'
    ? (change.securityContext ?? {})
    : {};
}

/** The step was started a second time. It runs for some seconds only: a status that is late may show its end. */
function isGuarded({ state, restartCount }: ContainerStatus): boolean {
  return restartCount === 2 && (state.running ?? state.terminated) !== undefined;
}

function find(status: Pod['status'], container: string): ContainerStatus[] {
  return (status.containerStatuses ?? []).filter(({ name }) => name === container);
}

/** A static program under three names, and nothing else. */
function imageWithoutShell() {
  const program = readFileSync('/usr/bin/busybox');
  return imageIndex([
    platformImage({
      platform: { os: 'linux', architecture: 'amd64' },
      layer: tar(['true', 'false', 'sleep'].map((name) => ({ name: `app/${name}`, mode: 0o755, data: program }))),
      config: {},
      createdBy: 'test',
    }),
  ]);
}

function load(archive: Buffer): void {
  const folder = mkdtempSync(join(tmpdir(), 'entry-'));
  try {
    writeFileSync(join(folder, 'image.tar'), archive);
    execFileSync(kubelab ?? '', ['load', join(folder, 'image.tar')], { stdio: 'pipe' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function ctr(...args: string[]): string {
  return execFileSync(kubelab ?? '', ['ctr', '-n', 'k8s.io', ...args], { encoding: 'utf8' });
}

function idOf({ containerID }: ContainerStatus): string {
  return containerID.replace('containerd://', '');
}

function processOf(id: string): string {
  const line = ctr('task', 'ls')
    .split('\n')
    .find((one) => one.startsWith(id));
  return line?.split(/\s+/)[1] ?? '';
}

/** Waits until the process waits for a signal: then whatever started it is over. */
async function asleep(process: string): Promise<void> {
  while (!readFileSync(`/proc/${process}/syscall`, 'utf8').startsWith('128 ')) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Clock ticks used so far, and how often the process went to sleep. */
function usageOf(process: string): { ticks: number; sleeps: string | undefined } {
  const fields = readFileSync(`/proc/${process}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const sleeps = /voluntary_ctxt_switches:\s*(\d+)/.exec(readFileSync(`/proc/${process}/status`, 'utf8'))?.[1];
  return { ticks: Number(fields[11]) + Number(fields[12]), sleeps };
}

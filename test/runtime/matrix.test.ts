/**
 * Every waiting verb, at every moment of a build's life, under everything that can happen: each call ends, and with the
 * value or error that its contract says.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isPodwrightError } from '../../src/errors.ts';
import type { BuildSpec } from '../../src/pod/build-spec.ts';
import type { Build, Runtime } from '../../src/runtime/runtime.ts';
import { broken, eventually, logOf, namespace, type Stand, spec, startStand, step } from './embedded.ts';

/** Results in words: an outcome, a list of lines, an error's code. */
type Results = Readonly<Partial<Record<'assemble' | 'run' | 'wait' | 'tail' | 'remove', string>>>;

interface Scene {
  readonly stand: Stand;
  readonly runtime: Runtime;
  readonly build: Build;
  readonly abort: AbortController;
  /** Lets the step go on to its end. */
  release(): void;
}

const neverScheduled = { nodeSelector: { 'no-such': 'node' } };

/** Brings a build to a moment and starts every verb that can wait then. */
const moments = {
  'being assembled': (scene) => ({
    assemble: scene.runtime.assembleBuild(scene.build).then(() => 'done'),
    run: run(scene),
    wait: wait(scene),
    tail: tail(scene),
  }),
  'waiting for its step': async (scene) => {
    await scene.runtime.assembleBuild(scene.build);
    return { wait: wait(scene), tail: tail(scene) };
  },
  pulling: async (scene) => {
    await scene.runtime.assembleBuild(scene.build);
    const calls = { run: run(scene), wait: wait(scene), tail: tail(scene) };
    await eventually(() => scene.runtime.inspectContainer(scene.build, 'a').state === 'pulling', 'it is pulling');
    return calls;
  },
  running: async (scene) => {
    await scene.runtime.assembleBuild(scene.build);
    await scene.runtime.runContainer(scene.build, 'a');
    return { wait: wait(scene), tail: tail(scene) };
  },
} satisfies Record<string, (scene: Scene) => Calls | Promise<Calls>>;
type Calls = Partial<Record<keyof Results, Promise<string>>>;

const events = {
  'it ends by itself': (scene) => scene.release(),
  'the build is canceled': (scene) => scene.runtime.cancelBuild(scene.build),
  'the signal of the call aborts': (scene) => scene.abort.abort(),
  'the signal of the call times out': (scene) => scene.abort.abort(new DOMException('late', 'TimeoutError')),
  'the pod is deleted by another': (scene) =>
    scene.stand.admin.delete({ resource: 'pods', namespace, name: scene.build.podName }, { gracePeriodSeconds: 0 }),
  'the watches break': async (scene) => {
    scene.stand.cluster.dropConnections();
    scene.release();
  },
  'history is lost with the watches': async (scene) => {
    scene.stand.cluster.compact();
    scene.stand.cluster.dropConnections();
    scene.release();
  },
  'the build is removed': async (scene) => {
    expect(await scene.runtime.removeBuild(scene.build)).toMatchObject({ gone: true });
  },
  'the runtime is closed': (scene) => scene.runtime.close(),
} satisfies Record<string, (scene: Scene) => void | Promise<void>>;

const canceled = (phase: string, reason = 'caller'): string => `canceled ${reason} ${phase}`;
const stopped = 'ERR_PODWRIGHT_STOPPED';
const podDeleted = 'terminated null podDeleted';

type Moment = keyof typeof moments;
type Event = keyof typeof events;
const table: readonly (readonly [Moment, Event, Results])[] = [
  [
    'being assembled',
    'the build is canceled',
    { assemble: stopped, run: canceled('schedule'), wait: canceled('schedule'), tail: '' },
  ],
  [
    'being assembled',
    'the signal of the call aborts',
    { assemble: 'pending', run: canceled('schedule'), wait: canceled('schedule'), tail: '' },
  ],
  [
    'being assembled',
    'the pod is deleted by another',
    { assemble: 'ERR_PODWRIGHT_POD_LOST', run: 'ERR_PODWRIGHT_POD_LOST', wait: 'ERR_PODWRIGHT_POD_LOST', tail: '' },
  ],
  [
    'being assembled',
    'the build is removed',
    { assemble: stopped, run: canceled('schedule'), wait: canceled('schedule'), tail: '' },
  ],
  ['being assembled', 'the runtime is closed', { assemble: stopped, run: stopped, wait: stopped, tail: stopped }],

  ['waiting for its step', 'the build is canceled', { wait: canceled('start'), tail: '' }],
  ['waiting for its step', 'the signal of the call aborts', { wait: canceled('start'), tail: '' }],
  ['waiting for its step', 'the pod is deleted by another', { wait: podDeleted, tail: '' }],
  ['waiting for its step', 'the build is removed', { wait: canceled('start'), tail: '' }],
  ['waiting for its step', 'the runtime is closed', { wait: stopped, tail: stopped }],

  ['pulling', 'the build is canceled', { run: canceled('pull'), wait: canceled('pull'), tail: '' }],
  ['pulling', 'the signal of the call aborts', { run: canceled('pull'), wait: canceled('pull'), tail: '' }],
  [
    'pulling',
    'the signal of the call times out',
    { run: canceled('pull', 'timeout'), wait: canceled('pull', 'timeout'), tail: '' },
  ],
  // Whether the step ran for a moment is known or not, depending on what its kubelet had told.
  ['pulling', 'the pod is deleted by another', { run: podDeleted, wait: podDeleted }],
  ['pulling', 'the build is removed', { run: canceled('pull'), wait: canceled('pull'), tail: '' }],
  ['pulling', 'the runtime is closed', { run: stopped, wait: stopped, tail: stopped }],

  ['running', 'it ends by itself', { wait: 'terminated 4 error', tail: 'begun,ended' }],
  ['running', 'the build is canceled', { wait: canceled('run'), tail: 'begun' }],
  ['running', 'the signal of the call aborts', { wait: canceled('run'), tail: 'begun' }],
  ['running', 'the signal of the call times out', { wait: canceled('run', 'timeout'), tail: 'begun' }],
  ['running', 'the pod is deleted by another', { wait: podDeleted }],
  ['running', 'the watches break', { wait: 'terminated 4 error', tail: 'begun,ended' }],
  ['running', 'history is lost with the watches', { wait: 'terminated 4 error', tail: 'begun,ended' }],
  ['running', 'the build is removed', { wait: canceled('run') }],
  ['running', 'the runtime is closed', { wait: stopped, tail: stopped }],
];

describe('matrix', () => {
  let stand: Stand;
  beforeAll(async () => {
    stand = await startStand();
  });
  afterAll(() => stand?.end());

  it.each(table)('%s, %s', async (moment, event, expected) => {
    const runtime = await stand.open({ owner: `worker-${moment}-${event}`, grace: { permanentMs: 60_000 } });
    const flag = join(tmpdir(), `podwright-matrix-${process.pid}-${Date.now()}`);
    const script = `echo begun; until [ -e ${flag} ]; do sleep 0.02; done; echo ended; exit 4`;
    const build = await runtime.setupBuild(specFor(moment, script));
    const scene: Scene = {
      stand,
      runtime,
      build,
      abort: new AbortController(),
      release: () => writeFileSync(flag, ''),
    };
    try {
      const calls: Calls = await moments[moment](scene);
      const results = Object.entries(calls).map(async ([verb, call]) => [verb, await inWords(call)] as const);
      if (moment === 'running') await eventually(() => hasBegun(scene), 'the step has begun');
      if (moment === 'being assembled') await eventually(() => hasUid(scene), 'the pod is created');
      await events[event](scene);
      const kept = results.filter((_, index) => expected[Object.keys(calls)[index] as keyof Results] !== 'pending');
      const came = { ...pendingOf(expected), ...Object.fromEntries(await Promise.all(kept)) };
      expect(came, runtime.inspectBuild(build).story.join('\n')).toMatchObject(expected);
    } finally {
      scene.release();
      await runtime.removeBuild(build).catch(() => undefined);
      await runtime.close();
      rmSync(flag, { force: true });
    }
  });
});

function specFor(moment: Moment, script: string): BuildSpec {
  const container = moment === 'pulling' ? broken('a') : step('a', script);
  const base = { ...spec(container), timeouts: { removeMs: 20_000 } };
  const pod = { terminationGracePeriodSeconds: 1 };
  return moment === 'being assembled' ? { ...base, pod: { ...pod, ...neverScheduled } } : { ...base, pod };
}

const run = ({ runtime, build, abort }: Scene): Promise<string> =>
  runtime.runContainer(build, 'a', { signal: abort.signal }).then(outcomeInWords);
const wait = ({ runtime, build, abort }: Scene): Promise<string> =>
  runtime.waitContainer(build, 'a', { signal: abort.signal }).then(outcomeInWords);
const tail = ({ runtime, build }: Scene): Promise<string> => logOf(runtime, build, 'a').then((lines) => lines.join());

function outcomeInWords(outcome: Awaited<ReturnType<Runtime['runContainer']>>): string {
  if (outcome.outcome === 'terminated') return `terminated ${outcome.exitCode} ${outcome.cause}`;
  if (outcome.outcome === 'canceled') return `canceled ${outcome.reason} ${outcome.phase}`;
  return outcome.outcome;
}

async function inWords(call: Promise<string>): Promise<string> {
  try {
    return await call;
  } catch (error) {
    return isPodwrightError(error) ? error.code : String(error);
  }
}

function pendingOf(expected: Results): Results {
  return Object.fromEntries(Object.entries(expected).filter(([, value]) => value === 'pending'));
}

function hasUid({ runtime, build }: Scene): boolean {
  return runtime.inspectBuild(build).pod.uid !== null;
}

async function hasBegun({ stand, build }: Scene): Promise<boolean> {
  let text = '';
  try {
    const log = await stand.admin.openLog(namespace, build.podName, 'a', {}, new AbortController().signal);
    for await (const chunk of log.body) text += Buffer.from(chunk).toString();
  } catch (error) {
    // A kubelet that restarts has no logs to give.
    if (!isPodwrightError(error)) throw error;
  }
  return text.includes('begun');
}

/** The three machines as models: their messages, and what the world does for each. */
import { buildMachine } from '../../machines/build.ts';
import { type ContainerContext, containerMachine } from '../../machines/container.ts';
import {
  type BuildMessage,
  type ContainerMessage,
  defaultGrace,
  type GracePolicy,
  type PodMessage,
  type PodReading,
} from '../../machines/messages.ts';
import { type PodContext, podMachine } from '../../machines/pod.ts';
import type { PodCondition } from '../../src/pod/types.ts';
import {
  condition,
  type PodChange,
  placeholder,
  placeholderEnded,
  type Shown,
  step,
  stepEnded,
  stepImage,
} from '../helpers/build.ts';
import type { Case, Model } from './model.ts';

/** What a test can do to the world: it is caller, kubelet, API server and clock. */
export interface Hands {
  /** Sends the create; it is answered by `answerCreate`, well or not. */
  assemble(): void | Promise<void>;
  answerCreate(error?: Error): void | Promise<void>;
  request(): void | Promise<void>;
  cancelBuild(): void | Promise<void>;
  cancelContainer(): void | Promise<void>;
  conclude(result: 'succeeded' | 'failed' | 'canceled' | 'errored'): void | Promise<void>;
  remove(): void | Promise<void>;
  /** The kubelet writes this status of container a; what is not given stays as it was. */
  show(shown: Shown | null, change?: PodChange): void | Promise<void>;
  /** An Event about container a. */
  tell(reason: string, message: string, count?: number): void | Promise<void>;
  deletePod(): void | Promise<void>;
  passTime(): void | Promise<void>;
}

/** All alike, so that one lapse of time is the end of each of them. */
export const oneGraceMs = 1_000;
export const shortGrace: GracePolicy = {
  permanentMs: oneGraceMs,
  transientMs: oneGraceMs,
  causeMs: oneGraceMs,
  configErrorMs: oneGraceMs,
  createErrorMs: oneGraceMs,
  nodeSilentMs: oneGraceMs,
};

const at = 0;
const source = { source: 'podStatus' } as const;
const notFound = `Failed to pull image "${stepImage}": rpc error: code = NotFound desc = ${stepImage}: not found`;
const unavailable = 'unexpected status from HEAD request: 503 Service Unavailable';
const silent: readonly PodCondition[] = [condition('Ready', 'False'), condition('ContainersReady', 'True')];
const answering: readonly PodCondition[] = [condition('Ready', 'True'), condition('ContainersReady', 'True')];
const failure = { class: 'registryError', permanent: false, message: null, attempts: 1, permanentAttempts: 0 } as const;
const end = { exitCode: 0, cause: 'completed', message: null, startedAt: null, finishedAt: null } as const;

export const containerCases: readonly Case<Hands>[] = [
  contained('requested', { type: 'container.requested', at, image: stepImage }, (hands) => hands.request()),
  contained('Pulling', { type: 'image.pulling', at, source }, (hands) =>
    hands.tell('Pulling', `Pulling image "${stepImage}"`),
  ),
  contained('Pulled', { type: 'image.pulled', at, source }, (hands) =>
    hands.tell('Pulled', `Container image "${stepImage}" already present on machine`),
  ),
  contained('503', { type: 'image.pullFailed', at, source, ...failure }, (hands) =>
    hands.tell('Failed', `Failed to pull image "${stepImage}": ${unavailable}`),
  ),
  contained(
    'not found twice',
    {
      type: 'image.pullFailed',
      at,
      source,
      ...failure,
      class: 'notFound',
      permanent: true,
      attempts: 2,
      permanentAttempts: 2,
    },
    (hands) => hands.tell('Failed', notFound, 2),
  ),
  contained(
    'no Secret',
    {
      type: 'start.blocked',
      at,
      source,
      cause: 'configError',
      grace: 'configErrorMs',
      reason: 'CreateContainerConfigError',
      message: null,
    },
    (hands) => hands.tell('Failed', 'Error: secret "s" not found'),
  ),
  contained('init recovered', { type: 'init.recovered', at, source }, async (hands) => {
    await hands.show(null, { init: [{ name: 'prepare', state: { waiting: { reason: 'ErrImagePull' } } }] });
    await hands.show(null, { init: [{ name: 'prepare', state: { running: {} } }] });
  }),
  contained('placeholder dead', { type: 'switch.failed', at, source }, (hands) => hands.show(placeholderEnded('P-a'))),
  contained('runs', { type: 'container.running', at, source, startedAt: null }, (hands) => hands.show(step('C-a'))),
  contained('ends', { type: 'container.terminated', at, source, ...end }, (hands) => hands.show(stepEnded('C-a', 0))),
  contained('node silent', { type: 'node.silent', at, source, lostAt: null }, (hands) =>
    hands.show(null, { conditions: silent }),
  ),
  contained('node answers', { type: 'node.answered', at, source }, (hands) =>
    hands.show(null, { conditions: answering }),
  ),
  contained('cancel', { type: 'cancel', at, reason: 'caller', phase: null }, (hands) => hands.cancelBuild()),
  contained('grace over', { type: 'time.passed', at: oneGraceMs }, (hands) => hands.passTime()),
];

export const containerModel: Model<Hands> = {
  machine: containerMachine,
  input: { name: 'a', grace: shortGrace },
  cases: containerCases,
  key: (({ requestedAt, trouble, switchFailed, nodeLostAt }: ContainerContext) => [
    requestedAt !== null,
    trouble?.kind,
    switchFailed !== null,
    nodeLostAt !== null,
  ]) as Model<Hands>['key'],
};

const reading: PodReading = { phase: 'Pending', node: null, ending: false, cause: null, message: null };

export const podModel: Model<Hands> = {
  machine: podMachine,
  input: { containers: ['a'], grace: defaultGrace },
  cases: [
    podded('created', { type: 'pod.created', at, uid: 'uid-1' }, async (hands) => {
      await hands.assemble();
      await hands.answerCreate();
    }),
    // What has ended stays so: the API server refuses another state.
    podded('Pending', observed({}), (hands) => hands.show(null, { phase: 'Pending', conditions: answering })),
    podded('Running', observed({ phase: 'Running' }), (hands) => hands.show(placeholder('P-a'), { phase: 'Running' })),
    podded('Failed', observed({ phase: 'Failed', ending: true, cause: 'evicted' }), (hands) =>
      hands.show(placeholderEnded('P-a'), { phase: 'Failed', reason: 'Evicted' }),
    ),
    podded('told', { type: 'pod.told', at, containers: [] }, async (hands) => {
      await hands.request();
      await hands.tell('Pulling', `Pulling image "${stepImage}"`);
    }),
    podded(
      'container canceled',
      { type: 'containers.cancel', at, reason: 'caller', phase: null, container: 'a' },
      (hands) => hands.cancelContainer(),
    ),
    // The container's end comes with its cancel: the case stands for what follows from it.
    podded('container settled', { type: 'xstate.done.actor.*' } as unknown as PodMessage, (hands) =>
      hands.cancelContainer(),
    ),
    podded('grace over', { type: 'time.passed', at: oneGraceMs }, async (hands) => {
      await hands.request();
      await hands.tell('Failed', 'Error: secret "s" not found');
      await hands.passTime();
    }),
    podded('gone', { type: 'pod.gone', at, source, cause: 'podDeleted', containers: [] }, (hands) => hands.deletePod()),
  ],
  key: (({ uid }: PodContext) => [uid !== null]) as Model<Hands>['key'],
};

export const buildModel: Model<Hands> = {
  machine: buildMachine,
  input: { id: 'build', containers: ['a'], grace: defaultGrace },
  cases: [
    built('assembling', { type: 'build.assembling', at }, (hands) => hands.assemble()),
    built('errored', { type: 'build.errored', at, message: 'refused' }, async (hands) => {
      // Refused by the server; or, once it is there, the pod does not get as far as its placeholders.
      await hands.answerCreate(new Error('refused'));
      await hands.show(null, { phase: 'Failed', reason: 'OutOfcpu', rejected: true });
    }),
    built('pod created', { type: 'pod.created', at, uid: 'uid-1' }, (hands) => hands.answerCreate()),
    built('pod observed', observed({}), (hands) => hands.show(null, { phase: 'Pending', conditions: answering })),
    built('told', { type: 'pod.told', at, containers: [] }, async (hands) => {
      await hands.request();
      await hands.tell('Pulling', `Pulling image "${stepImage}"`);
    }),
    built('pod gone', { type: 'pod.gone', at, source, cause: 'podDeleted', containers: [] }, (hands) =>
      hands.deletePod(),
    ),
    built(
      'container canceled',
      { type: 'containers.cancel', at, reason: 'caller', phase: null, container: 'a' },
      (hands) => hands.cancelContainer(),
    ),
    built('grace over', { type: 'time.passed', at: oneGraceMs }, async (hands) => {
      await hands.request();
      await hands.tell('Failed', 'Error: secret "s" not found');
      await hands.passTime();
    }),
    built('canceled', { type: 'build.cancel', at, reason: 'caller', phase: null }, (hands) => hands.cancelBuild()),
    ...(['succeeded', 'failed', 'canceled', 'errored'] as const).map((result) =>
      built(`judged ${result}`, { type: 'build.concluded', at, result }, (hands) => hands.conclude(result)),
    ),
    built('removed', { type: 'build.removed', at }, (hands) => hands.remove()),
  ],
  key: () => null,
};

function observed(change: Partial<PodReading>): Extract<PodMessage, { type: 'pod.observed' }> {
  return { type: 'pod.observed', at, source, reading: { ...reading, ...change }, containers: [] };
}

function contained(name: string, message: ContainerMessage, perform: Case<Hands>['perform']): Case<Hands> {
  return { name, message, perform };
}

function podded(name: string, message: PodMessage, perform: Case<Hands>['perform']): Case<Hands> {
  return { name, message, perform };
}

function built(name: string, message: BuildMessage, perform: Case<Hands>['perform']): Case<Hands> {
  return { name, message, perform };
}

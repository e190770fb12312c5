/**
 * Starts one container (k8s `startContainer`): restart back-off, image, environment, create, start. What fails is told
 * as an Event and returned as the reason that the next status shows.
 */
import type { Clock } from '../../clock.ts';
import { StartFailure } from '../backend/backend.ts';
import type { ApiClient } from '../client.ts';
import type { Profile } from '../profile.ts';
import { texts } from '../texts.ts';
import type { Container, PodObject } from '../types.ts';
import type { BackOff } from './back-off.ts';
import { ConfigFailure, EnvironmentReader, expand } from './environment.ts';
import type { Hooks } from './hooks.ts';
import type { Images, Record } from './images.ts';
import type { Killer } from './killing.ts';
import type { Volumes } from './mounts.ts';
import type { ContainerRuntime, InstanceView } from './runtime.ts';
import type { StartError } from './status-input.ts';

export interface StarterOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly profile: Profile;
  readonly runtime: ContainerRuntime;
  readonly images: Images;
  readonly crashBackOff: BackOff;
  readonly hooks: Hooks;
  readonly killer: Killer;
  readonly hostIP: string;
}

export interface StartTry {
  readonly pod: PodObject;
  readonly container: Container;
  /** The newest instance in the view with which the sync began. */
  readonly newest: InstanceView | undefined;
  readonly restartCount: number;
  readonly volumes: Volumes;
  /** Of a container whose hook fails. */
  readonly graceMs: number;
  /** The kubelet is gone: whatever step was under way, no further one is taken. */
  readonly isStopped: () => boolean;
  readonly record: Record;
}

export interface StartResult {
  readonly error?: StartError;
  /** For a restart back-off: what is left of it. */
  readonly retryMs?: number;
}

export async function startContainer(options: StarterOptions, attempt: StartTry): Promise<StartResult> {
  const waiting = crashBackOff(options, attempt);
  if (waiting !== undefined) return waiting;
  const { pod, container, record } = attempt;
  const imageError = await options.images.ensure(pod, container, record);
  if (attempt.isStopped()) return {};
  if (imageError !== undefined) {
    record('Warning', 'Failed', texts.error(imageError.reason));
    return { error: imageError };
  }
  return { ...(await createAndStart(options, attempt)) };
}

/** Counts only what had ended when the sync began: a container killed by this very sync is started at once. */
function crashBackOff({ crashBackOff: backOff, clock }: StarterOptions, attempt: StartTry): StartResult | undefined {
  const { pod, container, newest, record } = attempt;
  if (newest?.state !== 'exited') return undefined;
  const { name, namespace = '', uid } = pod.metadata;
  const key = `${uid}_${container.name}_${container.image}`;
  const endedAt = newest.finishedAt ?? clock.now();
  const leftMs = backOff.leftSince(key, endedAt);
  if (leftMs === 0) {
    backOff.next(key, endedAt);
    return undefined;
  }
  record('Warning', 'BackOff', texts.crashBackOffEvent(container.name, name, namespace, uid));
  const seconds = Math.round(backOff.delay(key) / 1000);
  const message = texts.crashBackOff(seconds, container.name, name, namespace, uid);
  return { error: { reason: 'CrashLoopBackOff', message }, retryMs: leftMs };
}

async function createAndStart(options: StarterOptions, attempt: StartTry): Promise<StartResult> {
  const { client, runtime, profile, hostIP } = options;
  const { pod, container, restartCount, record, volumes, graceMs } = attempt;
  const reader = new EnvironmentReader(client, pod);
  try {
    const podIP = runtime.sandbox(pod.metadata.uid)?.ip ?? '';
    const environment = await reader.variables(container, podIP, hostIP);
    const instance = await runtime.create(pod, container, restartCount);
    if (attempt.isStopped()) return {};
    record('Normal', 'Created', texts.created(container.name, profile));
    const expanded = {
      ...container,
      ...(container.command && { command: container.command.map((one) => expand(one, environment)) }),
      ...(container.args && { args: container.args.map((one) => expand(one, environment)) }),
    };
    await runtime.start(instance, { pod, container: expanded, environment, volumes });
    record('Normal', 'Started', texts.started(container.name, profile));
    const failure = await options.hooks.afterStart({ pod, container, instance, record });
    if (failure === undefined || attempt.isStopped()) return {};
    await options.killer.kill({ pod, container, instance, graceMs, message: texts.postStartKill, record });
    return { error: { reason: 'PostStartHookError', message: failure } };
  } catch (error) {
    if (error instanceof ConfigFailure) {
      record('Warning', 'Failed', texts.error(error.message));
      return { error: { reason: 'CreateContainerConfigError', message: error.message } };
    }
    if (error instanceof StartFailure) {
      record('Warning', 'Failed', texts.error(error.message));
      return { error: { reason: 'RunContainerError', message: error.message } };
    }
    throw error;
  }
}

/**
 * The volumes of a pod, mounted before anything of it starts (k8s volume manager): what is missing is told as FailedMount
 * and tried again until it is there.
 */
import { type Clock, sleep } from '../../clock.ts';
import type { VolumeContent } from '../backend/backend.ts';
import type { ApiClient } from '../client.ts';
import { texts } from '../texts.ts';
import type { PodObject } from '../types.ts';
import { EnvironmentReader, MountFailure } from './environment.ts';

export type Volumes = ReadonlyMap<string, VolumeContent>;

export interface MountOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly record: (message: string) => void;
  /** Aborts when the pod is to end: it is not waited for any longer. */
  readonly signal: AbortSignal;
}

const firstPauseMs = 500;
const longestPauseMs = 122_000;
/** A sync waits so long for its volumes. */
const waitMs = 123_000;

/** Rejects when they are not there in time, or with the signal's reason. */
export async function mountVolumes(pod: PodObject, options: MountOptions): Promise<Volumes> {
  const { client, clock, record, signal } = options;
  const until = clock.now() + waitMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await new EnvironmentReader(client, pod).volumes();
    } catch (error) {
      if (!(error instanceof MountFailure)) throw error;
      record(texts.mountFailed(error.volume, error.message));
      const leftMs = until - clock.now();
      await sleep(clock, Math.min(pauseMs, leftMs), signal);
      if (leftMs > pauseMs) continue;
      record(texts.mountTimeout(error.volume));
      throw error;
    }
  }
}

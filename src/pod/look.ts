/** One look at a pod's object, and the end of a container that has none of its own. */
import type { ContainerTerminated, Source } from '../../machines/messages.ts';
import type { Cause } from '../../machines/outcome.ts';
import type { Ending } from './ending.ts';
import type { PodFacts } from './facts.ts';
import type { Pod } from './types.ts';

export interface Look {
  readonly facts: PodFacts;
  readonly pod: Pod;
  readonly ending: Ending | null;
  readonly at: number;
  readonly source: Source;
}

/** No exit code and no times: nothing of it was seen to end. */
export function neverEnded(
  { at, source }: Pick<Look, 'at' | 'source'>,
  cause: Cause,
  message: string | null,
): ContainerTerminated {
  return {
    type: 'container.terminated',
    at,
    source,
    exitCode: null,
    cause,
    message,
    startedAt: null,
    finishedAt: null,
  };
}

/** Outcomes in words: what happened to a step, why, and what its owner can do. */
import type { Cause, PullFailureClass, SettledOutcome } from '../../../machines/outcome.ts';
import type { StepResult } from '../../executor/result.ts';
import type { LogGap } from '../../logs/follow.ts';

export interface Explanation {
  /** A few words, such as `exit code 3`. */
  readonly what: string;
  /** The cluster's own words, when there are any. */
  readonly said: string | null;
  /** One sentence; null when there is nothing to advise. */
  readonly remedy: string | null;
}

export function explainOutcome(outcome: SettledOutcome): Explanation {
  switch (outcome.outcome) {
    case 'pullFailed': {
      const { what, remedy } = pullFailures[outcome.class];
      const tries = outcome.attempts > 1 ? ` (${outcome.attempts} attempts)` : '';
      const hope = outcome.permanent ? '' : ' Running again may help.';
      return { what: `image not pulled: ${what}${tries}`, said: outcome.message, remedy: `${remedy}${hope}` };
    }
    case 'canceled': {
      const isTimeout = outcome.reason === 'timeout';
      const what = isTimeout ? `timed out (${phaseNames[outcome.phase]})` : 'canceled';
      return { what, said: null, remedy: isTimeout ? timeoutRemedies[outcome.phase] : null };
    }
    case 'terminated': {
      if (outcome.cause === 'completed') return { what: 'succeeded', said: null, remedy: null };
      const { what, remedy } = causes[outcome.cause];
      const code = outcome.exitCode === null ? '' : `exit code ${outcome.exitCode}`;
      return { what: outcome.cause === 'error' ? code || what : joined(what, code), said: outcome.message, remedy };
    }
  }
}

/** For a list of steps: a status in one word, and the reason. */
export function statusText(result: StepResult): string {
  switch (result.status) {
    case 'succeeded':
      return 'succeeded';
    case 'skipped':
      return `skipped: ${result.reason ?? 'not reached'}`;
    case 'detached':
      return 'ran on to the end of the build';
    case 'canceled':
      return result.outcome === null ? 'canceled before it started' : 'canceled';
    case 'failed':
    case 'error': {
      const what = result.outcome === null ? 'no verdict' : explainOutcome(result.outcome).what;
      return `${result.continues ? 'failed, and the build goes on' : 'failed'}: ${what}`;
    }
  }
}

/** `1 step`, `2 steps`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

export function durationText(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function joined(what: string, detail: string): string {
  return detail === '' ? what : `${what} (${detail})`;
}

const phaseNames = {
  schedule: 'no node took the pod',
  start: 'its containers did not start',
  pull: 'its image did not arrive',
  run: 'it ran too long',
  remove: 'the pod did not go',
} as const;

const timeoutRemedies = {
  schedule: "Look at the cluster's free capacity and the pod's requests, or give more time: --schedule-timeout.",
  start: 'Look at the events of the pod, or give more time: --start-timeout.',
  pull: 'Look at the registry, or give more time: --pull-timeout.',
  run: 'Give more time: --timeout.',
  remove: 'Look at the node the pod is on.',
} as const;

const again = 'This was not the doing of the build: run it again.';

const causes: Readonly<Record<Exclude<Cause, 'completed'>, { readonly what: string; readonly remedy: string | null }>> =
  {
    error: { what: 'failed', remedy: null },
    oomKilled: {
      what: 'killed for its use of memory',
      remedy: 'Give it more memory (--memory), or make it use less.',
    },
    startError: {
      what: 'its program could not be started',
      remedy: 'Look whether the program exists in the image and may be executed, and whether it is for this processor.',
    },
    configError: {
      what: 'its container could not be configured',
      remedy: 'Look whether the Secrets and ConfigMaps it uses exist in the namespace.',
    },
    initFailed: { what: 'the preparation of the pod failed', remedy: 'Look at the placeholder image and its log.' },
    placeholderLost: { what: 'its placeholder ended before it was asked to run', remedy: again },
    evicted: { what: 'the node evicted the pod', remedy: `${again} Requests for memory and disk make it less likely.` },
    preempted: { what: 'the pod had to make room for a more important one', remedy: again },
    deadlineExceeded: { what: "the pod's own deadline passed", remedy: 'Give more time: --timeout.' },
    nodeLost: { what: 'the node is lost', remedy: again },
    nodeShutdown: { what: 'the node was shut down', remedy: again },
    podDeleted: { what: 'someone deleted the pod', remedy: again },
    rejected: { what: 'the node refused the pod', remedy: again },
    unknown: { what: 'ended without a proof of how', remedy: again },
  };

const pullFailures: Readonly<Record<PullFailureClass, { readonly what: string; readonly remedy: string }>> = {
  notFound: {
    what: 'not found',
    remedy: 'Look at the name and the tag; a private image without a login looks the same.',
  },
  unauthorized: { what: 'login needed', remedy: 'Give the pod a pull secret: --image-pull-secret NAME.' },
  denied: { what: 'access denied', remedy: 'Ask the owner of the image for the right to pull it.' },
  rateLimited: { what: 'the registry limits the rate', remedy: 'Log in to the registry, or use a mirror.' },
  registryError: { what: 'the registry has a fault', remedy: "Look at the registry's state." },
  registryUnavailable: {
    what: 'the registry cannot be reached',
    remedy: "Look at the registry and the node's network.",
  },
  hostUnknown: { what: "the registry's name is unknown", remedy: 'Look at the host in the name of the image.' },
  timeout: { what: 'it took too long', remedy: "Look at the registry and the node's network." },
  neverPolicy: { what: 'not on the node, and "pull: never"', remedy: 'Load the image onto the node, or pull it.' },
  invalidName: { what: 'no valid name', remedy: 'Correct the name of the image.' },
  signature: { what: 'its signature was refused', remedy: 'Sign the image as the cluster asks.' },
  platformMismatch: { what: 'not for this processor', remedy: "Build the image for the node's platform." },
  diskFull: { what: 'the disk of the node is full', remedy: 'Free space on the node.' },
  unknown: { what: 'the cluster gives no cause', remedy: 'Look at the events of the pod.' },
};

/** In place of lines that are missing. */
export function gapText(gap: LogGap): string {
  const words = gap.message === null ? '' : `: ${gap.message}`;
  if (gap.reason === 'rotated') return `… lines are missing here: the node rotated the log${words}`;
  return `… the log could not be read${words}`;
}

/** How long a pull took, from the kubelet's Event; undefined for images that were there, and for other Events. */
export function pulledText(reason: string, message: string): string | undefined {
  // kubelet, pkg/kubelet/images/image_manager.go: `Successfully pulled image "x" in 1.2s (1.3s including waiting). …`
  const match = reason === 'Pulled' ? /^Successfully pulled image .* in (\S+)/.exec(message) : null;
  return match === null ? undefined : `image pulled in ${match[1]}`;
}

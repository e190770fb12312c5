/** What happens in a made-up history: one pod, what becomes of each of its steps, and how the pod ends. */
import fc from 'fast-check';

export type Strategy = 'direct' | 'never' | 'rules';

export type Fate =
  | { readonly kind: 'exits'; readonly code: number; readonly isSeenRunning: boolean }
  | { readonly kind: 'oom' }
  | { readonly kind: 'startError' }
  | { readonly kind: 'configError' }
  | { readonly kind: 'pullFails'; readonly text: PullText; readonly heals: boolean }
  | { readonly kind: 'runs' }
  | { readonly kind: 'notAsked' };

export type End =
  | 'none'
  | 'eviction'
  | 'kubeletEviction'
  /** Its containers cannot all be stopped at the first try: some ends show before the reason does. */
  | 'slowEviction'
  | 'sandboxKilled'
  | 'deadline'
  | 'taint'
  | 'deletion'
  | 'forcedDeletion'
  | 'cancel';

export interface Story {
  readonly strategy: Strategy;
  readonly fates: readonly Fate[];
  readonly end: End;
  /** What the step that still runs makes of SIGTERM. */
  readonly lastCode: number;
  /** From Kubernetes 1.33 on. */
  readonly hasGeneration: boolean;
  /** One more container, of which nobody asks anything: it waits, or runs from the start. */
  readonly hasBystander: boolean;
  /** What becomes of an init container; only where the steps' images are there from the start. */
  readonly init: 'none' | 'healed' | 'failed';
  /** By how many seconds the node's clock is behind the server's. */
  readonly nodeBehind: number;
}

export type PullText = readonly [failureClass: string, permanent: boolean, text: string];

const pullTexts: readonly PullText[] = [
  ['notFound', true, 'rpc error: code = NotFound desc = failed to pull and unpack image "I": I: not found'],
  [
    'unauthorized',
    true,
    'failed to resolve reference "I": pulling from host h failed with status code [manifests 1]: 401 Unauthorized',
  ],
  [
    'denied',
    true,
    'failed to resolve image: unexpected status from HEAD request to http://h/v2/s/manifests/1?ns=h: 403 Forbidden',
  ],
  [
    'rateLimited',
    false,
    'failed to resolve reference "I": pulling from host h failed with status code [manifests 1]: 429 Too Many Requests',
  ],
  [
    'registryError',
    false,
    'failed to resolve image: unexpected status from HEAD request to http://h/v2/s/manifests/1: 503 Service Unavailable',
  ],
  [
    'registryUnavailable',
    false,
    'failed to do request: Head "http://h/v2/s/manifests/1": dial tcp 127.0.0.1:5999: connect: connection refused',
  ],
];

const fates: fc.Arbitrary<Fate> = fc.oneof(
  fc.record({
    kind: fc.constant('exits' as const),
    code: fc.constantFrom(0, 0, 1, 3, 137, 143),
    isSeenRunning: fc.boolean(),
  }),
  fc.constant<Fate>({ kind: 'oom' }),
  fc.constant<Fate>({ kind: 'startError' }),
  fc.constant<Fate>({ kind: 'configError' }),
  fc.record({ kind: fc.constant('pullFails' as const), text: fc.constantFrom(...pullTexts), heals: fc.boolean() }),
);

export const stories: fc.Arbitrary<Story> = fc
  .record({
    strategy: fc.constantFrom<Strategy>('direct', 'never', 'rules'),
    ended: fc.array(fates, { maxLength: 2 }),
    last: fc.constantFrom<Fate>({ kind: 'runs' }, { kind: 'runs' }, { kind: 'notAsked' }),
    end: fc.constantFrom<End>(
      'none',
      'eviction',
      'kubeletEviction',
      'slowEviction',
      'sandboxKilled',
      'deadline',
      'taint',
      'deletion',
      'forcedDeletion',
      'cancel',
    ),
    lastCode: fc.constantFrom(0, 0, 9, 137, 143),
    hasGeneration: fc.boolean(),
    hasBystander: fc.boolean(),
    init: fc.constantFrom('none', 'none', 'healed', 'failed'),
    nodeBehind: fc.constantFrom(0, 0, 20),
  })
  .map(({ ended, last, init, ...story }) => ({
    ...story,
    init: story.strategy === 'direct' ? init : 'none',
    fates: [...ended, story.strategy === 'direct' ? ({ kind: 'runs' } as const) : last],
  }));

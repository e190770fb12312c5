/** How long the cluster's parts take: those measured on a real node, or as fast as the semantics allow. */

/** Milliseconds, or a range from which each time is drawn. */
export type Duration = number | readonly [from: number, to: number];

export interface Timings {
  /** From a pod's creation to its binding. */
  readonly bindMs: Duration;
  /** The period in which the kubelet reads the runtime's state anew. */
  readonly relistMs: number;
  /** The period in which the kubelet looks for pods that are due again. */
  readonly tickMs: number;
  /** The extra relist after a sync, where the version has it. */
  readonly earlyRelistMs: Duration;
  readonly statusLagMs: Duration;
  readonly eventLagMs: Duration;
  readonly sandboxMs: Duration;
  readonly createMs: Duration;
  readonly startMs: Duration;
  /** From the end of a stopped container to the kubelet's knowing. */
  readonly stopMs: Duration;
  /** Between the end of a pod's containers and the clean-up of its volumes. */
  readonly cleanupMs: Duration;
  /** A sync that failed is tried again after this. */
  readonly retryMs: Duration;
  /** A pod without news is synced again after this. */
  readonly resyncMs: Duration;
  /** Between two signs of life of the node. */
  readonly heartbeatMs: number;
  /** A node silent for longer counts as lost. */
  readonly nodeGraceMs: number;
  /** From a volume being overfull to the kubelet's noticing it. */
  readonly evictionCheckMs: Duration;
  /** From the start of a kubelet to its first sync. */
  readonly kubeletStartMs: Duration;
}

/** Medians of the recordings (kubernetes.md §0.1, §7). */
export const measuredTimings: Timings = {
  bindMs: [1, 3],
  relistMs: 1_000,
  tickMs: 1_000,
  earlyRelistMs: [3, 8],
  statusLagMs: [4, 12],
  eventLagMs: [1, 3],
  sandboxMs: [70, 120],
  createMs: [6, 30],
  startMs: [40, 100],
  stopMs: [20, 60],
  cleanupMs: [5, 15],
  retryMs: [10_000, 15_000],
  resyncMs: [60_000, 90_000],
  heartbeatMs: 10_000,
  nodeGraceMs: 50_000,
  evictionCheckMs: [7_000, 46_000],
  kubeletStartMs: [1_200, 1_400],
};

/** For the back-end of real processes: the same order of things, without the waits that only cost a user's time. */
export const quickTimings: Timings = {
  ...measuredTimings,
  bindMs: 0,
  relistMs: 100,
  tickMs: 100,
  earlyRelistMs: 0,
  statusLagMs: 0,
  eventLagMs: 0,
  sandboxMs: 0,
  createMs: 0,
  startMs: 0,
  stopMs: 0,
  cleanupMs: 0,
  kubeletStartMs: 0,
};

/** The names of the machines' states: words for whoever shows or stores them. `test/machines` holds them to the machines. */

export type BuildState =
  | 'setup'
  | 'assembling'
  | 'running'
  | 'succeeded'
  | 'failed'
  | 'canceled'
  | 'errored'
  | 'removed';
export type PodState = 'creating' | 'pending' | 'running' | 'ending' | 'gone';
export type ContainerState = 'pending' | 'pulling' | 'pullFailed' | 'running' | 'terminated' | 'canceled';

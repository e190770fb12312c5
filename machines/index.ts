/** The pure machines, for whoever wants to draw, test or embed them: `podwright/machines`. */
export {
  type BuildContext,
  type BuildInput,
  type BuildTag,
  buildMachine,
} from './build.ts';
export {
  type ContainerContext,
  type ContainerInput,
  type ContainerTag,
  containerMachine,
  type Trouble,
} from './container.ts';
export { brokenBuildRules, brokenContainerRules, brokenPodRules, isWellFormed } from './invariants.ts';
export {
  type Addressed,
  type BuildMessage,
  type ContainerMessage,
  defaultGrace,
  type GracePolicy,
  type PodCause,
  type PodMessage,
  type PodReading,
  type Source,
} from './messages.ts';
export {
  type CanceledOutcome,
  type Cause,
  causes,
  isSuccess,
  type Outcome,
  type Phase,
  type Provenance,
  type PullFailedOutcome,
  type PullFailureClass,
  phases,
  pullFailureClasses,
  type RunningOutcome,
  type SettledOutcome,
  type TerminatedOutcome,
} from './outcome.ts';
export { type PodContext, type PodInput, type PodTag, podMachine } from './pod.ts';

/**
 * podwright: CI builds as Kubernetes pods; every build, pod and container is an XState actor.
 *
 * Start with `createRuntime`; its verbs and their contracts are in the interface `Runtime`.
 */
export type { Cause, Outcome, Phase, Provenance, PullFailureClass, SettledOutcome } from '../machines/outcome.ts';
export { causes, isSuccess, phases, pullFailureClasses } from '../machines/outcome.ts';
export type { DebugConfig, DebugTarget } from './debug/types.ts';
export type { ErrorCode } from './errors.ts';
export { errorCodes, isPodwrightError, PodwrightError } from './errors.ts';
export { publishRuntime } from './events/from-runtime.ts';
export { type EventServer, type EventServerOptions, type Route, startEventServer } from './events/http/server.ts';
export { skaffoldRoutes } from './events/http/skaffold-routes.ts';
export { v3Routes } from './events/http/v3-routes.ts';
export { EventHub, type EventHubOptions, type Snapshot } from './events/hub.ts';
export { Metrics } from './events/metrics.ts';
export { traceHub } from './events/spans.ts';
export type { State } from './events/state.ts';
export type { EventBody, PodwrightEvent } from './events/types.ts';
export { pipelineSchema } from './executor/check-schema.ts';
export type { CompiledPipeline, CompileOptions } from './executor/compile.ts';
export { compile } from './executor/compile.ts';
export type { ExecutorEvent, StepRef } from './executor/events.ts';
export type { ExecuteOptions } from './executor/execute.ts';
export { execute } from './executor/execute.ts';
export type { BuildFacts, RepoFacts } from './executor/facts.ts';
export { defaultFacts } from './executor/facts.ts';
export type { Pipeline } from './executor/pipeline.ts';
export type { Plan } from './executor/plan.ts';
export type { Problem } from './executor/problems.ts';
export type { ReadResult } from './executor/read-pipeline.ts';
export { parsePipeline, readPipeline } from './executor/read-pipeline.ts';
export type { BuildOutcome, BuildResult, StepResult, StepStatus } from './executor/result.ts';
export type { SecretValue } from './executor/variables.ts';
export { inspectorRoutes } from './inspect/routes.ts';
export type { ConnectOptions, KubeClient } from './kube/client.ts';
export { connect } from './kube/client.ts';
export type { WatchHealth } from './kube/informer.ts';
export type { LogFields, Logger } from './logger.ts';
export type { LogGap, LogLine, LogPosition } from './logs/follow.ts';
export type {
  BuildSpec,
  ContainerResources,
  ContainerSecurityContext,
  ContainerSpecRequest,
  MountRequest,
  PhaseTimeouts,
  PodOptions,
  PortRequest,
  SecretKeyRef,
  VolumeRequest,
  WorkspaceRequest,
} from './pod/build-spec.ts';
export type { PlaceholderOption } from './pod/start-strategy.ts';
export type { BuildState, ContainerState, GracePolicy, PodState, StateChange } from './runtime/actors.ts';
export type {
  AssembleOptions,
  Build,
  BuildStreamItem,
  BuildView,
  ContainerView,
  Orphan,
  OrphanOptions,
  RemovalReport,
  RemoveOptions,
  Runtime,
  RuntimeChange,
  RuntimeHealth,
  RuntimeOptions,
  Seen,
  SignalOption,
  StreamOptions,
  TailOptions,
} from './runtime/contract.ts';
export { createRuntime } from './runtime/runtime.ts';

/** What `podwright run` was told. */
import type { ClusterFlags } from './cluster-flags.ts';
import type { LogChoice } from './output/plain.ts';
import type { PipelineFlags } from './pipeline-flags.ts';
import type { PodFlags } from './pod-flags.ts';
import type { ReportRequest } from './report/write.ts';
import type { DebugFlags, SeeingFlags } from './seeing-flags.ts';
import type { WorkspaceFlags } from './workspace-flags.ts';

export interface RunFlags extends ClusterFlags, PipelineFlags, WorkspaceFlags, PodFlags, SeeingFlags, DebugFlags {
  readonly output: 'pretty' | 'json';
  readonly logs: LogChoice;
  readonly report?: readonly ReportRequest[];
  /** Where to write what the cluster said. */
  readonly record?: string;
}

/** Opens a runtime on a cluster: `createRuntime`, and the types a caller needs with it. */
export type {
  AssembleOptions,
  Build,
  BuildStreamItem,
  BuildView,
  ContainerView,
  Orphan,
  RemovalReport,
  RemoveOptions,
  Runtime,
  RuntimeChange,
  RuntimeHealth,
  RuntimeOptions,
  SignalOption,
  StreamOptions,
  TailOptions,
} from './contract.ts';

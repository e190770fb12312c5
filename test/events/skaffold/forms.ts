/**
 * The fields of Skaffold's messages, name and kind, in the order of its .proto files: what its own server writes with
 * every field present.
 */
export type Kind =
  | 'string'
  | 'number'
  | 'boolean'
  | 'list'
  | 'map'
  | { readonly message: Form }
  | { readonly orNull: Form };
export type Form = Readonly<Record<string, Kind>>;

const actionableErr: Form = { errCode: 'string', message: 'string', suggestions: 'list' };
const error: Kind = { orNull: actionableErr };
const targetPort: Kind = { message: { type: 'number', intVal: 'number', strVal: 'string' } };

const debugging: Form = {
  status: 'string',
  podName: 'string',
  containerName: 'string',
  namespace: 'string',
  artifact: 'string',
  runtime: 'string',
  workingDir: 'string',
  debugPorts: 'map',
};
const port: Form = {
  podName: 'string',
  containerName: 'string',
  namespace: 'string',
  portName: 'string',
  resourceType: 'string',
  resourceName: 'string',
  address: 'string',
  targetPort,
};
const deployMetadata: Kind = { message: { deployers: 'list', cluster: 'string' } };
const v1Metadata: Form = {
  build: { message: { numberOfArtifacts: 'number', builders: 'list', type: 'string', additional: 'map' } },
  deploy: deployMetadata,
  test: { orNull: {} },
  additional: 'map',
};
const v2Metadata: Form = {
  build: { message: { artifacts: 'list', type: 'string', additional: 'map' } },
  deploy: deployMetadata,
  test: { orNull: {} },
  runID: 'string',
  render: { orNull: {} },
  additional: 'map',
};

/** The members of v1's `Event`. */
export const v1Events: Readonly<Record<string, Form>> = {
  metaEvent: { entry: 'string', metadata: { message: v1Metadata } },
  buildEvent: { artifact: 'string', status: 'string', err: 'string', errCode: 'string', actionableErr: error },
  deployEvent: { status: 'string', err: 'string', errCode: 'string', actionableErr: error },
  portEvent: { localPort: 'number', remotePort: 'number', ...port },
  statusCheckEvent: { status: 'string', message: 'string', err: 'string', errCode: 'string', actionableErr: error },
  resourceStatusCheckEvent: {
    resource: 'string',
    status: 'string',
    message: 'string',
    err: 'string',
    statusCode: 'string',
    actionableErr: error,
  },
  debuggingContainerEvent: debugging,
  terminationEvent: { status: 'string', err: error },
};

/** The members of v2's `Event`. */
export const v2Events: Readonly<Record<string, Form>> = {
  metaEvent: { entry: 'string', metadata: { message: v2Metadata } },
  skaffoldLogEvent: { task_id: 'string', subtask_id: 'string', level: 'string', message: 'string' },
  applicationLogEvent: {
    containerName: 'string',
    podName: 'string',
    prefix: 'string',
    message: 'string',
    richFormattedMessage: 'string',
  },
  taskEvent: {
    id: 'string',
    task: 'string',
    description: 'string',
    iteration: 'number',
    status: 'string',
    actionableErr: error,
  },
  buildSubtaskEvent: {
    id: 'string',
    task_id: 'string',
    artifact: 'string',
    step: 'string',
    status: 'string',
    actionableErr: error,
  },
  deploySubtaskEvent: { id: 'string', task_id: 'string', status: 'string', actionableErr: error },
  portEvent: { id: 'string', task_id: 'string', localPort: 'number', ...port },
  statusCheckSubtaskEvent: {
    id: 'string',
    task_id: 'string',
    resource: 'string',
    status: 'string',
    message: 'string',
    statusCode: 'string',
    actionableErr: error,
  },
  debuggingContainerEvent: { id: 'string', task_id: 'string', ...debugging },
  terminationEvent: { status: 'string', err: error },
};

const phase: Kind = { message: { status: 'string', statusCode: 'string' } };
const commonState: Form = {
  buildState: { message: { artifacts: 'map', autoTrigger: 'boolean', statusCode: 'string' } },
  testState: phase,
  deployState: { message: { status: 'string', autoTrigger: 'boolean', statusCode: 'string' } },
  statusCheckState: { message: { status: 'string', resources: 'map', statusCode: 'string' } },
  forwardedPorts: 'map',
  fileSyncState: { message: { status: 'string', autoTrigger: 'boolean' } },
  debuggingContainers: 'list',
};
export const v1StateForm: Form = { ...commonState, metadata: { message: v1Metadata } };
export const v2StateForm: Form = {
  ...commonState,
  metadata: { message: v2Metadata },
  renderState: phase,
  verifyState: phase,
  execState: phase,
};

export const v1Statuses = [
  'Not Started',
  'In Progress',
  'Complete',
  'Failed',
  'Started',
  'Succeeded',
  'Terminated',
  'Canceled',
];
export const v2Statuses = [
  'NotStarted',
  'InProgress',
  'Complete',
  'Failed',
  'Started',
  'Succeeded',
  'Terminated',
  'Canceled',
];

/** Names of the enums StatusCode and SuggestionCode that podwright uses. */
export const codes = [
  'OK',
  'STATUSCHECK_SUCCESS',
  'BUILD_USER_ERROR',
  'BUILD_UNKNOWN',
  'BUILD_CANCELLED',
  'DEPLOY_UNKNOWN',
  'UNKNOWN_ERROR',
  'STATUSCHECK_IMAGE_PULL_ERR',
  'STATUSCHECK_CONTAINER_CREATING',
  'STATUSCHECK_RUN_CONTAINER_ERR',
  'STATUSCHECK_CONTAINER_TERMINATED',
  'STATUSCHECK_CONTAINER_WAITING_UNKNOWN',
  'STATUSCHECK_NODE_UNREACHABLE',
  'STATUSCHECK_NODE_NOT_READY',
  'STATUSCHECK_UNKNOWN',
  'STATUSCHECK_USER_CANCELLED',
  'STATUSCHECK_DEADLINE_EXCEEDED',
];

/** What is wrong with `value` as a message of this form; empty when nothing is. */
export function faultsOf(value: unknown, form: Form, path = ''): readonly string[] {
  if (!isRecord(value)) return [`${path}: not an object`];
  const missing = Object.keys(form).filter((name) => !(name in value));
  const unknown = Object.keys(value).filter((name) => !(name in form));
  return [
    ...missing.map((name) => `${path}.${name}: missing`),
    ...unknown.map((name) => `${path}.${name}: not a field`),
    ...Object.entries(form).flatMap(([name, kind]) =>
      name in value ? faultsOfField(value[name], kind, `${path}.${name}`) : [],
    ),
  ];
}

function faultsOfField(value: unknown, kind: Kind, path: string): readonly string[] {
  if (typeof kind === 'object') {
    if ('message' in kind) return faultsOf(value, kind.message, path);
    return value === null ? [] : faultsOf(value, kind.orNull, path);
  }
  if (kind === 'list') return Array.isArray(value) ? [] : [`${path}: not a list`];
  if (kind === 'map') return isRecord(value) ? [] : [`${path}: not a map`];
  return typeof value === kind ? [] : [`${path}: not a ${kind}`];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

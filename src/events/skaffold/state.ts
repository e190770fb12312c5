/**
 * `/v1/state` and `/v2/state`: podwright's state as Skaffold's. Made from the one state there is, so it agrees with the
 * events: what a client folds from the stream is what it reads here.
 */
import type { BuildState, ContainerState, State } from '../state.ts';
import { resource } from './map.ts';
import { v1Metadata, v2Metadata } from './metadata.ts';
import { v1Debugging, v1Port } from './v1.ts';
import { succeeded, v2Debugging, v2Port } from './v2.ts';
import { buildStatuses, type Status, statusCheckOf, v1Status } from './words.ts';

export function v1State(state: State): Readonly<Record<string, unknown>> {
  const common = commonState(state, v1Status);
  return {
    ...common,
    forwardedPorts: Object.fromEntries(state.forwards.map((forward) => [forward.localPort, v1Port(forward)])),
    debuggingContainers: state.debugging.map((target) => v1Debugging('Started', target)),
    metadata: v1Metadata(Object.keys(state.builds).length),
  };
}

export function v2State(state: State, epoch: string): Readonly<Record<string, unknown>> {
  const common = commonState(state, succeeded);
  const idle = { status: 'NotStarted', statusCode: 'OK' };
  return {
    ...common,
    forwardedPorts: Object.fromEntries(state.forwards.map((forward) => [forward.localPort, v2Port(forward)])),
    debuggingContainers: state.debugging.map((target) => v2Debugging('Started', target)),
    metadata: v2Metadata(Object.keys(state.builds), epoch),
    renderState: idle,
    verifyState: idle,
    execState: idle,
  };
}

function commonState(state: State, spell: (status: Status) => string): Readonly<Record<string, unknown>> {
  const builds = Object.values(state.builds);
  const word = newest(builds.flatMap(buildWords));
  const deploy = newest(builds.flatMap(deployWords));
  const check = newest(builds.flatMap(checkWords));
  const idle = spell('NotStarted');
  return {
    buildState: {
      artifacts: Object.fromEntries(builds.map((build) => [build.id, spell(artifactStatus(build))])),
      autoTrigger: false,
      statusCode: word?.code ?? 'OK',
    },
    testState: { status: idle, statusCode: 'OK' },
    deployState: {
      status: deploy === undefined ? idle : spell(deploy.status),
      autoTrigger: false,
      statusCode: deploy?.code ?? 'OK',
    },
    statusCheckState: {
      status: check === undefined ? idle : spell(check.status),
      resources: Object.fromEntries(builds.flatMap((build) => resourcesOf(build, spell))),
      statusCode: check?.code ?? 'OK',
    },
    fileSyncState: { status: idle, autoTrigger: false },
  };
}

interface Word {
  readonly status: Status;
  readonly code: string;
  readonly seq: number;
}

function newest(words: readonly Word[]): Word | undefined {
  return words.reduce<Word | undefined>(
    (best, word) => (best === undefined || word.seq > best.seq ? word : best),
    undefined,
  );
}

function artifactStatus(build: BuildState): Status {
  return newest(buildWords(build))?.status ?? 'NotStarted';
}

function buildWords({ history }: BuildState): readonly Word[] {
  return history.flatMap(({ state, seq }) => {
    const word = buildStatuses[state];
    return word === null || word.status === 'NotStarted' ? [] : [{ ...word, seq }];
  });
}

function deployWords({ pod }: BuildState): readonly Word[] {
  if (pod === null) return [];
  return pod.history.flatMap(({ state, seq }): readonly Word[] => {
    if (state === 'pending') return [{ status: 'InProgress', code: 'OK', seq }];
    if (state === 'running') return [{ status: 'Complete', code: 'OK', seq }];
    if (state === 'creating' || pod.cause === null) return [];
    return [{ status: 'Failed', code: 'DEPLOY_UNKNOWN', seq }];
  });
}

function checkWords({ history }: BuildState): readonly Word[] {
  return history.flatMap(({ state, seq }): readonly Word[] => {
    if (state === 'running') return [{ status: 'Started', code: 'OK', seq }];
    const word = buildStatuses[state];
    if (word === null || word.status === 'NotStarted' || word.status === 'InProgress') return [];
    return [{ status: word.status === 'Complete' ? 'Succeeded' : 'Failed', code: word.code, seq }];
  });
}

function resourcesOf(build: BuildState, spell: (status: Status) => string): readonly (readonly [string, string])[] {
  return build.containers
    .filter(({ history }) => history.length > 1)
    .map((container) => [resource(build.pod?.ref.name ?? build.id, container.name), spell(statusOf(container))]);
}

function statusOf({ name, image, outcome }: ContainerState): Status {
  return statusCheckOf(name, image, outcome).status;
}

/** Faults that a projection of pods could have, as other runners had them; each a small change of the source. */
export interface PlantedFault {
  readonly name: string;
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

const judge = 'src/pod/judge-container.ts';
const identity = 'src/pod/identity.ts';
const observePod = 'src/pod/observe-pod.ts';
const observeEvent = 'src/pod/observe-event.ts';
const ending = 'src/pod/ending.ts';

export const faults: readonly PlantedFault[] = [
  {
    name: 'status.image is trusted more than the containerID',
    file: identity,
    find: "  if (container.isOwnFromStart || container.ownIDs.includes(id)) return 'own';",
    replace:
      "  if (isPlaceholderImage(facts, status.image)) return 'placeholder';\n  if (container.isOwnFromStart || container.requestedAt !== null) return 'own';",
  },
  {
    name: 'the pod’s phase Succeeded is taken for the step’s success',
    file: judge,
    find: "  return [neverEnded(look, ending?.cause ?? 'unknown', ending?.message ?? pod.status?.message ?? null)];",
    replace:
      "  return pod.status?.phase === 'Succeeded'\n    ? [{ ...neverEnded(look, 'completed', null), exitCode: 0 }]\n    : [neverEnded(look, ending?.cause ?? 'unknown', null)];",
  },
  {
    name: 'the placeholder’s exit counts as the step’s',
    file: judge,
    find: "  return [{ type: 'switch.failed', at: look.at, source: { ...look.source, ...idOf(status) } }];",
    replace: '  return [ended(look, container, status, terminated)];',
  },
  {
    name: 'restartCount is ignored where no placeholder was seen',
    file: identity,
    find: "  return (status.restartCount ?? 0) > 0 ? 'own' : 'unclear';",
    replace: "  return 'unclear';",
  },
  {
    name: 'an Event older than the request is trusted',
    file: observeEvent,
    find: '  return time + marginMs > requestedAt;',
    replace: '  return true;',
  },
  {
    name: 'an Event that the server had before the request is trusted where its node is ahead',
    file: observeEvent,
    find: '  if (writtenAt !== null && writtenAt + eventMarginMs <= requestedAt) return false;',
    replace: '',
  },
  {
    name: 'a clock that was set back tells what came first',
    file: judge,
    find: '  if (finishedAt === null || wasClockSetBack(pod)) return null;',
    replace: '  if (finishedAt === null) return null;',
  },
  {
    name: 'the clock of a node counts more than that its kubelet told of a stop',
    file: judge,
    find: 'container.isStopped ? null : believedEnd',
    replace: 'believedEnd',
  },
  {
    name: 'a step that was shown running after the deletion counts for a stopped one, although its kubelet did not know of it',
    file: 'src/pod/ending.ts',
    find: '  return observed >= generation;',
    replace: '  return true;',
  },
  {
    name: 'an end is believed to lie before what was told while the container ran',
    file: judge,
    find: '  return finishedAt + lookMs < aliveAt ? null : finishedAt;',
    replace: '  return finishedAt;',
  },
  {
    name: 'a repeated Event counts again',
    file: observeEvent,
    find: '  if (count <= seen) return { facts, messages: [] };',
    replace: '',
  },
  {
    name: 'Events of another pod are believed',
    file: observeEvent,
    find: "(kind === undefined || kind === 'Pod') && uid !== undefined && uid === facts.uid",
    replace: "kind === undefined || kind === 'Pod' || uid === facts.uid",
  },
  {
    name: 'an Event that quotes another image is believed',
    file: observeEvent,
    find: 'isOfImage(facts, container, textOf(event)) ? tell',
    replace: 'facts !== null ? tell',
  },
  {
    name: 'another pod of the same name is believed',
    file: observePod,
    find: '  if (facts.gone !== null || (facts.uid !== null && facts.uid !== pod.metadata.uid)) return false;',
    replace: '  if (facts.gone !== null) return false;',
  },
  {
    name: 'an older version is believed',
    file: observePod,
    find: '  return facts.pod === null || isNewer(pod.metadata.resourceVersion, facts.pod.metadata.resourceVersion);',
    replace: '  return true;',
  },
  {
    name: 'an end after the begin of an eviction is the step’s own',
    file: judge,
    find: '  const byPod = isByPod(look, container, end) ? look.ending : null;',
    replace: '  const byPod = null as Ending | null;',
  },
  {
    name: 'an invented exit code is passed on',
    file: judge,
    find: '    exitCode: isInvented ? null : end.exitCode,',
    replace: '    exitCode: end.exitCode,',
  },
  {
    name: 'out of memory is told by the exit code alone',
    file: judge,
    find: "  if (end.reason === oomReason && end.exitCode !== sigtermExitCode) return 'oomKilled';",
    replace: "  if (end.exitCode === 137) return 'oomKilled';",
  },
  {
    name: 'the restart rules are not looked at: a placeholder that will be started again is a failure',
    file: judge,
    find: '  if (isStartedAgain(look, container)) return [];',
    replace: '',
  },
  {
    name: 'a placeholder that will be started again is lost where it ended before the request',
    file: judge,
    find: '  if (isStartedAgain(look, container)) return false;',
    replace: '',
  },
  {
    name: 'a placeholder that died by itself counts as a failed pull',
    file: judge,
    find: '  if (isPlaceholderLost(look, container, terminated)) {',
    replace: '  if (container.name === look.pod.metadata.uid) {',
  },
  {
    name: 'a lost node’s container is waited for',
    file: judge,
    find: '  if (ending?.isNodeGone) return [neverEnded(look, ending.cause, ending.message)];',
    replace: '',
  },
  {
    name: 'the kubelet’s last DELETE is taken for the begin of the deletion',
    file: ending,
    find: ' || deletionGracePeriodSeconds < Math.max(1, ownGrace)) {',
    replace: ' || ownGrace < 0) {',
  },
  {
    name: 'every ErrImagePull in the status is one more attempt',
    file: judge,
    find: 'failedPullReasons.has(reason) && reason !== previousReason;',
    replace: 'failedPullReasons.has(reason) && previousReason !== undefined;',
  },
  {
    name: 'a pod that its kubelet is ending is taken for one that lives',
    file: judge,
    find: '  if (look.ending === null && isGivenUp(look.pod)) return [];',
    replace: '',
  },
  {
    name: 'the clock of a node is taken for right',
    file: 'src/pod/facts.ts',
    find: '  return Math.max(0, began(status?.startTime, earliest), ...behind);',
    replace: '  return 0 * behind.length;',
  },
  {
    name: 'a dead sandbox is not looked at',
    file: judge,
    find: '  if (lostAt === null || startedAt === null || finishedAt === null || startedAt >= lostAt) return false;',
    replace: '  if (lostAt !== Number.NaN) return false;',
  },
  {
    name: 'an init container that could be started after all is not forgiven',
    file: 'src/pod/judge-init.ts',
    find: '  const recovered: readonly ContainerMessage[] = isPast',
    replace: '  const recovered: readonly ContainerMessage[] = isPast && heldUpBy === null',
  },
  {
    name: 'a failing init container is not looked at',
    file: judge,
    find: ' = judgeInit(look, container.heldUpBy,',
    replace: ' = judgeInit({ ...look, pod: { metadata: look.pod.metadata } }, container.heldUpBy,',
  },
  {
    name: 'the placeholder’s own failed pull is the step’s',
    file: judge,
    find: '    if (!isOfTheStep(look, container, status, words)) return { container, messages: [] };',
    replace: '',
  },
];

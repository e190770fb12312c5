/**
 * Whatever stands in a pod's status, in whatever order: nothing throws, no rule of the machines is broken, no success is
 * told that no end with 0 of another container than the placeholder has shown, and the pod's going ends every wait.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSuccess } from '../../machines/outcome.ts';
import type { PodCondition } from '../../src/pod/types.ts';
import { type PodChange, placeholderImage, type Shown, stepImage, TestBuild } from '../helpers/build.ts';

const optional = { requiredKeys: [] };
const from = fc.constantFrom;
const time = from(null, 'junk', '1970-01-01T00:00:00Z', '2026-11-30T19:59:30Z', '2026-11-30T20:00:05Z');
const containerID = from('P-a', 'P-b', 'C-1', 'C-2', '');
const waiting = fc.record(
  {
    reason: from('', 'ContainerCreating', 'ErrImagePull', 'ImagePullBackOff', 'CreateContainerConfigError', 'ErrOdd'),
    message: from('not found', `"${placeholderImage}"`),
  },
  optional,
);
const terminated = fc.record(
  {
    exitCode: from(0, 0, 1, 137, 213, 214),
    reason: from('Completed', 'Error', 'OOMKilled', 'StartError', 'ContainerStatusUnknown'),
    containerID,
    startedAt: time,
    finishedAt: time,
  },
  { requiredKeys: ['exitCode'] },
);
const state = fc.oneof(
  fc.record({ waiting }),
  fc.record({ running: fc.record({ startedAt: time }, optional) }),
  fc.record({ terminated }),
  fc.constant({}),
);
const shown: fc.Arbitrary<Shown> = fc.record(
  {
    state,
    lastState: state,
    containerID,
    image: from(placeholderImage, stepImage, 'an/alias:1'),
    imageID: from('sha256:p', 'sha256:s', ''),
    restartCount: from(0, 1, 2),
  },
  optional,
);
const conditions: fc.Arbitrary<PodCondition[]> = fc.array(
  fc.record(
    {
      type: from('Ready', 'ContainersReady', 'DisruptionTarget', 'PodReadyToStartContainers', 'PodScheduled'),
      status: from('True', 'False'),
      reason: from('PodFailed', 'EvictionByEvictionAPI', 'DeletionByTaintManager', 'Odd'),
      lastTransitionTime: time,
    },
    { requiredKeys: ['type', 'status'] },
  ),
  { maxLength: 3 },
);
const change: fc.Arbitrary<PodChange> = fc.record(
  {
    phase: from('Pending', 'Running', 'Succeeded', 'Failed', 'Odd'),
    reason: from('Evicted', 'OutOfcpu', 'NodeLost', 'Odd'),
    conditions,
    deleted: from({ at: 30_000 }, { at: 0, grace: 0 }),
    rejected: fc.boolean(),
  },
  optional,
);
const name = from('a', 'b');
const deeds = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('show' as const), a: shown, b: shown, change }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('ask' as const), name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(200_000) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('tell' as const),
      name,
      reason: from('Pulling', 'Pulled', 'Failed', 'BackOff', 'InspectFailed', 'ErrImageNeverPull'),
      message: from(`Failed to pull image "${stepImage}": not found`, 'Error: secret "s" not found', 'Error: odd', ''),
    }),
  },
);

test('no status whatsoever leads to a false success, a broken rule or an endless wait', () => {
  const histories = fc.array(deeds, { maxLength: 14, size: 'max' });
  fc.assert(
    fc.property(histories, from(undefined, 213), fc.boolean(), (history, restartOn, direct) => {
      const build = TestBuild.ready({ direct, ...(restartOn === undefined ? {} : { restartOn }) });
      const ends = new Set<string>();
      for (const deed of history) {
        if (deed.kind === 'ask' && !direct && !build.actors.container(deed.name).requested) build.request(deed.name);
        if (deed.kind === 'wait') build.after(deed.ms);
        if (deed.kind === 'tell') build.says(deed.name, deed.reason, deed.message);
        if (deed.kind !== 'show') continue;
        for (const name of ['a', 'b'] as const) for (const id of endsWithZero(deed[name])) ends.add(`${name} ${id}`);
        build.shows({ a: deed.a, b: deed.b }, deed.change);
      }
      build.isGone({}, {}, false);
      build.after(10_000);
      for (const name of ['a', 'b']) {
        const { requested, outcome } = build.actors.container(name);
        expect(requested && outcome === null ? `${name} waits for ever` : null).toBeNull();
        if (outcome === null || !isSuccess(outcome)) continue;
        const { containerID: id } = outcome.provenance;
        expect(ends).toContain(`${name} ${id}`);
        if (!direct) expect(id).not.toBe(`P-${name}`);
      }
      expect(build.invariants.breaches).toEqual([]);
      expect(build.clock.nextAt).toBeUndefined();
    }),
    { numRuns: 1_000 },
  );
});

function endsWithZero({ containerID: newest, state, lastState }: Shown): readonly string[] {
  return [state?.terminated, lastState?.terminated].flatMap((end) =>
    end?.exitCode === 0 ? [end.containerID || newest || ''] : [],
  );
}

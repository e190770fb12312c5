// Started and terminated are told exactly once for each container instance, whatever of its life was seen.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { debugAnnotation } from '../../src/debug/annotation.ts';
import { DebugTracker } from '../../src/debug/tracker.ts';
import type { DebugChange } from '../../src/debug/types.ts';
import type { ContainerState, ContainerStatus, Pod } from '../../src/pod/types.ts';

const config = { web: { artifact: 'team/web', runtime: 'nodejs', workingDir: '/app', ports: { devtools: 9229 } } };

describe('the cases of Skaffold', () => {
  test('a container that waits, runs, runs on and ends gives one started and one terminated', () => {
    const { tracker, told } = aTracker();
    for (const state of [waiting(), waiting(), running(), running(), exited(0)]) tracker.observe(aPod({ web: state }));
    tracker.gone(aPod({ web: exited(0) }));
    expect(told()).toEqual(['started web 1', 'terminated web 1 exited 0']);
  });

  test('a pod that is deleted while its container runs ends the container', () => {
    const { tracker, told } = aTracker();
    tracker.observe(aPod({ web: running() }));
    tracker.gone(aPod({ web: running() }));
    expect(told()).toEqual(['started web 1', 'terminated web 1 deleted null']);
  });

  test('two pods live their own lives, and an end first seen in the deleted object is still the end', () => {
    const { tracker, told } = aTracker();
    tracker.observe(aPod({ web: running() }, { name: 'one' }));
    tracker.observe(aPod({ web: running() }, { name: 'two' }));
    tracker.observe(aPod({ web: exited(1) }, { name: 'one' }));
    tracker.gone(aPod({ web: exited(1) }, { name: 'one' }));
    tracker.gone(aPod({ web: exited(2) }, { name: 'two' }));
    expect(told()).toEqual([
      'started web 1',
      'started web 1',
      'terminated web 1 exited 1',
      'terminated web 1 exited 2',
    ]);
  });

  test('a container that never ran is never told', () => {
    const { tracker, told } = aTracker();
    tracker.observe(aPod({ web: waiting() }));
    tracker.gone(aPod({ web: waiting() }));
    expect(told()).toEqual([]);
  });
});

describe('what Skaffold misses', () => {
  test('the first look at a pod may show it running already', () => {
    const { tracker, told } = aTracker();
    tracker.observe(aPod({ web: running() }));
    expect(told()).toEqual(['started web 1']);
  });

  test('a restart between two looks ends the instance with the exit code of the last state, and starts the next', () => {
    const { tracker, told } = aTracker();
    tracker.observe(aPod({ web: running(1) }));
    tracker.observe(aPod({ web: { ...running(2), lastState: exited(3, 1).state } }));
    expect(told()).toEqual(['started web 1', 'terminated web 1 restarted 3', 'started web 2']);
  });

  test('a crash loop is an end, and the next run a start', () => {
    const { tracker, told } = aTracker();
    tracker.observe(aPod({ web: running(1) }));
    tracker.observe(aPod({ web: { ...waiting('CrashLoopBackOff', 1), lastState: exited(7, 1).state } }));
    tracker.observe(aPod({ web: { ...waiting('CrashLoopBackOff', 1), lastState: exited(7, 1).state } }));
    tracker.observe(aPod({ web: { ...running(2), lastState: exited(7, 1).state } }));
    expect(told()).toEqual(['started web 1', 'terminated web 1 exited 7', 'started web 2']);
  });

  test('an instance of which only a later end is seen has ended with an exit code that is not known', () => {
    const { tracker, told } = aTracker();
    tracker.observe(aPod({ web: running(1) }));
    tracker.observe(aPod({ web: { ...exited(0, 3), lastState: exited(0, 2).state } }));
    expect(told()).toEqual(['started web 1', 'terminated web 1 restarted null']);
  });

  test('a pod of the same name and another uid ends what ran in the one before', () => {
    const { tracker, told } = aTracker();
    tracker.observe(aPod({ web: running(1) }, { uid: 'u1' }));
    tracker.observe(aPod({ web: running(2) }, { uid: 'u2' }));
    tracker.gone(aPod({ web: running(1) }, { uid: 'u1' }));
    expect(told()).toEqual(['started web 1', 'terminated web 1 deleted null', 'started web 2']);
    expect(tracker.active.map(({ podUid }) => podUid)).toEqual(['u2']);
  });

  test('a pod whose statuses were lost at its end has no running container', () => {
    const { tracker, told } = aTracker();
    tracker.observe(aPod({ web: running() }));
    tracker.observe(aPod({}, { phase: 'Failed' }));
    expect(told()).toEqual(['started web 1', 'terminated web 1 exited null']);
  });

  test('a stale status does not start an instance again that has ended', () => {
    const { tracker, told } = aTracker();
    for (const state of [running(), exited(0), running()]) tracker.observe(aPod({ web: state }));
    expect(told()).toEqual(['started web 1', 'terminated web 1 exited 0']);
  });

  test('a late look at a pod that is gone starts nothing', () => {
    const { tracker, told } = aTracker();
    for (let i = 0; i < 2; i++) {
      tracker.observe(aPod({ web: running() }));
      tracker.gone(aPod({ web: running() }));
    }
    expect(told()).toEqual(['started web 1', 'terminated web 1 deleted null']);
  });

  test('an annotation that comes late starts what runs; one that goes does not end it', () => {
    const { tracker, told } = aTracker();
    tracker.observe(aPod({ web: running() }, { annotation: null }));
    tracker.observe(aPod({ web: running() }));
    tracker.observe(aPod({ web: running() }, { annotation: null }));
    tracker.observe(aPod({ web: exited(0) }, { annotation: null }));
    expect(told()).toEqual(['started web 1', 'terminated web 1 exited 0']);
  });

  test('a wrong annotation is told once, and counts when it is mended', () => {
    const { tracker, changes } = aTracker();
    for (let i = 0; i < 2; i++) tracker.observe(aPod({ web: running() }, { annotation: '{"web":' }));
    tracker.observe(aPod({ web: running() }));
    expect(changes.map(({ kind }) => kind)).toEqual(['refused', 'started']);
    expect(changes[0]).toMatchObject({ container: null, message: expect.stringContaining('is not JSON') });
  });

  test('a container that the pod does not have is told once', () => {
    const { tracker, changes } = aTracker();
    const annotation = JSON.stringify({ wep: {} });
    for (let i = 0; i < 2; i++) tracker.observe(aPod({ web: running() }, { annotation }));
    expect(changes).toMatchObject([{ kind: 'refused', container: 'wep' }]);
  });

  test('init containers count too', () => {
    const { tracker, told } = aTracker();
    const pod = aPod({});
    tracker.observe({ ...pod, status: { initContainerStatuses: [{ name: 'web', ...running() }] } });
    expect(told()).toEqual(['started web 1']);
  });

  test('closing pairs every started, once, and nothing is told afterwards', () => {
    const { tracker, told } = aTracker();
    tracker.observe(aPod({ web: running() }));
    tracker.close();
    tracker.close();
    tracker.observe(aPod({ web: running(2) }));
    expect(told()).toEqual(['started web 1', 'terminated web 1 closed null']);
    expect(tracker.active).toEqual([]);
  });
});

test('a container that is not its owner’s own is never told', () => {
  const changes: DebugChange[] = [];
  const tracker = new DebugTracker({
    onChange: (change) => changes.push(change),
    isOwn: (_pod, { containerID }) => containerID === 'containerd://2',
  });
  tracker.observe(aPod({ web: running(1) }));
  expect(changes).toEqual([]);
  tracker.observe(aPod({ web: { ...running(2), lastState: exited(0, 1).state } }));
  expect(changes).toMatchObject([{ kind: 'started', target: { containerID: 'containerd://2' } }]);
});

test('the event carries artifact, runtime, working directory, ports, image and node', () => {
  const { tracker, changes } = aTracker();
  tracker.observe(aPod({ web: running() }));
  expect(changes).toEqual([
    {
      kind: 'started',
      target: {
        namespace: 'dev',
        pod: 'web-x',
        podUid: 'u1',
        container: 'web',
        containerID: 'containerd://1',
        restartCount: 0,
        node: 'node-1',
        artifact: 'team/web',
        image: 'registry/web:1',
        imageID: 'sha256:abc',
        runtime: 'nodejs',
        workingDir: '/app',
        debugPorts: { devtools: 9229 },
        startedAt: '2026-01-01T00:00:01Z',
      },
    },
  ]);
});

test('whatever part of a life is seen, in looks that never go back: started at most once, then terminated exactly once', () => {
  const life = fc.array(
    fc.record({
      restart: fc.nat(2),
      state: fc.constantFrom('waiting', 'running', 'exited'),
      annotated: fc.boolean(),
      gone: fc.boolean(),
    }),
    { maxLength: 30 },
  );
  fc.assert(
    fc.property(life, (looks) => {
      const { tracker, changes } = aTracker();
      let instance = 1;
      let uid = 1;
      for (const { restart, state, annotated, gone } of looks) {
        instance += restart;
        const last = instance > 1 ? { lastState: exited(0, instance - 1).state } : {};
        const status = { waiting: waiting('x', instance), running: running(instance), exited: exited(0, instance) };
        const pod = aPod(
          { web: { ...status[state as keyof typeof status], ...last } },
          { uid: `u${uid}`, ...(annotated ? {} : { annotation: null }) },
        );
        if (gone) tracker.gone(pod);
        else tracker.observe(pod);
        if (gone) uid++;
        if (gone) {
          instance++;
          uid++;
        }
      }
      tracker.close();
      const byInstance = Map.groupBy(
        changes.filter((change) => change.kind !== 'refused'),
        ({ target }) => target.containerID,
      );
      for (const kinds of byInstance.values()) {
        expect(kinds.map(({ kind }) => kind)).toEqual(['started', 'terminated']);
      }
    }),
    { numRuns: 1000 },
  );
});

function aTracker(): { tracker: DebugTracker; changes: DebugChange[]; told: () => string[] } {
  const changes: DebugChange[] = [];
  const tracker = new DebugTracker({ onChange: (change) => changes.push(change) });
  const told = (): string[] =>
    changes.map((change) => {
      if (change.kind === 'refused') return `refused ${change.container}`;
      const id = change.target.containerID?.split('//')[1];
      const end = change.kind === 'terminated' ? ` ${change.cause} ${change.exitCode}` : '';
      return `${change.kind} ${change.target.container} ${id}${end}`;
    });
  return { tracker, changes, told };
}

type Status = Omit<ContainerStatus, 'name'> & { readonly state: ContainerState };

function waiting(reason = 'ContainerCreating', instance = 0): Status {
  return { state: { waiting: { reason } }, ...(instance === 0 ? {} : identity(instance)) };
}

function running(instance = 1): Status {
  return { state: { running: { startedAt: '2026-01-01T00:00:01Z' } }, ...identity(instance) };
}

function exited(exitCode: number, instance = 1): Status {
  return { state: { terminated: { exitCode, containerID: `containerd://${instance}` } }, ...identity(instance) };
}

function identity(instance: number): Pick<ContainerStatus, 'containerID' | 'restartCount' | 'image' | 'imageID'> {
  const containerID = `containerd://${instance}`;
  return { containerID, restartCount: instance - 1, image: 'registry/web:1', imageID: 'sha256:abc' };
}

function aPod(
  statuses: Readonly<Record<string, Status>>,
  options: { name?: string; uid?: string; phase?: string; annotation?: string | null } = {},
): Pod {
  const { name = 'web-x', uid = name === 'web-x' ? 'u1' : name, phase = 'Running' } = options;
  const annotation = options.annotation === undefined ? JSON.stringify(config) : options.annotation;
  return {
    metadata: {
      namespace: 'dev',
      name,
      uid,
      resourceVersion: '1',
      ...(annotation === null ? {} : { annotations: { [debugAnnotation]: annotation } }),
    },
    spec: { nodeName: 'node-1', containers: [{ name: 'web', image: 'web:1' }] },
    status: {
      phase,
      containerStatuses: Object.entries(statuses).map(([container, status]) => ({ name: container, ...status })),
    },
  };
}

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { initialFacts } from '../../src/pod/facts.ts';
import { containerName, observeEvent } from '../../src/pod/observe-event.ts';
import type { KubeEvent } from '../../src/pod/types.ts';
import { placeholder, placeholderEnded, placeholderImage, stepImage, TestBuild, waiting } from '../helpers/build.ts';

const asked = (): TestBuild => {
  const build = TestBuild.ready({ restartOn: 213 });
  build.request('a');
  return build;
};

describe('a Kubernetes Event', () => {
  test.each([
    ['Scheduled', 'Successfully assigned n/pod to node'],
    ['Created', 'Created container a'],
    ['Created', 'Container created'],
    ['Started', 'Started container a'],
    ['Killing', 'Container a definition changed, will be restarted'],
    ['Failed', 'Error: ErrImagePull'],
    ['Failed', 'Error: ImagePullBackOff'],
    ['BackOff', 'Back-off restarting failed container a in pod pod_n(uid-1)'],
    ['SomethingNew', 'whatever'],
  ])('%s "%s" changes nothing', (reason, message) => {
    const build = asked();
    build.says('a', reason, message);
    expect(build.state('a')).toBe('pending');
  });

  test.each([
    ['Failed', `Failed to pull image "${stepImage}": rpc error: code = NotFound desc = not found`, 'notFound'],
    ['InspectFailed', `Failed to apply default image tag "${stepImage}": couldn't parse image name`, 'invalidName'],
    ['ErrImageNeverPull', `Container image "${stepImage}" is not present with pull policy of Never`, 'neverPolicy'],
    ['Failed', 'Error: InvalidImageName', 'invalidName'],
  ])('%s "%s" is a sign of a failed pull, and its growth to 2 the end', (reason, message, failureClass) => {
    const build = asked();
    build.says('a', reason, message, { id: 'same' });
    expect(build.state('a')).toBe('pulling');
    if (message.startsWith('Error: ')) build.after(15_000);
    else build.says('a', reason, message, { id: 'same', count: 2 });
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: failureClass, retried: true });
  });

  test('BackOff tells of a failed pull without its class', () => {
    const build = asked();
    build.says('a', 'BackOff', `Back-off pulling image "${stepImage}"`);
    build.after(120_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: 'unknown', attempts: 1 });
  });

  test.each([
    'Successfully pulled image "registry.example/step:1" in 1.2s (1.2s including waiting). Image size: 9 bytes.',
    'Container image "registry.example/step:1" already present on machine and can be accessed by the pod',
  ])('Pulled "%s" is progress', (message) => {
    const build = asked();
    build.says('a', 'Pulling', `Pulling image "${stepImage}"`);
    expect(build.state('a')).toBe('pulling');
    build.says('a', 'Pulled', message);
    expect(build.state('a')).toBe('pending');
  });

  test.each([
    ['spec.containers[2]', null],
    ['spec.initContainers{a}', null],
    ['spec.ephemeralContainers{a}', null],
    ['implicitly required container POD', null],
    [undefined, null],
    ['spec.containers{a}', 'a'],
  ])('with the fieldPath %s is about %s', (fieldPath, name) => {
    const involvedObject = { uid: 'u', ...(fieldPath === undefined ? {} : { fieldPath }) };
    expect(containerName({ metadata, involvedObject })).toBe(name);
  });

  test.each([
    [
      'about a container that the build does not have',
      { fieldPath: 'spec.containers{other}', uid: 'uid-1', kind: 'Pod' },
    ],
    ['about another kind of object', { fieldPath: 'spec.containers{a}', uid: 'uid-1', kind: 'Node' }],
    ['without a uid, as the taint manager writes them', { fieldPath: 'spec.containers{a}', kind: 'Pod', name: 'pod' }],
  ])('%s is nobody’s', (_what, involvedObject) => {
    const build = asked();
    build.says('a', 'Failed', `Failed to pull image "${stepImage}": not found`, { involvedObject });
    expect(build.state('a')).toBe('pending');
  });

  test('that quotes another image is another’s: the placeholder’s, or one merged under a wrong fieldPath', () => {
    const build = asked();
    build.says('a', 'Failed', `Failed to pull image "${placeholderImage}": not found`);
    build.says(
      'a',
      'Failed',
      '(combined from similar events): Failed to pull image "registry.example/other:1": not found',
    );
    build.says('a', 'Pulled', `Container image "${placeholderImage}" already present on machine`);
    expect(build.state('a')).toBe('pending');
    build.says('a', 'Failed', `(combined from similar events): Failed to pull image "${stepImage}": not found`);
    expect(build.state('a')).toBe('pulling');
  });

  test('of both forms has a time: lastTimestamp, or series and eventTime', () => {
    const build = asked();
    build.after(60_000);
    build.request('b');
    const early = build.time(-30_000);
    const text = 'Error: secret "s" not found';
    build.says('b', 'Failed', text, { lastTimestamp: null, eventTime: early });
    build.says('b', 'Failed', text, { lastTimestamp: null, series: { count: 3, lastObservedTime: early } });
    build.after(20_000);
    expect(build.outcome('b')).toBeNull();
    build.says('b', 'Failed', text, { lastTimestamp: null, series: { count: 3, lastObservedTime: build.time() } });
    build.after(15_000);
    expect(build.outcome('b')).toMatchObject({ cause: 'configError' });
  });

  test('counts attempts once, though status and Event tell of each', () => {
    const build = asked();
    const text = `Failed to pull image "${stepImage}": unexpected status: 503 Service Unavailable`;
    build.says('a', 'Failed', text, { id: 'same' });
    build.shows({
      a: waiting('ErrImagePull', '503 Service Unavailable', { containerID: 'P-a' }),
      b: placeholder('P-b'),
    });
    build.says('a', 'Failed', text, { id: 'same', count: 2 });
    build.shows({ a: waiting('ImagePullBackOff', 'x', { containerID: 'P-a' }), b: placeholder('P-b') });
    build.shows({
      a: waiting('ErrImagePull', '503 Service Unavailable', { containerID: 'P-a' }),
      b: placeholder('P-b'),
    });
    build.after(120_000);
    expect(build.outcome('a')).toMatchObject({ class: 'registryError', attempts: 2 });
  });

  test('that comes after a kubelet restart, as a new object, is one attempt more', () => {
    const build = asked();
    const text = `Failed to pull image "${stepImage}": not found`;
    build.says('a', 'Failed', text, { id: 'before' });
    build.says('a', 'Failed', text, { id: 'after' });
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', attempts: 2 });
  });

  test('of a pod that is gone changes nothing', () => {
    const build = asked();
    build.isGone({ a: placeholderEnded('P-a'), b: placeholder('P-b') });
    const changes = build.changes.length;
    build.says('a', 'Pulled', `Container image "${stepImage}" already present on machine`);
    build.says('a', 'Started', 'Container started');
    expect(build.changes).toHaveLength(changes);
  });

  test('never makes the projection throw, whatever it holds', () => {
    const facts = { ...initialFacts(['a']), uid: 'u' };
    const text = fc.option(
      fc.oneof(fc.string(), fc.constantFrom('Failed', 'Pulled', 'Error: ', 'Failed to pull image "')),
      { nil: undefined },
    );
    const events = fc.record({
      reason: text,
      message: text,
      fieldPath: text,
      count: fc.option(fc.integer(), { nil: undefined }),
    });
    fc.assert(
      fc.property(events, ({ fieldPath, ...rest }) => {
        const event = { metadata, involvedObject: { uid: 'u', kind: 'Pod', fieldPath }, ...rest } as KubeEvent;
        expect(observeEvent(facts, event, 0).messages).toEqual([]);
      }),
    );
  });
});

const metadata = { name: 'e', namespace: 'n', uid: 'event', resourceVersion: '1' };

/** Volumes are there before anything of a pod starts; what is missing is told, and waited for. */
import { afterEach, describe, expect, test } from 'vitest';
import { type Anything, aPod } from '../memory-client.ts';
import { allRun, containerOf, events, pods, type Stand, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

const secrets = '/api/v1/namespaces/default/secrets';

const withVolume = (volume: object): object =>
  aPod('p', {
    containers: [{ name: 'a', image: 'lab.local/forever:1', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
    spec: { volumes: [{ name: 'v', ...volume }] },
  });

async function failedMounts({ send }: Stand): Promise<Anything[]> {
  return (await send('GET', `${events}?fieldSelector=reason%3DFailedMount`)).body.items;
}

describe('a Secret that is not there', () => {
  test('keeps the pod waiting until it is, and each try is counted', async () => {
    const stand = await startStand();
    const { send, podWhen, pass } = stand;
    await send('POST', pods, withVolume({ secret: { secretName: 's' } }));
    await pass(10_000);
    const { body: pod } = await send('GET', `${pods}/p`);
    expect(pod.status.phase).toBe('Pending');
    expect(containerOf(pod, 'a').state).toEqual({ waiting: { reason: 'ContainerCreating' } });
    const [event] = await failedMounts(stand);
    // After 0, 0.5, 1.5, 3.5 and 7.5 s.
    expect(event).toMatchObject({
      type: 'Warning',
      count: 5,
      message: 'MountVolume.SetUp failed for volume "v" : secret "s" not found',
    });
    expect(event.involvedObject.fieldPath).toBeUndefined();
    await send('POST', secrets, { metadata: { name: 's' }, stringData: { a: 'b' } });
    await podWhen('p', allRun);
  });

  test('is waited for by one sync for two minutes, then by the next', async () => {
    const stand = await startStand();
    await stand.send('POST', pods, withVolume({ secret: { secretName: 's' } }));
    await stand.pass(122_000);
    expect(await failedMounts(stand)).toHaveLength(1);
    await stand.pass(5_000);
    expect((await failedMounts(stand)).map(({ message }) => message)).toContain(
      'Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[]: timed out waiting for the condition',
    );
    await stand.send('POST', secrets, { metadata: { name: 's' } });
    await stand.podWhen('p', allRun);
  });

  test('does not keep a pod that is deleted', async () => {
    const { send, pass } = await startStand();
    await send('POST', pods, withVolume({ secret: { secretName: 's' } }));
    await pass(30_000);
    await send('DELETE', `${pods}/p`);
    await pass(3_000);
    expect((await send('GET', `${pods}/p`)).status).toBe(404);
  });

  test('is not waited for when it is optional', async () => {
    const stand = await startStand();
    await stand.send('POST', pods, withVolume({ secret: { secretName: 's', optional: true } }));
    await stand.podWhen('p', allRun);
    expect(await failedMounts(stand)).toEqual([]);
  });
});

test.each([
  [
    { secret: { secretName: 's', items: [{ key: 'x', path: 'x' }] } },
    'MountVolume.SetUp failed for volume "v" : references non-existent secret key: x',
  ],
  [
    { projected: { sources: [{ secret: { name: 's', items: [{ key: 'y', path: 'y' }] } }] } },
    'MountVolume.SetUp failed for volume "v" : references non-existent secret key: y',
  ],
  [{ configMap: { name: 'c' } }, 'MountVolume.SetUp failed for volume "v" : configmap "c" not found'],
  [
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'z', path: 'z' }] } },
    'MountVolume.SetUp failed for volume "v" : references non-existent config key: z',
  ],
])('what is missing in %j is told', async (volume, message) => {
  const stand = await startStand();
  await stand.send('POST', secrets, { metadata: { name: 's' } });
  await stand.send('POST', pods, withVolume(volume));
  await stand.pass(2_000);
  expect((await failedMounts(stand)).map((event) => event.message)).toEqual([message]);
});

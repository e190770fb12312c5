/** When a container is started again. */
import { afterEach, describe, expect, test } from 'vitest';
import { aPod, strategic } from '../memory-client.ts';
import { allRun, containerOf, pods, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

const rules = {
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [213] } }],
};

describe('a pull that fails after the switch', () => {
  const patch = { spec: { containers: [{ name: 'a', image: 'localhost:5000/step:none' }] } };

  test('with plain Never it ends as the placeholder, with its code 0', async () => {
    const { send, podWhen, pass } = await startStand();
    await send('POST', pods, aPod('p'));
    await podWhen('p', allRun);
    await pass(2_000);
    await send('PATCH', `${pods}/p`, patch, strategic);
    const pod = await podWhen('p', ({ status }) => status.phase === 'Succeeded');
    expect(containerOf(pod, 'a')).toMatchObject({
      image: 'lab.local/placeholder:1',
      restartCount: 0,
      state: { terminated: { exitCode: 0, reason: 'Completed' } },
    });
  });

  test('with rules it is seen, tried again, and healed by another image', async () => {
    const { send, podWhen, pass } = await startStand();
    await send('POST', pods, aPod('p', { containers: [{ name: 'a', image: 'lab.local/placeholder213:1', ...rules }] }));
    await podWhen('p', allRun);
    await pass(2_000);
    await send('PATCH', `${pods}/p`, patch, strategic);
    const waiting = await podWhen('p', (one) => containerOf(one, 'a').state.waiting?.reason === 'ImagePullBackOff');
    expect(containerOf(waiting, 'a').lastState.terminated.exitCode).toBe(213);
    expect(waiting.status.phase).toBe('Running');
    await send('PATCH', `${pods}/p`, { spec: { containers: [{ name: 'a', image: 'lab.local/step:1' }] } }, strategic);
    const pod = await podWhen('p', ({ status }) => status.phase === 'Succeeded');
    expect(containerOf(pod, 'a')).toMatchObject({ image: 'lab.local/step:1', restartCount: 1 });
  });
});

test('a container in a long crash back-off does not keep another from its next pull', async () => {
  const { send, podWhen, pass } = await startStand({ profile: '1.36' });
  const crashing = { name: 'a', image: 'lab.local/exit:1', env: [{ name: 'CODE', value: '1' }] };
  const waiting = { name: 'b', image: 'lab.local/placeholder:1' };
  await send('POST', pods, aPod('p', { containers: [crashing, waiting], spec: { restartPolicy: 'Always' } }));
  await podWhen('p', (pod) => containerOf(pod, 'a')?.state.waiting?.reason === 'CrashLoopBackOff');
  await pass(330_000);
  const flaky = 'localhost:5000/flaky/b:1';
  await send('PATCH', `${pods}/p`, { spec: { containers: [{ name: 'b', image: flaky }] } }, strategic);
  await podWhen('p', (pod) => containerOf(pod, 'b').state.waiting?.reason === 'ErrImagePull');
  await podWhen('p', (pod) => containerOf(pod, 'b').image === flaky);
});

test('a step that ends with another code than the rules name is not started again', async () => {
  const { send, podWhen } = await startStand();
  const env = [{ name: 'CODE', value: '3' }];
  await send('POST', pods, aPod('p', { containers: [{ name: 'a', image: 'lab.local/exit:1', env, ...rules }] }));
  const pod = await podWhen('p', ({ status }) => status.phase === 'Failed');
  expect(containerOf(pod, 'a')).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 3 } } });
});

test.each([
  ['Always', 0, true],
  ['OnFailure', 0, false],
  ['OnFailure', 1, true],
  ['Never', 1, false],
])('%s after %i: %s', async (restartPolicy, code, restarts) => {
  const { send, podWhen, pass } = await startStand();
  const container = { name: 'a', image: 'lab.local/exit:1', env: [{ name: 'CODE', value: String(code) }] };
  await send('POST', pods, aPod('p', { containers: [container], spec: { restartPolicy } }));
  if (restarts) {
    const pod = await podWhen('p', (one) => containerOf(one, 'a')?.state.waiting?.reason === 'CrashLoopBackOff');
    expect(containerOf(pod, 'a').state.waiting.message).toMatch(
      /^back-off \d+s restarting failed container=a pod=p_default\(/,
    );
    return;
  }
  await pass(40_000);
  const pod = await podWhen('p', ({ status }) => ['Succeeded', 'Failed'].includes(status.phase));
  expect(containerOf(pod, 'a').restartCount).toBe(0);
});

test('a missing secret is a configuration error, until it is there', async () => {
  const { send, podWhen } = await startStand();
  const env = [{ name: 'X', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }];
  await send('POST', pods, aPod('p', { containers: [{ name: 'a', image: 'lab.local/step:1', env }] }));
  const waiting = await podWhen(
    'p',
    (pod) => containerOf(pod, 'a')?.state.waiting?.reason === 'CreateContainerConfigError',
  );
  expect(containerOf(waiting, 'a').state.waiting.message).toBe('secret "s" not found');
  await send('POST', '/api/v1/namespaces/default/secrets', { metadata: { name: 's' }, stringData: { k: 'v' } });
  expect((await podWhen('p', ({ status }) => status.phase === 'Succeeded')).status.phase).toBe('Succeeded');
});

/** Pods that are refused: what is wrong in the words of Kubernetes, and what is not there by its name. */
import { afterEach, expect, test } from 'vitest';
import { aPod } from '../memory-client.ts';
import { pods, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

const rules = {
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [213] } }],
};

test.each([
  ['no name', { metadata: {} }, 422, 'metadata.name: Required value: name or generateName is required'],
  [
    'an upper-case name',
    { metadata: { name: 'P' } },
    422,
    'metadata.name: Invalid value: "P": a lowercase RFC 1123 subdomain',
  ],
  ['no containers', { metadata: { name: 'p' }, spec: { containers: [] } }, 422, 'spec.containers: Required value'],
  ['no image', spec({ name: 'a' }), 422, 'spec.containers[0].image: Required value'],
  ['a space in the image', spec({ name: 'a', image: ' x' }), 422, 'must not have leading or trailing whitespace'],
  [
    'a bad container name',
    spec({ name: 'A', image: 'x' }),
    422,
    'spec.containers[0].name: Invalid value: "A": a lowercase RFC 1123 label',
  ],
  [
    'two of a name',
    spec({ name: 'a', image: 'x' }, { name: 'a', image: 'x' }),
    422,
    'spec.containers[1].name: Duplicate value: "a"',
  ],
  [
    'a wrong policy',
    spec({ name: 'a', image: 'x', imagePullPolicy: 'Now' }),
    422,
    'Unsupported value: "Now": supported values: "Always", "IfNotPresent", "Never"',
  ],
  [
    'an unknown volume',
    spec({ name: 'a', image: 'x', volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
    422,
    'spec.containers[0].volumeMounts[0].name: Not found: "v"',
  ],
  [
    'rules without a policy',
    spec({
      name: 'a',
      image: 'x',
      restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }],
    }),
    422,
    'restartPolicy: Required value',
  ],
  [
    'an amount that is none',
    spec({ name: 'a', image: 'x', resources: { requests: { cpu: 'lots' } } }),
    400,
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  ],
  [
    'an amount in units that are none',
    spec({ name: 'a', image: 'x', resources: { limits: { memory: '5mm' } } }),
    400,
    "unable to parse quantity's suffix",
  ],
  [
    'less than nothing',
    spec({ name: 'a', image: 'x', resources: { requests: { cpu: '-1' } } }),
    422,
    'spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
  ],
  [
    'a request above its limit',
    spec({ name: 'a', image: 'x', resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }),
    422,
    'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
  ],
  [
    'a projected volume whose sources are a number',
    {
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'a', image: 'x' }], volumes: [{ name: 'v', projected: { sources: 5 } }] },
    },
    400,
    'cannot unmarshal number into Go struct field ProjectedVolumeSource.spec.volumes.projected.sources of type []v1.VolumeProjection',
  ],
  [
    'a probe without a handler',
    spec({ name: 'a', image: 'x', livenessProbe: { periodSeconds: 3 } }),
    422,
    'spec.containers[0].livenessProbe: Required value: must specify a handler type',
  ],
  [
    'a hook with two handlers',
    spec({ name: 'a', image: 'x', lifecycle: { preStop: { exec: { command: ['x'] }, sleep: { seconds: 1 } } } }),
    422,
    'spec.containers[0].lifecycle.preStop.sleep: Forbidden: may not specify more than 1 handler type',
  ],
  [
    'a hook without a command',
    spec({ name: 'a', image: 'x', lifecycle: { postStart: { exec: {} } } }),
    422,
    'spec.containers[0].lifecycle.postStart.exec.command: Required value',
  ],
  [
    'a liveness probe that wants two successes',
    spec({ name: 'a', image: 'x', livenessProbe: { exec: { command: ['x'] }, successThreshold: 2 } }),
    422,
    'spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1',
  ],
  [
    'a probe that is a text',
    spec({ name: 'a', image: 'x', readinessProbe: 'often' }),
    400,
    'cannot unmarshal string into Go struct field Container.spec.containers.readinessProbe of type v1.Probe',
  ],
  [
    'an affinity that is a text',
    { metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: 'x' }], affinity: 'close' } },
    400,
    'cannot unmarshal string into Go struct field PodSpec.spec.affinity of type v1.Affinity',
  ],
  [
    'an ephemeral container',
    {
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'a', image: 'x' }], ephemeralContainers: [{ name: 'e', image: 'x' }] },
    },
    422,
    'spec.ephemeralContainers: Forbidden: cannot be set on create',
  ],
  [
    'a text for a list',
    { metadata: { name: 'p' }, spec: { containers: 'x' } },
    400,
    'json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container',
  ],
  [
    'a number for a text',
    spec({ name: 1, image: 'x' }),
    400,
    'cannot unmarshal number into Go struct field Container.spec.containers.name of type string',
  ],
  [
    'another kind',
    { kind: 'Secret', apiVersion: 'v1' },
    400,
    'Secret in version "v1" cannot be handled as a Pod: converting (v1.Secret) to (core.Pod): unknown conversion',
  ],
  [
    'another namespace',
    { metadata: { name: 'p', namespace: 'other' } },
    400,
    'the namespace of the provided object does not match the namespace sent on the request',
  ],
])('%s is refused', async (_what, body, status, text) => {
  const { send } = await startStand();
  const answer = await send('POST', pods, body);
  expect(answer.body).toMatchObject({ kind: 'Status', status: 'Failure', code: status });
  expect(answer.status).toBe(status);
  expect(answer.body.message).toContain(text);
});

const probed = (probe: object): object => ({ containers: [{ name: 'a', image: 'x', readinessProbe: probe }] });
const affine = (affinity: object): object => ({ affinity });
const required = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname' }] };
const restartAll = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [3] } };
const preferred = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }] };
test.each([
  [
    { containers: [{ name: 'a', image: 'x', ...rules, restartPolicyRules: [restartAll] }] },
    'RestartAllContainers, which a rule of container "a" asks for',
  ],
  [probed({ grpc: { port: 80 } }), 'grpc, which the readinessProbe of container "a" asks for'],
  [affine({ podAntiAffinity: required }), 'a scheduler for a required podAntiAffinity'],
  [affine({ podAffinity: required }), 'a scheduler for a required podAffinity'],
  [
    { topologySpreadConstraints: [{ whenUnsatisfiable: 'DoNotSchedule' }] },
    'a scheduler for topologySpreadConstraints',
  ],
  [{ resourceClaims: [{ name: 'gpu' }] }, 'a driver for resourceClaims'],
])('what is not there is refused by name: %j', async (more, text) => {
  const { send } = await startStand();
  const { body } = await send('POST', pods, aPod('p', { spec: more }));
  expect(body).toMatchObject({ code: 403, reason: 'Forbidden' });
  expect(body.message).toContain(`pods "p" is forbidden: the embedded cluster does not have ${text}`);
});

test('what a pod only prefers is taken', async () => {
  const { send } = await startStand();
  const spread = [{ whenUnsatisfiable: 'ScheduleAnyway', topologyKey: 'zone', maxSkew: 1 }];
  const spec = { ...affine({ podAntiAffinity: preferred }), topologySpreadConstraints: spread };
  expect((await send('POST', pods, aPod('p', { spec }))).status).toBe(201);
});

function spec(...containers: object[]): object {
  return { metadata: { name: 'p' }, spec: { containers } };
}

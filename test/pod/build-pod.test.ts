/** The pod is whole, safe by default, and the same for the same spec. */
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { buildPod, type PodManifest } from '../../src/pod/build-pod.ts';
import type { BuildSpec, JsonObject } from '../../src/pod/build-spec.ts';
import { readRecoveryPlan } from '../../src/pod/recovery.ts';
import { buildSecret } from '../../src/pod/secrets.ts';
import { placeholderStrategy } from '../../src/pod/start-strategy.ts';
import { aPlan, aSpec, aStep, fullSpec, placeholder } from './specs.ts';

const own = { image: 'localhost/podwright/placeholder:1', entry: true };

function pod(spec: BuildSpec, option = placeholder): PodManifest {
  return buildPod(aPlan(spec, option), placeholderStrategy(option), 'assembly-1');
}
const container = (manifest: PodManifest, index = 0): JsonObject =>
  (manifest.spec['containers'] as JsonObject[])[index] ?? {};

describe('by default', () => {
  const manifest = pod(aSpec());

  it('a step gets nothing of the cluster', () => {
    expect(manifest.spec).toMatchObject({
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 5,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    });
  });

  it('what tidies up nodes is told to leave the pod alone', () => {
    expect(manifest.metadata.annotations).toMatchObject({
      'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
      'karpenter.sh/do-not-disrupt': 'true',
    });
  });

  it('no step image and no probe is in it', () => {
    expect(JSON.stringify(manifest.spec)).not.toContain('registry.example.com/step:1');
    expect(container(manifest)).not.toHaveProperty('livenessProbe');
  });

  it('all containers share the workspace and work in it', () => {
    expect(container(manifest)).toMatchObject({
      workingDir: '/workspace',
      volumeMounts: [{ name: 'podwright-workspace', mountPath: '/workspace' }],
    });
    expect(manifest.spec['volumes']).toEqual([{ name: 'podwright-workspace', emptyDir: {} }]);
  });
});

describe('with every field of the spec', () => {
  const manifest = pod(fullSpec());

  it('is as recorded', () => {
    const file = new URL('../fixtures/full-pod.json', import.meta.url);
    const made = `${JSON.stringify({ plain: manifest, own: pod(fullSpec(), own) }, null, 2)}\n`;
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, made);
    expect(made).toBe(readFileSync(file, 'utf8'));
  });

  it('no value of a secret is in it', () => {
    expect(JSON.stringify(manifest)).not.toContain('s3cret');
    expect(JSON.stringify(manifest)).not.toMatch(/"value":"secret"/);
  });

  it('every secret variable refers to a key that the Secret has', () => {
    const plan = aPlan(fullSpec());
    const secret = buildSecret(plan, {});
    const env = container(manifest)['env'] as JsonObject[];
    const refs = env.flatMap((entry) => {
      const ref = (entry['valueFrom'] as JsonObject | undefined)?.['secretKeyRef'] as JsonObject | undefined;
      return ref?.['name'] === secret?.metadata.name ? [[entry['name'], secret?.stringData[String(ref?.['key'])]]] : [];
    });
    expect(Object.fromEntries(refs)).toEqual({ TOKEN: 's3cret', SHADOWED: 'secret' });
  });

  it('services and detached steps resolve by their own names and by their names in the pod', () => {
    expect(manifest.spec['hostAliases']).toEqual([
      { ip: '127.0.0.1', hostnames: ['postgres', expect.stringMatching(/^web-server-/), 'db.internal'] },
      { ip: '10.0.0.9', hostnames: ['mirror'] },
    ]);
  });

  it('a host folder is read-only unless it is said otherwise', () => {
    expect(container(manifest)['volumeMounts']).toContainEqual(
      expect.objectContaining({ name: 'host', readOnly: true }),
    );
  });

  it('a caller can change what is annotated, but nothing of podwright', () => {
    expect(manifest.metadata.annotations['karpenter.sh/do-not-disrupt']).toBe('false');
    expect(manifest.metadata.labels['podwright.dev/assembly']).toBe('assembly-1');
  });
});

it('the plan is read back from the pod as it was written', () => {
  const manifest = pod(fullSpec());
  const plan = readRecoveryPlan({ metadata: { ...manifest.metadata, uid: 'u', resourceVersion: '1' } });
  expect(plan).toMatchObject({
    version: 1,
    owner: 'worker-1',
    buildId: 'Org/Repo#17 — nightly',
    placeholder,
    attachments: [{ resource: 'secrets', name: `${manifest.metadata.name}-secrets` }],
  });
  expect(plan.containers.map(({ name }) => name)).toEqual(['unit tests (ÄÖÜ)', 'postgres', 'Web Server', 'plugin']);
  expect(plan.containers[0]?.timeouts).toEqual({ pullMs: 1000, runMs: 2000 });
});

it('a pod without a readable plan is refused with its name', () => {
  const metadata = { name: 'p', namespace: 'n', uid: 'u', resourceVersion: '1' };
  for (const text of [undefined, '{', '{}', '{"version":2}']) {
    const annotations = text === undefined ? {} : { 'podwright.dev/plan': text };
    expect(() => readRecoveryPlan({ metadata: { ...metadata, annotations } })).toThrow(/Cannot adopt the pod n\/p/);
  }
});

it('a workspace can be a claim', () => {
  const manifest = pod(aSpec({ workspace: { claim: 'ws' }, containers: [aStep('a')] }));
  expect(manifest.spec['volumes']).toEqual([
    { name: 'podwright-workspace', persistentVolumeClaim: { claimName: 'ws' } },
  ]);
});

/** Specs for tests: the least that runs, and one that uses every field. */
import { planBuild } from '../../src/pod/build-pod.ts';
import type { BuildSpec, ContainerSpecRequest } from '../../src/pod/build-spec.ts';
import type { BuildPlan } from '../../src/pod/plan.ts';
import type { PlaceholderOption } from '../../src/pod/start-strategy.ts';

export const placeholder: PlaceholderOption = { image: 'registry.example.com/wait:1', restartOn: 213 };

export function aStep(name: string, more: Partial<ContainerSpecRequest> = {}): ContainerSpecRequest {
  return { name, image: 'registry.example.com/step:1', role: 'step', script: `echo ${name}`, ...more };
}

export function aSpec(more: Partial<BuildSpec> = {}): BuildSpec {
  return { id: 'build-1', containers: [aStep('test')], ...more };
}

export function aPlan(spec: BuildSpec, option: PlaceholderOption = placeholder): BuildPlan {
  return planBuild(spec, { owner: 'worker-1', namespace: 'builds', placeholder: option });
}

/** Every field of a BuildSpec, as an executor would fill them at most. */
export function fullSpec(): BuildSpec {
  return {
    id: 'Org/Repo#17 — nightly',
    containers: [
      aStep('unit tests (ÄÖÜ)', {
        environment: { CI: 'true', PRICE: '$(PRICE) costs $$5', SHADOWED: 'plain' },
        secrets: { TOKEN: 's3cret', SHADOWED: 'secret' },
        secretRefs: { PASSWORD: { secret: 'registry', key: 'password' } },
        workingDir: '/workspace/src',
        pull: 'always',
        resources: { requests: { cpu: '100m' }, limits: { memory: '256Mi' } },
        mounts: [
          { volume: 'cache', mountPath: '/cache', subPath: 'unit' },
          { volume: 'host', mountPath: '/host' },
        ],
        securityContext: { runAsUser: 1000, capabilities: { drop: ['ALL'] }, allowPrivilegeEscalation: false },
        timeouts: { pullMs: 1000, runMs: 2000 },
      }),
      {
        name: 'postgres',
        image: 'postgres:16',
        role: 'service',
        ports: [{ port: 5432 }, { port: 53, protocol: 'UDP' }],
      },
      aStep('Web Server', { detach: true, privileged: true, image: 'registry.example.com/web:2' }),
      {
        name: 'plugin',
        image: 'registry.example.com/plugin:3',
        role: 'step',
        pull: 'never',
        args: ['--verbose', '$(X)'],
      },
    ],
    workspace: { mountPath: '/src', sizeLimit: '5Gi' },
    volumes: [
      { name: 'cache', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
      { name: 'host', hostPath: '/var/cache/builds' },
      { name: 'claim', claim: 'pvc-1' },
      { name: 'settings', configMap: 'settings' },
      { name: 'keys', secret: 'keys' },
    ],
    hostnames: ['db.internal'],
    pod: {
      nodeSelector: { disk: 'ssd' },
      affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
      tolerations: [{ key: 'builds', operator: 'Exists' }],
      securityContext: { runAsNonRoot: false, sysctls: [] },
      dnsPolicy: 'Default',
      dnsConfig: { options: [{ name: 'ndots', value: '1' }] },
      serviceAccountName: 'default',
      imagePullSecrets: ['registry'],
      hostAliases: [{ ip: '10.0.0.9', hostnames: ['mirror'] }],
      activeDeadlineSeconds: 3600,
      terminationGracePeriodSeconds: 2,
    },
    timeouts: { scheduleMs: 1, startMs: 2, pullMs: 3, runMs: 4, removeMs: 5 },
    labels: { team: 'core' },
    annotations: { 'example.com/run': '17', 'karpenter.sh/do-not-disrupt': 'false' },
  };
}

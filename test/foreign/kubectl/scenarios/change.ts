import { image, manifest, pod, waits } from '../manifests.ts';
import type { Scenario } from '../scenario.ts';
import { ended } from '../scenario.ts';

const settings = (data: object, more: object = {}): string =>
  manifest({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', ...more }, data });

const running = pod('running', [{ name: 'main', script: waits }]);

/** Every way to write an object. */
export const write: Scenario = {
  name: 'write',
  steps: [
    { command: 'create -f -', stdin: settings({ a: '1' }) },
    { command: 'create -f -', stdin: settings({ a: '1' }) },
    { command: 'apply -f -', stdin: settings({ a: '2', b: '1' }) },
    { command: 'apply -f -', stdin: settings({ a: '2', b: '1' }) },
    { command: 'apply -f -', stdin: settings({ b: '2' }) },
    { command: 'get cm settings -o yaml' },
    { command: 'diff -f -', stdin: settings({ b: '2' }) },
    { command: 'replace -f -', stdin: settings({ c: '3' }) },
    { command: 'replace -f -', stdin: settings({ c: '3' }, { resourceVersion: '1' }) },
    { command: 'replace -f -', stdin: settings({ c: '3' }, { name: 'nothing' }) },
    { command: 'create cm other --from-literal=x=y' },
    { command: 'create cm other --from-literal=x=y --dry-run=client -o yaml' },
    { command: 'create cm third --from-literal=x=y --dry-run=server' },
    { command: 'get cm third' },
    { command: 'create secret generic hidden --from-literal=x=y' },
    { command: 'get secret hidden -o yaml' },
    { command: 'create sa builder' },
    { command: 'create -f -', stdin: running },
    { command: 'wait --for=condition=Ready pod/running', scene: true },
    { command: 'label pod running color=red' },
    { command: 'label pod running color=blue' },
    { command: 'label pod running color=blue --overwrite' },
    { command: 'label pod running color-' },
    { command: 'label pod running color-' },
    { command: 'label pod running bad/label/key=x' },
    { command: 'label pods --all seen=yes' },
    { command: 'annotate pod running note=one' },
    { command: 'annotate pod running note=one' },
    { command: 'annotate pod running note-' },
    { command: `patch pod running -p '{"metadata":{"labels":{"by":"strategic"}}}'` },
    { command: `patch pod running -p '{"metadata":{"labels":{"by":"strategic"}}}'` },
    { command: `patch pod running --type=merge -p '{"metadata":{"labels":{"by":"merge"}}}'` },
    { command: `patch pod running --type=json -p '[{"op":"replace","path":"/metadata/labels/by","value":"json"}]'` },
    { command: `patch pod running --type=json -p '[{"op":"test","path":"/metadata/labels/by","value":"none"}]'` },
    { command: `patch pod running --type=json -p '[{"op":"remove","path":"/metadata/labels/none"}]'` },
    { command: `patch pod running --type=json -p '[{"op":"jump","path":"/metadata"}]'` },
    { command: `patch pod running -p '{"spec":{"containers":[{"name":"main","image":""}]}}'` },
    { command: `patch pod running -p '{"spec":{"containers":[{"image":"x"}]}}'` },
    { command: `patch pod running -p '{"spec":{"containers":[{"name":"more","image":"x"}]}}'` },
    {
      command: `patch pod running -p '{"spec":{"restartPolicy":"Always"}}'`,
      lines: /is invalid|pod updates may not/,
    },
    { command: `patch pod running -p '{"metadata":{"name":"other"}}'` },
    { command: `patch pod running -p '{"metadata":{"resourceVersion":"1"}}'` },
    { command: `patch pod running -p '{"spec":{"containers":"none"}}'` },
    { command: `patch pod running -p '{"spec":{"activeDeadlineSeconds":600}}'` },
    { command: `patch pod running -p '{"spec":{"activeDeadlineSeconds":900}}'` },
    { command: `patch pod running -p 'not json'` },
    { command: `patch pod nothing -p '{"metadata":{"labels":{"a":"b"}}}'` },
    {
      command:
        'patch pod running --type=merge -p \'{"metadata":{"labels":{"by":null}}}\' -o jsonpath={.metadata.labels}',
    },
    { command: `set image pod/running main=${image}` },
    { command: 'get pod running --show-labels' },
    { command: 'apply -f -', stdin: running, lines: /configured|unchanged|Warning/ },
    { command: 'delete pod running' },
  ],
};

/** Deletes with and without grace, waited for and not. */
export const remove: Scenario = {
  name: 'delete',
  steps: [
    { command: 'create -f -', stdin: pod('one', [{ name: 'main', script: waits }]), scene: true },
    { command: 'create -f -', stdin: pod('forced', [{ name: 'main', script: waits }]), scene: true },
    { command: 'create -f -', stdin: pod('now', [{ name: 'main', script: waits }]), scene: true },
    {
      command: 'create -f -',
      stdin: pod('slow', [{ name: 'main', script: 'trap "" TERM; while :; do sleep 0.1; done' }], {
        spec: { terminationGracePeriodSeconds: 6 },
      }),
      scene: true,
    },
    { command: 'create -f -', stdin: pod('done', [{ name: 'main', script: 'true' }]), scene: true },
    { command: 'create cm settings', scene: true },
    { command: 'wait --for=condition=Ready pod/one pod/forced pod/now pod/slow', scene: true },
    ended('done', 'Succeeded'),
    { command: 'delete pod one --dry-run=server' },
    { command: 'delete pod one --grace-period=5' },
    { command: 'delete pod forced --force --grace-period=0' },
    { command: 'delete pod now --now' },
    { command: 'delete pod slow --wait=false' },
    { command: 'get pod slow' },
    { command: "get pod slow -o jsonpath='{.metadata.deletionGracePeriodSeconds}'" },
    { command: 'delete pod slow --grace-period=1' },
    { command: 'delete pod done' },
    { command: 'delete pod done' },
    { command: 'delete pod done --ignore-not-found' },
    { command: 'delete pods -l app=none' },
    { command: 'delete cm settings' },
    { command: 'delete pods --all' },
    { command: 'delete -f -', stdin: settings({}) },
    { command: 'get pods' },
  ],
};

import { documents, image, manifest, missingImage, pod, waits } from '../manifests.ts';
import type { Scenario, Step } from '../scenario.ts';
import { ended } from '../scenario.ts';

const setUp: readonly Step[] = [
  {
    command: 'create -f -',
    stdin: documents(
      manifest({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'settings' },
        // One key: kubectl describe writes several in the chance order of a Go map.
        data: { level: 'debug\nof two lines\n' },
      }),
      manifest({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'token' }, stringData: { key: 'value' } }),
      pod('two', [
        {
          name: 'first',
          script: waits,
          env: [
            { name: 'PLAIN', value: 'x y' },
            { name: 'LEVEL', valueFrom: { configMapKeyRef: { name: 'settings', key: 'level' } } },
            { name: 'KEY', valueFrom: { secretKeyRef: { name: 'token', key: 'key', optional: true } } },
            { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
          ],
        },
        { name: 'second', script: waits },
      ]),
    ),
  },
  // One after the other, so that Events come in one order.
  { command: 'wait --for=condition=Ready pod/two', scene: true },
  { command: 'create -f -', stdin: pod('done', [{ name: 'main', script: 'echo hello' }]), scene: true },
  ended('done', 'Succeeded'),
  {
    command: 'create -f -',
    stdin: pod('failed', [{ name: 'main', script: 'echo why > /dev/termination-log; exit 3' }], {
      labels: { tier: 'back' },
    }),
    scene: true,
  },
  ended('failed', 'Failed'),
  {
    command: 'create -f -',
    stdin: pod('absent', [{ name: 'main', script: 'true', image: missingImage }]),
    scene: true,
  },
];

const plain = (...commands: readonly string[]): Step[] => commands.map((command) => ({ command }));

/** Fits what does not show a pull that is just being tried again: for that moment its reason is another one. */
const settled = /^(?![\s\S]*ErrImagePull)/;

/** `get` in all its forms. */
export const get: Scenario = {
  name: 'get',
  steps: [
    ...setUp,
    { command: 'get pods', retry: /ImagePullBackOff/ },
    ...plain(
      'get pods -o wide',
      'get pods two done',
      'get pod/done configmap/settings',
      'get pods -o name',
      'get pods --no-headers',
      'get pods --show-labels',
      'get pods -L app -L tier',
      'get pods --sort-by=.metadata.name',
      'get pods --chunk-size=1',
      'get pod two -o json',
      'get pod done -o yaml',
      'get pod failed -o yaml',
      "get pods -o jsonpath='{range .items[*]}{.metadata.name} {.status.phase}{end}'",
      "get pods -o go-template='{{range .items}}{{.metadata.name}} {{end}}'",
      'get pods -o custom-columns=NAME:.metadata.name,PHASE:.status.phase',
      'get pods -l app=two',
      "get pods -l 'app in (done,failed),tier'",
      "get pods -l '!tier'",
      'get pods -l app!=two',
      'get pods -l app=none',
      'get pods --field-selector=status.phase=Succeeded',
      'get pods --field-selector=status.phase!=Running,metadata.name=failed -o name',
      'get pods --field-selector=spec.color=red',
      "get pods -l 'a in'",
      'get pods -A -l app=two -o name',
      'get pods -A --field-selector=metadata.namespace=$NS',
      'get cm settings',
      'get cm settings -o yaml',
      'get secret token',
      'get secret token -o json',
      'get ns $NS',
      'get ns $NS -o yaml',
      'get sa default',
      'get all',
      'get po,cm --ignore-not-found -l app=done',
      'get pods nothing --ignore-not-found',
      'get --raw /api/v1/namespaces/$NS/pods/nothing',
      'get roles',
      'get pdb',
      'get leases',
    ).map((step) => ({ ...step, retry: settled })),
  ],
};

/** `describe` and `events`, which join several requests into one text. */
export const describe: Scenario = {
  name: 'describe',
  steps: [
    ...setUp.filter(({ stdin }) => stdin === undefined || !stdin.includes(missingImage)),
    ...plain(
      'describe pod two',
      'describe pod done',
      'describe pod failed',
      'describe cm settings',
      'describe secret token',
      'describe pods nothing',
      'describe pods -l app=none',
      'describe ns $NS',
      'describe sa default',
      'get events --field-selector=involvedObject.name=done,reason=Scheduled -o yaml',
      'get events.v1.events.k8s.io --field-selector=regarding.name=done,reason=Scheduled -o yaml',
      'events --for pod/done --types=Warning',
      'get events --field-selector=involvedObject.name=done,reason=Started -o json',
    ),
    // Which of two parts tells its Event first is chance.
    { command: 'events --for pod/done', sorted: true },
    { command: 'get events --field-selector=involvedObject.name=done', sorted: true },
    { command: 'get events --field-selector=involvedObject.name=done -o wide', sorted: true },
    { command: 'get events.v1.events.k8s.io --field-selector=regarding.name=done', sorted: true },
  ],
};

export const pullFailure: Scenario = {
  name: 'pull-failure',
  steps: [
    {
      command: `run absent --restart=Never --image=${missingImage}`,
    },
    { command: 'logs absent', retry: /trying and failing/ },
    { command: 'get pod absent', retry: /ImagePullBackOff/ },
    { command: "get pod absent -o jsonpath='{.status.containerStatuses[0].state}'", retry: /BackOff/ },
    {
      command: 'describe pod absent',
      retry: /Reason: +ImagePullBackOff/,
      lines: /^\s+(State|Reason|Ready|Restart Count|Image|Image ID|Container ID):|^Status:/,
    },
    { command: `run present --restart=Never --image=${image} --command -- sh -c true` },
    ended('present', 'Succeeded'),
    { command: 'logs present' },
    { command: 'delete pods --all --wait=false', sorted: true },
  ],
};

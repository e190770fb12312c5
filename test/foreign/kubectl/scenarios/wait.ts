import { pod, waits } from '../manifests.ts';
import type { Scenario } from '../scenario.ts';
import { ended } from '../scenario.ts';

const running = pod('running', [{ name: 'main', script: waits }]);

/** `wait` for what is so already, for what comes, and for what does not come. */
export const waitFor: Scenario = {
  name: 'wait',
  steps: [
    { command: 'wait --for=condition=Ready pod/running --timeout=1s' },
    {
      command: 'create -f -',
      stdin: running,
    },
    { command: 'wait --for=condition=Ready pod/running' },
    { command: 'wait --for=condition=Ready=true pod/running' },
    { command: 'wait --for=condition=Ready pods --all' },
    { command: 'wait --for=condition=Ready pods -l app=running' },
    { command: 'wait --for=condition=Ready pods -l app=none' },
    { command: 'wait --for=condition=Ready=false pod/running --timeout=1s' },
    { command: "wait --for=jsonpath='{.status.phase}'=Running pod/running" },
    { command: "wait --for=jsonpath='{.status.phase}'=Failed pod/running --timeout=1s" },
    { command: 'wait --for=delete pod/running --timeout=3s' },
    {
      command: 'wait --for=delete pod/running',
      beside: { steps: [{ command: 'delete pod running --wait=false' }] },
    },
    { command: 'wait --for=delete pod/running' },
    { command: 'wait --for=colour pod/running' },
  ],
};

const gate = { spec: { schedulingGates: [{ name: 'example.com/wait' }] } };

/** `get -w`: the table's rows as the pod lives. */
export const watch: Scenario = {
  name: 'watch',
  steps: [
    // Its row shows that the watch is open.
    { command: 'create -f -', stdin: pod('gated', [{ name: 'main', script: 'true' }], gate), scene: true },
    {
      command: 'get pods -w',
      beside: {
        from: /gated/,
        steps: [
          { command: 'create -f -', stdin: pod('one', [{ name: 'main', script: 'sleep 2' }]), scene: true },
          ended('one', 'Succeeded'),
        ],
        until: /Completed/,
      },
    },
    {
      command: 'get pods -w -l app=one --show-labels',
      beside: {
        from: /one/,
        steps: [{ command: 'label pod one app=two --overwrite' }, { command: 'label pod one app=one --overwrite' }],
        until: /(app=one\s[^=]*){3}/,
      },
    },
    {
      command: 'get pods -w --output-watch-events',
      beside: { from: /one/, steps: [{ command: 'delete pod one' }], until: /DELETED/ },
    },
    {
      command: 'get pod gated -w -o json',
      beside: { from: /^}/m, steps: [{ command: 'label pod gated color=red' }], until: /^}[\s\S]*^}/m },
    },
    { command: 'get pod gated -w --request-timeout=2s' },
    {
      command: 'get events -w',
      // Which of two parts tells its Event first is chance.
      sorted: true,
      beside: {
        steps: [{ command: 'create -f -', stdin: pod('three', [{ name: 'main', script: 'sleep 1' }]), scene: true }],
        until: /Started\s+pod\/three/,
      },
    },
  ],
};

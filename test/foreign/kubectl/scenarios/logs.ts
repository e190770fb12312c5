import { pod, waits } from '../manifests.ts';
import type { Scenario } from '../scenario.ts';
import { ended } from '../scenario.ts';

const counts = 'for n in 1 2 3 4 5; do echo line $n; done';

/** `logs` with all that chooses lines. */
export const logs: Scenario = {
  name: 'logs',
  steps: [
    { command: 'create -f -', stdin: pod('done', [{ name: 'main', script: counts }]) },
    ended('done', 'Succeeded'),
    { command: 'logs done' },
    { command: 'logs pod/done' },
    { command: 'logs done -c main' },
    { command: 'logs done -c other' },
    { command: 'logs done main' },
    { command: 'logs done --tail=2' },
    { command: 'logs done --tail=0' },
    { command: 'logs done --limit-bytes=9' },
    { command: 'logs done --since=1h' },
    { command: 'logs done --since-time=2030-01-01T00:00:00Z' },
    { command: 'logs done --since-time=yesterday' },
    { command: 'logs done --timestamps' },
    { command: 'logs done --previous' },
    { command: 'logs done -f' },
    { command: 'logs done --prefix' },
    { command: 'logs nothing' },
    { command: 'logs -l app=done' },
    { command: 'logs -l app=none' },
    { command: 'logs done --since=-5s' },
    { command: 'logs done --tail=-3' },
  ],
};

/** `logs -f` to the end of a container, several containers, and the instance before. */
export const follow: Scenario = {
  name: 'follow',
  steps: [
    {
      command: 'create -f -',
      stdin: pod('two', [
        { name: 'first', script: `echo from first; ${waits}` },
        { name: 'second', script: `echo from second; ${waits}` },
      ]),
    },
    { command: 'wait --for=condition=Ready pod/two', scene: true },
    { command: 'logs two', lines: /error|choose|Defaulted|from/ },
    {
      command: 'logs two --all-containers',
      sorted: true,
      retry: /from first\s+from second|from second\s+from first/,
    },
    { command: 'logs two --all-containers --prefix', sorted: true },
    { command: 'logs two -c second' },
    {
      command: 'logs two -c first -f',
      beside: { from: /from first/, steps: [{ command: 'delete pod two' }] },
    },
    {
      command: 'create -f -',
      stdin: pod('again', [{ name: 'main', script: 'echo instance; sleep 1; exit 1' }], {
        spec: { restartPolicy: 'OnFailure' },
      }),
    },
    { command: 'logs again -p', retry: /^instance/ },
    { command: "get pod again -o jsonpath='{.status.containerStatuses[0].lastState.terminated.exitCode}'", retry: /1/ },
    { command: 'delete pod again --now' },
    {
      command: 'create -f -',
      stdin: pod('gated', [{ name: 'main', script: 'true' }], {
        spec: { schedulingGates: [{ name: 'example.com/wait' }] },
      }),
    },
    { command: 'logs gated' },
    { command: 'get pod gated' },
    { command: 'delete pod gated' },
  ],
};

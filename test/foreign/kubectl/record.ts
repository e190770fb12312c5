/**
 * Records what kubectl prints at a real cluster: `node bin/with-node.js test/foreign/kubectl/record.ts [SCENARIO…]`.
 *
 * KUBECONFIG is that of an administrator, WORKER_KUBECONFIG one of a user `worker` without rights; the node has the
 * lab's images. KUBECTLS names the kubectls, as PATH does folders.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { scenarios } from './scenarios.ts';
import { goldenPath, kubectls, playAt, realStand } from './stand.ts';

const { KUBECONFIG: admin, WORKER_KUBECONFIG: worker } = process.env;
if (admin === undefined || worker === undefined) throw new Error('set KUBECONFIG and WORKER_KUBECONFIG');
const wanted = process.argv.slice(2);
const chosen = scenarios.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const stand = await realStand(admin, worker);
try {
  for (const { path, minor } of await kubectls()) {
    for (const scenario of chosen) {
      const file = goldenPath(minor, scenario);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, await playAt(stand, path, scenario));
      console.log(`${minor} ${scenario.name}`);
    }
  }
} finally {
  await stand.end();
}

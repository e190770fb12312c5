// Ctrl-C at any moment of a build: its pod is gone, and the exit code is 130.
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EmbeddedCluster, startCluster } from '../../../src/cluster/index.ts';
import { connect, type KubeClient } from '../../../src/kube/client.ts';
import { Folder, jsonLines, start } from '../../cli/podwright.ts';

const folder = new Folder();
const file = folder.file(
  'long.yml',
  `version: "1"
services: [{ name: db, image: postgres, entrypoint: [/bin/sh, -c, "echo db is up; exec sleep 600"] }]
stages:
  one: { steps: [{ name: first, image: alpine, commands: ["echo first begun", "sleep 0.3", "echo first done"] }] }
  two: { needs: one, steps: [{ name: second, image: alpine, commands: ["echo second begun", "exec sleep 600"] }] }
  three: { needs: one, steps: [{ name: third, image: alpine, commands: ["trap '' TERM", "echo third begun", "exec sleep 600"] }] }
`,
);

let cluster: EmbeddedCluster;
let client: KubeClient;
beforeAll(async () => {
  cluster = await startCluster();
  client = await connect({ kubeConfig: cluster.kubeConfig });
});
afterAll(async () => {
  await client.close();
  await cluster.stop();
  folder.end();
});

/** The text of standard output after which the signal is sent. */
const moments = [
  ['the cluster is known', '"type":"build.setup"'],
  ['the build is prepared', '"type":"build.prepared"'],
  ['the pod waits', '"type":"build.assembled"'],
  ['the service is asked for', '"type":"step.started"'],
  ['the service speaks', 'db is up'],
  // Of one that runs on: a state that is over soon may never be shown.
  ['a step runs', '"step":"second","stage":"two","number":2,"state":"running"'],
  ['a step speaks', 'first begun"'],
  ['a step has ended', '"type":"step.settled"'],
  ['two stages run', 'second begun"'],
  ['a step that does not listen runs', 'third begun"'],
] as const;

describe('an interrupt when', { timeout: 60_000 }, () => {
  test.concurrent.for(moments)('%s', async ([, text], { expect }) => {
    const run = start(['run', file, '--kubeconfig', cluster.kubeConfig, '--output', 'json']);
    await run.seen(text);
    run.signal('SIGINT');
    const { code, out, err } = await run.ended;
    expect(err).toBe('');
    expect(code).toBe(130);
    const lines = jsonLines(out);
    expect(lines.at(-1)).toMatchObject({ type: 'build.settled', outcome: 'canceled' });
    const prepared = lines.find((line) => line['type'] === 'build.prepared');
    const pods = await client.list<{ readonly metadata: { readonly name: string } }>({
      resource: 'pods',
      namespace: 'default',
    });
    expect(pods.items.map((pod) => pod.metadata.name)).not.toContain(prepared?.['pod']);
  });

  test('the doctor has its probe on the cluster', async () => {
    const slow = await startCluster({
      backend: 'scripted',
      // Not a pull that takes long: one that has begun holds the pod until it is over, and whether it has is chance.
      images: [{ image: 'slow:1', present: true, life: { runs: 'forever' } }],
    });
    const admin = await connect({ kubeConfig: slow.kubeConfig });
    try {
      const doctor = start(['doctor', '--kubeconfig', slow.kubeConfig, '--image', 'slow:1']);
      await doctor.seen('a pull that fails is not tried again');
      doctor.signal('SIGINT');
      const { code, err } = await doctor.ended;
      expect(err).toMatch(/^Removing the probe/);
      expect(code).toBe(130);
      expect((await admin.list({ resource: 'pods', namespace: 'default' })).items).toEqual([]);
    } finally {
      await admin.close();
      await slow.stop();
    }
  });

  test('the server does not answer', async () => {
    const sockets = new Set<{ destroy: () => void }>();
    const server = createServer((socket) => void sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const contacted = new Promise((resolve) => server.once('connection', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const config = folder.file('mute.kubeconfig', kubeconfigOf(`http://127.0.0.1:${port}`));
    const run = start(['run', file, '--kubeconfig', config]);
    await contacted;
    run.signal('SIGINT');
    const { code, err } = await run.ended;
    for (const socket of sockets) socket.destroy();
    server.close();
    expect(code).toBe(130);
    expect(err).toContain('interrupted by SIGINT');
  });
});

function kubeconfigOf(server: string): string {
  return `apiVersion: v1
kind: Config
current-context: test
contexts: [{ name: test, context: { cluster: test, user: test } }]
clusters: [{ name: test, cluster: { server: "${server}", insecure-skip-tls-verify: true } }]
users: [{ name: test, user: { token: "none" } }]
`;
}

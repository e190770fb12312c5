/**
 * client-go on the embedded cluster: informers with and without WatchList, relists, wait and retry utilities.
 *
 * The checks are in client-go/main.go. Without Go the suite is skipped, and says so.
 */
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EmbeddedCluster, startCluster } from '../../src/cluster/index.ts';

const run = promisify(execFile);
const hasGo = spawnSync('go', ['version']).status === 0;
if (!hasGo) console.log('skipped: client-go, because there is no go in PATH');

describe.skipIf(!hasGo)('client-go', () => {
  let directory: string;
  let cluster: EmbeddedCluster;
  let control: Server;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'podwright-client-go-'));
    await run('go', ['build', '-o', join(directory, 'foreign'), '.'], { cwd: join(import.meta.dirname, 'client-go') });
    cluster = await startCluster({ namespaces: ['foreign'] });
    control = createServer((request, response) => {
      if (request.url === '/compact') cluster.compact();
      if (request.url === '/drop') cluster.dropConnections();
      response.end();
    });
    control.listen(0, '127.0.0.1');
    await once(control, 'listening');
  });

  afterAll(async () => {
    control?.close();
    await cluster?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('all its checks hold', async () => {
    const { port } = control.address() as AddressInfo;
    const flags = ['-kubeconfig', cluster.kubeConfig, '-control', `http://127.0.0.1:${port}`];
    // A failure's output says which check, and why.
    const { stdout } = await run(join(directory, 'foreign'), flags).catch((error: Error & { stdout?: string }) => {
      throw new Error(`${error.stdout ?? ''}${error.message}`);
    });
    const lines = stdout.trim().split('\n');
    expect(lines.every((line) => line.startsWith('ok '))).toBe(true);
    expect(lines).toHaveLength(12);
  });
});

/** A TCP proxy before the API server that cuts connections: what load balancers and networks do, at will. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { kubeConfig } from './lab.ts';

export interface Proxy {
  /** A kubeconfig that leads through the proxy. */
  readonly kubeConfig: string;
  /** Connections that were cut. */
  readonly cuts: number;
  /** Cuts every connection there is. */
  cut(): void;
  close(): Promise<void>;
}

export async function startProxy(): Promise<Proxy> {
  if (kubeConfig === undefined) throw new Error('KUBECONFIG is not set: these tests need a cluster');
  const config = parse(await readFile(kubeConfig, 'utf8'));
  const target = new URL(config.clusters[0].cluster.server);
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = createServer((inner) => {
    const outer = dial(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      socket.on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
      socket.pipe(other);
    }
    sockets.add(inner);
    inner.on('close', () => sockets.delete(inner));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  config.clusters[0].cluster.server = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const folder = await mkdtemp(join(tmpdir(), 'podwright-proxy-'));
  await writeFile(join(folder, 'config'), stringify(config));
  const cut = (): void => {
    for (const socket of sockets) {
      cuts++;
      socket.resetAndDestroy();
    }
  };
  return {
    kubeConfig: join(folder, 'config'),
    get cuts() {
      return cuts;
    },
    cut,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true });
    },
  };
}

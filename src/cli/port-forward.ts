/**
 * Forwards a local port to a port of a pod, through the API server, as `kubectl port-forward` does.
 *
 * It listens on the loopback alone. A connection that the cluster cannot make is closed, and told; the forward stays.
 */
import { createServer, type Socket } from 'node:net';
import type { ClusterFlags } from './cluster-flags.ts';
import { stockConfig } from './stock-config.ts';

export interface ForwardTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

export interface Forward {
  readonly localPort: number;
  /** Ends the forward and every connection through it. Idempotent. */
  close(): Promise<void>;
}

export type OpenForward = (target: ForwardTarget, onFailure: (reason: string) => void) => Promise<Forward>;

/** Needs the right to create `pods/portforward`. Throws `ERR_PODWRIGHT_CONFIG` for a kubeconfig that cannot be used. */
export async function forwarder(flags: Pick<ClusterFlags, 'kubeconfig' | 'context'>): Promise<OpenForward> {
  const { PortForward } = await import('@kubernetes/client-node');
  const api = new PortForward(await stockConfig(flags, 'forward ports'));
  return (target, onFailure) =>
    listen(target.port, (socket) => {
      api
        .portForward(target.namespace, target.pod, [target.port], socket, null, socket)
        .then((webSocket) => {
          const end = (): void => void ('close' in webSocket && webSocket.close());
          socket.once('close', end);
          if ('on' in webSocket) webSocket.on('close', () => socket.end());
        })
        .catch((error: unknown) => {
          onFailure(reasonOf(error));
          socket.destroy();
        });
    });
}

/** On the same port if it is free, otherwise on any. */
async function listen(wanted: number, onConnection: (socket: Socket) => void): Promise<Forward> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    // The other side of a debugger may go at any time; the close that follows is all there is to know.
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  const bind = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  await bind(wanted).catch(() => bind(0));
  const address = server.address();
  return {
    localPort: typeof address === 'object' && address !== null ? address.port : 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function reasonOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  // The WebSocket library rejects with its event.
  const message = (error as { readonly message?: unknown } | null)?.message;
  return typeof message === 'string' ? message : String(error);
}

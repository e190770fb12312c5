/** Runs a command in a container of a pod, as `kubectl exec` does, with files as its input and output. */
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { PodwrightError } from '../errors.ts';
import type { ClusterFlags } from './cluster-flags.ts';
import { stockConfig } from './stock-config.ts';

export interface ExecTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

export interface ExecStreams {
  readonly input?: Readable;
  readonly output?: Writable;
}

export type Exec = (
  target: ExecTarget,
  command: readonly string[],
  streams: ExecStreams,
  signal: AbortSignal,
) => Promise<void>;

/** What a command said on its standard error, as far as an error needs it. */
const keptErrorBytes = 4_096;

/**
 * Needs the right to create `pods/exec`. The function resolves once the command ended with 0, and otherwise throws
 * `ERR_PODWRIGHT_API` with what the command or the server said; an abort ends it with the signal's reason.
 */
export async function opener(flags: Pick<ClusterFlags, 'kubeconfig' | 'context'>): Promise<Exec> {
  const { Exec: Api } = await import('@kubernetes/client-node');
  const api = new Api(await stockConfig(flags, 'run commands in pods'));
  return (target, command, streams, signal) =>
    new Promise((resolve, reject) => {
      const said = new Tail(keptErrorBytes);
      let isSettled = false;
      const settle = (error?: unknown): void => {
        isSettled = true;
        signal.removeEventListener('abort', onAbort);
        socket?.close();
        if (error === undefined) resolve();
        else reject(error);
      };
      let socket: { close(): void } | undefined;
      const onAbort = (): void => settle(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) return settle(signal.reason);
      const { namespace, pod, container } = target;
      api
        .exec(
          namespace,
          pod,
          container,
          [...command],
          streams.output ?? new PassThrough().resume(),
          said.stream,
          streams.input ?? null,
          false,
          (status) => {
            if (status.status === 'Success') settle();
            else settle(failure(target, command, status.message ?? '', said.text()));
          },
        )
        .then((opened) => {
          socket = opened;
          if (isSettled) return opened.close();
          opened.onclose = () => settle(failure(target, command, 'the connection ended', said.text()));
          opened.onerror = (event: { readonly message: string }) =>
            settle(failure(target, command, event.message, said.text()));
        })
        .catch((error: unknown) => settle(refused(target, error)));
    });
}

function failure(
  { pod, container }: ExecTarget,
  command: readonly string[],
  message: string,
  said: string,
): PodwrightError {
  const words = said.trim() === '' ? message : `${message}: ${said.trim()}`;
  return new PodwrightError(
    'ERR_PODWRIGHT_API',
    `${command[0]} failed in container "${container}" of pod ${pod}: ${words}`,
  );
}

/** The WebSocket library rejects with its event, whose message has the HTTP status in it. */
function refused({ namespace, pod }: ExecTarget, error: unknown): PodwrightError {
  const message = String((error as { readonly message?: unknown } | null)?.message ?? error);
  return new PodwrightError('ERR_PODWRIGHT_API', `no command can be run in pod ${namespace}/${pod}: ${message}`, {
    cause: error,
    remedy: 'It needs the right to create pods/exec in the namespace.',
  });
}

/** Keeps the end of what is written. */
class Tail {
  readonly stream = new PassThrough();
  #kept = '';

  constructor(limit: number) {
    this.stream.on('data', (chunk: Buffer) => {
      this.#kept = `${this.#kept}${chunk.toString('utf8')}`.slice(-limit);
    });
  }

  text(): string {
    return this.#kept;
  }
}

/** What hooks and probes do in a container, or ask of it over the network. */
import type { ExecResult, NetworkRequest } from '../backend/backend.ts';
import { texts } from '../texts.ts';
import type { Container, Handler } from '../types.ts';
import type { ContainerRuntime, InstanceView } from './runtime.ts';

export interface HandlerRun {
  readonly container: Container;
  readonly instance: InstanceView;
  readonly handler: Handler;
}

/** Resolves when it is over, at the latest when the signal aborts or the container ends. */
export function runHandler(runtime: ContainerRuntime, run: HandlerRun, signal: AbortSignal): Promise<ExecResult> {
  const request = networkRequest(run);
  if (request !== undefined) return runtime.connect(run.instance, request, signal);
  return runtime.exec(run.instance, run.handler.exec?.command ?? [], signal);
}

/** What is said of one that took too long. */
export function timeoutText(run: HandlerRun): string {
  const request = networkRequest(run);
  return request === undefined
    ? texts.commandTimedOut(run.handler.exec?.command ?? [])
    : texts.networkTimedOut(request);
}

function networkRequest({ container, handler: { httpGet, tcpSocket } }: HandlerRun): NetworkRequest | undefined {
  const action = httpGet ?? tcpSocket;
  if (action === undefined) return undefined;
  const port = portNumber(container, action.port);
  const { host } = action;
  if (httpGet === undefined) return { kind: 'tcpSocket', port, ...(host && { host }) };
  const { path = '/', scheme = 'HTTP', httpHeaders = [] } = httpGet;
  const headers = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]));
  return { kind: 'httpGet', port, path, scheme, headers, ...(host && { host }) };
}

/** A port may be given by its name; one that nobody has is 0, where nobody listens. */
function portNumber({ ports = [] }: Container, port: number | string): number {
  const named = ports.find(({ name }) => name === port)?.containerPort;
  return named ?? (Number(port) || 0);
}

/** Requests of probes over the network of this machine, which is that of its containers. */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { networkTarget, texts } from '../texts.ts';
import type { ExecResult, NetworkRequest } from './backend.ts';

const success: ExecResult = { exitCode: 0, output: '' };
const failed = (output: string): ExecResult => ({ exitCode: 1, output });

/** Never rejects. */
export function connectTo(request: NetworkRequest, signal: AbortSignal): Promise<ExecResult> {
  return request.kind === 'tcpSocket' ? connectSocket(request, signal) : getHttp(request, signal);
}

function connectSocket(request: NetworkRequest, signal: AbortSignal): Promise<ExecResult> {
  const { host = '127.0.0.1', port } = request;
  return new Promise((resolve) => {
    const socket = connect({ host, port, signal });
    socket.once('error', () => resolve(failed(texts.networkRefused(request))));
    socket.once('connect', () => {
      socket.destroy();
      resolve(success);
    });
  });
}

/** Any answer from 200 to 399 will do; certificates are not looked at. */
function getHttp(request: NetworkRequest, signal: AbortSignal): Promise<ExecResult> {
  const open = request.scheme === 'HTTPS' ? httpsRequest : httpRequest;
  const options = { headers: request.headers, signal, rejectUnauthorized: false, agent: false } as const;
  return new Promise((resolve) => {
    const sent = open(networkTarget(request), options, (response) => {
      const { statusCode = 0 } = response;
      response.destroy();
      resolve(statusCode >= 200 && statusCode < 400 ? success : failed(texts.httpProbeFailed(statusCode)));
    });
    sent.once('error', () => resolve(failed(texts.networkRefused(request))));
    sent.end();
  });
}

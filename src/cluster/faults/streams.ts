/** Streams that go wrong: watches and logs that end, hang, break in the middle or say what they should not. */
import { ConnectionLost } from '../transport.ts';
import type { LogFault, WatchFault } from './rules.ts';

type Piece = string | Uint8Array;
type Stream = AsyncIterableIterator<Piece>;

export interface Disturbance {
  /** Pieces that come as they are. */
  readonly after: number;
  readonly struck: () => void;
}

export function disturbedWatch(
  body: AsyncIterable<Piece>,
  kind: WatchFault['kind'],
  { revision, ...disturbance }: Disturbance & { readonly revision: number },
): Stream {
  return disturbed(body, disturbance, (next) => watchPieces(kind, revision, next));
}

export function disturbedLog(body: AsyncIterable<Piece>, kind: LogFault['kind'], disturbance: Disturbance): Stream {
  return disturbed(body, disturbance, (next) =>
    kind === 'logHang' ? 'hang' : { pieces: [half(next)], next: 'reset' },
  );
}

/** What comes in the place of a piece, and what then; `go on` also gives the piece itself. */
type Substitute = 'hang' | { readonly pieces: readonly Piece[]; readonly next: 'end' | 'reset' | 'go on' };

function watchPieces(kind: WatchFault['kind'], revision: number, next: Piece): Substitute {
  const error = (code: number, reason: string, message: string): string =>
    `${JSON.stringify({
      type: 'ERROR',
      object: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code },
    })}\n`;
  switch (kind) {
    case 'watchEnd':
      return { pieces: [], next: 'end' };
    case 'watchHang':
      return 'hang';
    case 'watchCut':
      return { pieces: [half(next)], next: 'reset' };
    case 'watchExpired':
      return { pieces: [error(410, 'Expired', `too old resource version: 1 (${revision})`)], next: 'end' };
    case 'watchInternalError':
      return {
        pieces: [error(500, 'InternalError', 'Internal error occurred: etcd event received with no previous value')],
        next: 'end',
      };
    case 'watchMalformed':
      return { pieces: ['{"type":"MODIFIED","object":{"kind":\n'], next: 'go on' };
    case 'watchWrongKind':
      return { pieces: [`${JSON.stringify({ type: 'MODIFIED', object: alien(revision) })}\n`], next: 'go on' };
  }
}

function alien(revision: number): object {
  return { kind: 'Node', apiVersion: 'v1', metadata: { name: 'alien', resourceVersion: String(revision) } };
}

function half(piece: Piece): Piece {
  return piece.slice(0, Math.ceil(piece.length / 2));
}

function disturbed(
  body: AsyncIterable<Piece>,
  { after, struck }: Disturbance,
  disturb: (next: Piece) => Substitute,
): Stream {
  const pieces = body[Symbol.asyncIterator]();
  const extra: Piece[] = [];
  let left = after;
  let state: 'before' | 'passed' | 'hang' | 'end' | 'reset' = 'before';
  let wake: () => void = () => undefined;
  const gone = new Promise<IteratorReturnResult<undefined>>((resolve) => {
    wake = () => resolve({ value: undefined, done: true });
  });
  const end = async (): Promise<IteratorReturnResult<undefined>> => {
    wake();
    await pieces.return?.();
    return { value: undefined, done: true };
  };
  const next = async (): Promise<IteratorResult<Piece>> => {
    const ready = extra.shift();
    if (ready !== undefined) return { value: ready, done: false };
    if (state === 'hang') return gone;
    if (state === 'end') return end();
    if (state === 'reset') {
      await end();
      throw new ConnectionLost('read ECONNRESET');
    }
    const piece = await pieces.next();
    if (piece.done === true || state === 'passed') return piece;
    left -= 1;
    if (left >= 0) return piece;
    struck();
    const substitute = disturb(piece.value);
    if (substitute === 'hang') state = 'hang';
    else {
      extra.push(...substitute.pieces, ...(substitute.next === 'go on' ? [piece.value] : []));
      state = substitute.next === 'go on' ? 'passed' : substitute.next;
    }
    return next();
  };
  return {
    next,
    return: end,
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

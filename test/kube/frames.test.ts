/** However the bytes are cut, the same frames come out; what cannot be read is told, never skipped. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameDecoder, longestLine, type WatchFrame } from '../../src/kube/frames.ts';
import type { KubeObject } from '../../src/kube/resource.ts';

const object = (name: string, resourceVersion = '1'): KubeObject => ({
  metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion },
});

function decode(...chunks: readonly (string | Uint8Array)[]): WatchFrame<KubeObject>[] {
  const decoder = new FrameDecoder<KubeObject>();
  return chunks.flatMap((chunk) => decoder.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk));
}

test('frames do not depend on where the bytes are cut', () => {
  const name = fc.string({ unit: 'grapheme' });
  const cuts = fc.array(fc.nat(4_000));
  fc.assert(
    fc.property(fc.array(name, { maxLength: 8 }), cuts, (names, at) => {
      const frames = names.map((each) => ({ type: 'ADDED', object: object(each) }));
      const bytes = Buffer.from(frames.map((frame) => `${JSON.stringify(frame)}\n`).join(''));
      const edges = [0, ...at.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
      const chunks = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
      expect(decode(...chunks)).toEqual(frames);
    }),
  );
});

test('a bookmark carries its version, an error its Status', () => {
  const status = { kind: 'Status', code: 410, message: 'too old resource version: 1 (2)' };
  const bookmark = {
    type: 'BOOKMARK',
    object: { kind: 'Pod', metadata: { resourceVersion: '9' }, spec: { containers: null } },
  };
  expect(decode(`${JSON.stringify(bookmark)}\n${JSON.stringify({ type: 'ERROR', object: status })}\n`)).toEqual([
    { type: 'BOOKMARK', resourceVersion: '9' },
    { type: 'ERROR', status },
  ]);
});

test('a line without its end is no frame', () => {
  expect(decode(JSON.stringify({ type: 'ADDED', object: object('a') }))).toEqual([]);
});

test('empty lines are nothing', () => {
  expect(decode('\n\n')).toEqual([]);
});

test.each([
  ['not JSON', '{"type":"ADDED"\n'],
  ['not JSON', '<html>\n'],
  ['no watch event', '[]\n'],
  ['no watch event', '{"type":"ADDED","object":null}\n'],
  ['an object without its identity', '{"type":"ADDED","object":{"kind":"Status"}}\n'],
  ['an object without its identity', '{"type":"MODIFIED","object":{"metadata":{"name":"a","uid":"u"}}}\n'],
  ['a bookmark without a resourceVersion', '{"type":"BOOKMARK","object":{"metadata":{}}}\n'],
  ['an error without a Status', '{"type":"ERROR","object":{"message":"no"}}\n'],
  ['an unknown type of event', '{"type":"CHANGED","object":{}}\n'],
])('%s: %s', (reason, line) => {
  const [frame, ...more] = decode(line);
  expect(more).toEqual([]);
  expect(frame).toMatchObject({ type: 'malformed' });
  expect(frame).toHaveProperty('reason', expect.stringMatching(`^${reason}: `));
});

test('a line that never ends is given up at the limit', () => {
  const decoder = new FrameDecoder<KubeObject>();
  const piece = Buffer.alloc(1024 * 1024, 'x');
  const frames: WatchFrame<KubeObject>[] = [];
  for (let length = 0; length <= longestLine && frames.length === 0; length += piece.length) {
    frames.push(...decoder.push(piece));
  }
  expect(frames).toEqual([{ type: 'malformed', reason: `a line is longer than ${longestLine} bytes` }]);
});

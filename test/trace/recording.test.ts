import { describe, expect, test } from 'vitest';
import { playOf } from '../../src/trace/play.ts';
import { parseRecording } from '../../src/trace/recording.ts';
import { replay } from '../../src/trace/replay.ts';

function text(...lines: readonly object[]): string {
  return lines.map((line) => JSON.stringify(line)).join('\n');
}

const meta = { t: 0, kind: 'meta', data: { placeholders: [{ image: 'pause:1', sigtermCode: 7 }, 'other:1'] } };

function frame(
  t: number,
  resourceVersion: number,
  image: string,
  status: object,
  more: object = {},
  type = 'MODIFIED',
): object {
  const metadata = { name: 'p', namespace: 'n', uid: 'u', resourceVersion: String(resourceVersion), ...more };
  return {
    t,
    kind: 'watch',
    data: {
      resource: 'pods',
      type,
      object: { metadata, spec: { restartPolicy: 'Never', containers: [{ name: 'a', image }] }, status },
    },
  };
}

const ran = (image: string, id: string, state: object, restartCount = 0): object => ({
  phase: 'Running',
  containerStatuses: [{ name: 'a', image, imageID: image, containerID: id, restartCount, state }],
});

describe('reading a recording', () => {
  test.each([
    ['half a line', '{"t":1,"ki', /rec:1: this is not JSON/],
    ['a line without its time', '{"kind":"note"}', /rec:1: a line needs "t" \(seconds\) and "kind"/],
    [
      'an object without identity',
      text(frame(0, 1, 'i', {}, { uid: 7 })),
      /rec:1: an object without name, uid or resourceVersion/,
    ],
    ['an unknown type of frame', text(frame(0, 1, 'i', {}, {}, 'MOVED')), /rec:1: a frame of type "MOVED"/],
    ['a list without items', '{"t":0,"kind":"list","data":{"resource":"pods"}}', /rec:1: a list without "items"/],
    [
      'placeholders that are no list',
      '{"t":0,"kind":"meta","data":{"placeholders":"pause"}}',
      /rec:1: "placeholders" is no list/,
    ],
    [
      'a placeholder without its image',
      '{"t":0,"kind":"meta","data":{"placeholders":[{}]}}',
      /rec:1: a placeholder without its image/,
    ],
    [
      'a code that is no number',
      '{"t":0,"kind":"meta","data":{"placeholders":[{"image":"i","sigtermCode":"x"}]}}',
      /rec:1: "sigtermCode" is no number/,
    ],
    ['nothing at all', '\n', /rec:2: it holds no line/],
  ])('refuses %s with its place and a remedy', (_what, recording, message) => {
    const error = (() => {
      try {
        return parseRecording(recording, 'rec');
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(error).toMatchObject({
      code: 'ERR_PODWRIGHT_RECORDING_INVALID',
      message: expect.stringMatching(message),
      remedy: expect.any(String),
    });
  });

  test('keeps going over what it does not know', () => {
    const { lines } = parseRecording(
      text(
        meta,
        { t: 1, kind: 'weather', data: { rain: true } },
        { t: 2, kind: 'list', data: { resource: 'nodes', items: 7 } },
      ),
      'rec',
    );
    expect(lines.map(({ kind }) => kind)).toEqual(['other', 'other']);
  });
});

describe('a recording without any request', () => {
  test('tells by the image when a step was asked for, and by its meta line what a placeholder is', () => {
    const lines = [
      meta,
      frame(1, 1, 'pause:1', ran('pause:1', 'P', { running: {} }), {}, 'ADDED'),
      frame(2, 2, 'step:1', ran('pause:1', 'P', { running: {} })),
      frame(3, 3, 'step:1', ran('pause:1', 'P', { terminated: { exitCode: 7, containerID: 'P' } })),
      { t: 9, kind: 'note', data: {} },
    ];
    const { pods } = replay(playOf(parseRecording(text(...lines), 'rec')));
    expect(pods).toMatchObject([
      { name: 'p', containers: [{ outcome: 'pullFailed', class: 'unknown', decidedAt: 6 }] },
    ]);
  });

  test('takes a deletion for nobody’s of its own', () => {
    const lines = [
      meta,
      frame(1, 1, 'step:1', {}, {}, 'ADDED'),
      frame(2, 2, 'step:1', ran('step:1', 'C', { running: {} })),
      frame(
        3,
        3,
        'step:1',
        ran('step:1', 'C', { running: {} }),
        { deletionTimestamp: '2026-11-30T20:00:00Z' },
        'DELETED',
      ),
    ];
    const { pods } = replay(playOf(parseRecording(text(...lines), 'rec')));
    expect(pods).toMatchObject([{ containers: [{ outcome: 'terminated', exitCode: null, cause: 'podDeleted' }] }]);
  });

  test('does not take a placeholder for a step because it was seen late', () => {
    const late = [
      meta,
      frame(
        1,
        5,
        'step:1',
        ran('pause:1', 'P', { terminated: { exitCode: 0, containerID: 'P', reason: 'Completed' } }),
      ),
    ];
    const { pods } = replay(playOf(parseRecording(text(...late, { t: 9, kind: 'note', data: {} }), 'rec')));
    expect(pods).toMatchObject([{ containers: [{ outcome: 'terminated', exitCode: null, cause: 'placeholderLost' }] }]);
  });

  test('takes up a pod whose step was switched in before', () => {
    const late = [
      meta,
      frame(1, 5, 'step:1', ran('step:1', 'C', { running: {} }, 1)),
      frame(2, 6, 'step:1', ran('step:1', 'C', { terminated: { exitCode: 0, containerID: 'C' } }, 1)),
    ];
    const { pods } = replay(playOf(parseRecording(text(...late), 'rec')));
    expect(pods).toMatchObject([{ containers: [{ outcome: 'terminated', exitCode: 0, cause: 'completed' }] }]);
  });
});

const act = (t: number, method: string, sent: unknown, status: number | null): object => ({
  t,
  kind: 'action',
  data: { what: '', method, path: `/api/v1/namespaces/n/pods${method === 'POST' ? '' : '/p'}`, body: sent, status },
});

describe('a request whose answer was lost', () => {
  const body = { metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: 'pause:1' }] } };
  const waits = frame(1, 1, 'pause:1', ran('pause:1', 'P', { running: {} }), {}, 'ADDED');
  const asks = act(2, 'PATCH', { spec: { containers: [{ name: 'a', image: 'step:1' }] } }, null);
  const outcome = (...lines: readonly object[]): unknown =>
    replay(playOf(parseRecording(text(meta, act(1, 'POST', body, 201), waits, asks, ...lines), 'rec'))).pods[0]
      ?.containers[0]?.outcome;
  const runs = frame(3, 2, 'step:1', ran('step:1', 'C', { running: {} }, 1));
  const deleted = { deletionTimestamp: '2026-11-30T20:00:00Z' };

  test('was done where a frame shows it', () => {
    expect(outcome(runs)).toBe('running');
    const ends = frame(5, 3, 'step:1', ran('step:1', 'C', { running: {} }, 1), deleted);
    expect(outcome(runs, act(4, 'DELETE', {}, null), ends)).toBe('canceled');
  });

  test('was not where none does', () => {
    expect(outcome(frame(3, 2, 'pause:1', ran('pause:1', 'P', { running: {} })))).toBe('idle');
    expect(outcome(runs, act(4, 'DELETE', {}, null))).toBe('running');
  });
});

test('a JSON patch asks for a step as a strategic one does, and only what was answered well', () => {
  const body = { metadata: { name: 'p' }, spec: { containers: [{ name: 'a', image: 'pause:1' }] } };
  const patch = (image: string): object => ({ op: 'replace', path: '/spec/containers/0/image', value: image });
  const lines = [
    meta,
    act(1, 'POST', body, 201),
    frame(1, 1, 'pause:1', ran('pause:1', 'P', { running: {} }), {}, 'ADDED'),
    act(2, 'PATCH', [patch('refused:1')], 422),
    act(2, 'PATCH', [patch('pause:1')], 200),
  ];
  const asked = [...lines, act(3, 'PATCH', [patch('step:1')], 200)];
  expect(replay(playOf(parseRecording(text(...lines), 'rec'))).pods).toMatchObject([
    { containers: [{ outcome: 'idle' }] },
  ]);
  expect(replay(playOf(parseRecording(text(...asked), 'rec'))).pods).toMatchObject([
    { containers: [{ outcome: 'pending' }] },
  ]);
});

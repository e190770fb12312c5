/** Logs from a real kubelet: whole, in order, once, from the first byte to the last. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { connect, type KubeClient } from '../../src/kube/client.ts';
import { Informer } from '../../src/kube/informer.ts';
import { followLog, type LogLine, type LogSource } from '../../src/logs/follow.ts';
import type { ContainerStatus, Pod } from '../../src/pod/types.ts';
import { images, type Lab, openLab } from './lab.ts';
import { startProxy } from './proxy.ts';

let lab: Lab;
let pods: Informer<Pod>;
beforeAll(async () => {
  lab = await openLab('logs');
  pods = new Informer<Pod>({
    client: lab.client,
    path: { resource: 'pods', namespace: lab.namespace },
    trim: (pod) => pod,
    bookmarks: true,
    clock: systemClock,
  });
  pods.start();
  await pods.synced();
});
afterAll(async () => {
  await pods.stop();
  await lab.end();
});

function podBody(name: string, image: string, script: string): object {
  return {
    metadata: { name },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'step', image, args: ['sh', '-c', script] }],
    },
  };
}

const path = (name?: string) => ({
  resource: 'pods',
  namespace: lab.namespace,
  ...(name === undefined ? {} : { name }),
});

/** Waits on the statuses of the step's container. */
function when<T>(name: string, pick: (status: ContainerStatus | undefined) => T | undefined): Promise<T> {
  return new Promise((resolve) => {
    const remove = pods.addHandler(({ object }) => {
      if (object.metadata.name !== name) return;
      const picked = pick(object.status?.containerStatuses?.find((status) => status.name === 'step'));
      if (picked === undefined) return;
      resolve(picked);
      queueMicrotask(() => remove());
    });
  });
}

/** The instance that runs `image`. */
function sourceOf(name: string, image: string): LogSource {
  return {
    started: () =>
      when(name, (status) => {
        const isOurs =
          status?.image === image && status.containerID !== undefined && status.state?.waiting === undefined;
        return isOurs ? { containerID: status.containerID } : undefined;
      }),
    ended: () =>
      when(name, (status) =>
        status?.image === image && status.state?.terminated !== undefined ? 'terminated' : undefined,
      ),
    which: () => 'current',
  };
}

function follow(
  name: string,
  image: string,
  client: KubeClient,
  source = sourceOf(name, image),
): AsyncIterable<LogLine> {
  return followLog({ client, namespace: lab.namespace, pod: name, container: 'step', source, clock: systemClock });
}

async function read(lines: AsyncIterable<LogLine>): Promise<LogLine[]> {
  const got: LogLine[] = [];
  for await (const line of lines) got.push(line);
  return got;
}

const texts = (lines: readonly LogLine[]): string[] =>
  lines.map(({ text, gap }) => (gap === undefined ? text : `<gap ${gap.reason}>`));
const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index + 1));

test('a log that is opened long before the container runs is waited for', async () => {
  const early = { ...sourceOf('early', images.base), started: async () => ({ containerID: 'not known yet' }) };
  const lines = read(follow('early', images.base, lab.client, early));
  await lab.client.create(path(), podBody('early', images.base, 'seq 50; sleep 1; seq 51 100'));
  expect(texts(await lines)).toEqual(numbers(100));
});

test('the log of a step that replaces its placeholder is the step and nothing else', async () => {
  const { image } = images.placeholder213;
  await lab.client.create(path(), podBody('switched', image, 'seq 300; sleep 1; seq 301 400; echo "the end" >&2'));
  await when('switched', (status) => (status?.state?.running === undefined ? undefined : true));
  const lines = read(follow('switched', images.base, lab.client));
  const patch = { spec: { containers: [{ name: 'step', image: images.base }] } };
  await lab.client.patch(path('switched'), patch, { type: 'strategic' });
  const got = texts(await lines);
  expect(got.filter((text) => text !== 'the end')).toEqual(numbers(400));
  // The other stream: containerd reads the two by themselves, so that its place among the lines is free.
  expect(got).toHaveLength(401);
});

test('a container that ends at once loses nothing, with and without a last line break', async () => {
  await lab.client.create(path(), podBody('fast', images.base, 'seq 3; printf "no line break"'));
  expect(texts(await read(follow('fast', images.base, lab.client)))).toEqual([...numbers(3), 'no line break']);
});

test('long lines, empty lines and characters of many bytes come whole', async () => {
  const script =
    'echo; head -c 100000 /dev/zero | tr "\\0" x; echo; printf "h\\303\\244\\360\\237\\231\\202\\r\\n"; echo "  end  "';
  const busybox = script.replace('tr', 'busybox tr');
  await lab.client.create(path(), podBody('odd', images.base, busybox));
  const got = texts(await read(follow('odd', images.base, lab.client)));
  expect(got).toEqual([
    '',
    'x'.repeat(100_000),
    // containerd takes a carriage return before the line feed for a part of the line break.
    'hä🙂',
    '  end  ',
  ]);
});

test('two streams of a container that overtake each other lose and repeat nothing, cut or not', async () => {
  const script =
    '(for i in $(seq 1500); do echo out $i; done) & (for i in $(seq 1500); do echo err $i >&2; done) & wait';
  await cutting(async (client) => {
    await lab.client.create(path(), podBody('streams', images.base, script));
    const got = texts(await read(follow('streams', images.base, client)));
    expect(got.filter((text) => text.startsWith('out'))).toEqual(numbers(1500).map((number) => `out ${number}`));
    expect(got.filter((text) => text.startsWith('err'))).toEqual(numbers(1500).map((number) => `err ${number}`));
    expect(got).toHaveLength(3000);
  }, 100);
});

test('200,000 lines come all, once and in order, while the connection is cut every two seconds', async () => {
  await cutting(async (client, cuts) => {
    const script = 'for part in $(seq 0 19); do seq $((part * 10000 + 1)) $((part * 10000 + 10000)); sleep 0.3; done';
    await lab.client.create(path(), podBody('many', images.base, script));
    const got = texts(await read(follow('many', images.base, client)));
    expect(got).toHaveLength(200_000);
    expect(got.findIndex((text, index) => text !== String(index + 1))).toBe(-1);
    expect(cuts()).toBeGreaterThan(1);
  }, 2_000);
});

test('a reader that comes back with a position after the end is given the rest', async () => {
  await lab.client.create(path(), podBody('resumed', images.base, 'seq 1000'));
  const lines = await read(follow('resumed', images.base, lab.client));
  expect(texts(lines)).toEqual(numbers(1000));
  const rest = followLog({
    client: lab.client,
    namespace: lab.namespace,
    pod: 'resumed',
    container: 'step',
    source: sourceOf('resumed', images.base),
    clock: systemClock,
    from: lines[499]?.position ?? '',
  });
  expect(texts(await read(rest))).toEqual(numbers(1000).slice(500));
});

test('a reader that does not keep up with the rotation is told where lines are missing, and nowhere else', async () => {
  // Each burst is more than the 10 Mi that a file may have; the kubelet looks every 10 s.
  const burst = 250_000;
  const script = `for part in $(seq 0 4); do seq $((part * ${burst} + 1)) $((part * ${burst} + ${burst})); sleep 11; done; echo ${5 * burst + 1}`;
  await lab.client.create(path(), podBody('rotated', images.base, script));
  let expected = 1;
  let isGap = false;
  let gaps = 0;
  for await (const { text, gap } of follow('rotated', images.base, lab.client)) {
    if (gap !== undefined) {
      expect(gap.reason).toBe('rotated');
      isGap = true;
      gaps++;
      continue;
    }
    const number = Number(text);
    if (isGap) expect(number).toBeGreaterThanOrEqual(expected);
    else if (number !== expected) expect(number).toBe(expected);
    isGap = false;
    expected = number + 1;
    if (number === 1_000) await new Promise((resolve) => setTimeout(resolve, 50_000));
  }
  expect(expected).toBe(5 * burst + 2);
  expect(gaps).toBeGreaterThan(0);
});

async function cutting(act: (client: KubeClient, cuts: () => number) => Promise<void>, everyMs: number): Promise<void> {
  const proxy = await startProxy();
  onTestFinished(() => proxy.close());
  const client = await connect({ kubeConfig: proxy.kubeConfig });
  onTestFinished(() => client.close());
  // Each time a little later, so that on the slowest machine a connection comes to something.
  let timer: NodeJS.Timeout | undefined;
  const cutAfter = (ms: number): void => {
    timer = setTimeout(() => {
      proxy.cut();
      cutAfter(ms + 20);
    }, ms);
  };
  cutAfter(everyMs);
  try {
    await act(client, () => proxy.cuts);
  } finally {
    clearTimeout(timer);
  }
}

// A debug port is forwarded for exactly as long as its container runs, and said in words.
import { expect, test } from 'vitest';
import { noticeDebugging } from '../../src/cli/debug-forwards.ts';
import type { OpenForward } from '../../src/cli/port-forward.ts';
import { aHub, aTarget } from '../events/helpers.ts';

const pod = { namespace: 'builds', name: 'pw-one', uid: 'uid-one' };
const started = { type: 'debug.started', build: 'one', target: aTarget(pod, 'compile') } as const;
const ended = { cause: 'exited', exitCode: 0, reason: 'Completed', finishedAt: null } as const;

test('a start opens a forward and says where to attach; the end closes it', async () => {
  const { hub } = aHub();
  const said: string[] = [];
  const open = new Set<number>();
  const end = noticeDebugging({ hub, say: (line) => said.push(line), forward: aForwarder(open) });
  hub.publish(started);
  await expect.poll(() => hub.state.forwards.length).toBe(1);
  expect(hub.state.forwards).toMatchObject([{ localPort: 45_005, remotePort: 5005, portName: 'jdwp', open: true }]);
  expect(said).toEqual([
    'debug: a jvm debugger can attach to pod/pw-one:compile (builds): jdwp 5005 (compiler)',
    'debug: attach to 127.0.0.1:45005 (jdwp, port 5005 of pod/pw-one:compile (builds))',
  ]);
  hub.publish({ ...started, type: 'debug.terminated', ...ended });
  await expect.poll(() => hub.state.forwards.length).toBe(0);
  expect(open.size).toBe(0);
  const seqs = hub.events.read(0, 100);
  // The event that a forward has ended has a number of its own.
  expect(seqs.kind === 'entries' && seqs.entries.map(({ value }) => value.event.seq)).toEqual([1, 2, 3, 4, 5]);
  await end();
});

test('what is still forwarded at the end is closed, and nothing is said afterwards', async () => {
  const { hub } = aHub();
  const said: string[] = [];
  const open = new Set<number>();
  const end = noticeDebugging({ hub, say: (line) => said.push(line), forward: aForwarder(open) });
  hub.publish(started);
  await expect.poll(() => open.size).toBe(1);
  await end();
  expect(open.size).toBe(0);
  const before = said.length;
  hub.publish({ ...started, type: 'debug.terminated', ...ended });
  expect(said.length).toBe(before);
});

test('a port that cannot be forwarded is told, and is no event', async () => {
  const { hub } = aHub();
  const said: string[] = [];
  const forward: OpenForward = () => Promise.reject(new Error('no right to pods/portforward'));
  const end = noticeDebugging({ hub, say: (line) => said.push(line), forward });
  hub.publish(started);
  await expect
    .poll(() => said.at(-1))
    .toBe('debug: pod/pw-one:compile (builds): port 5005: no right to pods/portforward');
  expect(hub.state.forwards).toEqual([]);
  await end();
});

test('a container without a port, an end without an exit code, and a wrong annotation are said too', () => {
  const { hub } = aHub();
  const said: string[] = [];
  noticeDebugging({ hub, say: (line) => said.push(line) });
  const target = { ...started.target, runtime: 'netcore', debugPorts: {} };
  hub.publish({ ...started, target });
  hub.publish({ type: 'debug.terminated', build: 'one', target, ...ended, cause: 'deleted', exitCode: null });
  const where = { build: null, namespace: 'builds', pod: 'p', podUid: 'u', container: null };
  hub.publish({ type: 'debug.refused', ...where, message: 'is not JSON' });
  expect(said).toEqual([
    'debug: a netcore debugger can attach to pod/pw-one:compile (builds): it has no port: start the debugger in it by kubectl exec (compiler)',
    'debug: pod/pw-one:compile (builds) ended',
    'debug: builds/p: is not JSON',
  ]);
});

function aForwarder(open: Set<number>): OpenForward {
  return ({ port }) => {
    open.add(port);
    return Promise.resolve({
      localPort: 40_000 + port,
      close: () => {
        open.delete(port);
        return Promise.resolve();
      },
    });
  };
}

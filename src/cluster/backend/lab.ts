/**
 * The images and the misbehaving registry of the lab in which the recordings were made, as scripts: pull texts are
 * those that containerd gave.
 */
import type { ContainerdVersion } from '../kubelet/node.ts';
import type { ImageScript, LifeScript, MatchedLife } from './script.ts';

interface PullTexts {
  readonly notFound: string;
  readonly unauthorized: string;
  readonly refusedDown: string;
  readonly noHost: string;
  readonly status: (line: string) => string;
}

const head = 'failed to pull and unpack image "{image}": failed to resolve';

const pullTexts: Readonly<Record<ContainerdVersion, PullTexts>> = {
  '1.6': {
    notFound: `rpc error: code = NotFound desc = ${head} reference "{image}": {image}: not found`,
    unauthorized: `${head} reference "{image}": pulling from host 127.0.0.1:5000 failed with status code [manifests {tag}]: 401 Unauthorized`,
    refusedDown: `${head} reference "{image}": failed to do request: Head "http://{registry}/v2/{repository}/manifests/{tag}": dial tcp 127.0.0.1:5999: connect: connection refused`,
    noHost: `${head} reference "{image}": failed to do request: Head "https://{registry}/v2/{repository}/manifests/{tag}": dial tcp: lookup {registry} on 192.0.2.53:53: no such host`,
    status: (line) =>
      `${head} reference "{image}": pulling from host 127.0.0.1:5000 failed with status code [manifests {tag}]: ${line}`,
  },
  '2.2': {
    notFound: `rpc error: code = NotFound desc = ${head} image: {image}: not found`,
    unauthorized: `${head} image: pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials`,
    refusedDown: `${head} image: failed to do request: Head "https://{registry}/v2/{repository}/manifests/{tag}": dial tcp 127.0.0.1:5999: connect: connection refused`,
    noHost: `${head} image: failed to do request: Head "https://{registry}/v2/{repository}/manifests/{tag}": dial tcp: lookup {registry} on 192.0.2.53:53: no such host`,
    status: (line) =>
      `${head} image: unexpected status from HEAD request to http://127.0.0.1:5000/v2/{repository}/manifests/{tag}?ns=localhost%3A5000: ${line}`,
  },
};

const noSuchFile =
  'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "/nope": stat /nope: no such file or directory';

const quick = [5, 20] as const;
const shell = [40, 90] as const;
const nothing = [10, 25] as const;

/** What the lab's images do when their own command runs. */
const ownLives: Readonly<Record<string, LifeScript>> = {
  step: { runs: [1_005, 1_030], output: [{ at: 3, text: 'hello\n' }] },
  next: { runs: shell, output: [{ at: 2, text: 'next\n' }] },
  quiet: { runs: nothing },
  exit: { runs: shell, exitCode: 1, exitCodeFrom: 'CODE', output: [{ at: 1, text: 'leaving\n' }] },
  forever: { runs: 'forever', onTerm: { exitCode: 9, after: [10, 100] } },
  stubborn: { runs: 'forever' },
  hungry: { runs: [80, 200], exitCode: 137, reason: 'OOMKilled' },
  chatty: {
    runs: 2_100,
    output: [{ at: 2, text: 'line {n}\n', times: 400, every: 5 }],
  },
  base: { runs: shell },
};

export function labImages(containerd: ContainerdVersion = '1.6'): readonly ImageScript[] {
  const texts = pullTexts[containerd];
  const own = { ...ownLives, nosuch: noSuchCommand(containerd) };
  const registry = (repository: string, fails: string, takes: readonly [number, number] = quick): ImageScript => ({
    image: `localhost:5000/${repository}`,
    pulls: [{ takes, fails }],
  });
  return [
    ...Object.entries(own).map(([name, life]) => ({ image: `lab.local/${name}:1`, present: true, life })),
    { image: 'localhost:5000/slow/*', fresh: true, pulls: [{ takes: [20_090, 20_150] }], life: { runs: nothing } },
    {
      image: 'localhost:5000/flaky/*',
      fresh: true,
      // Three refusals are one failed pull: the runtime asks several times.
      pulls: [{ takes: quick, fails: texts.status('503 Service Unavailable') }, { takes: [110, 140] }],
      life: { runs: nothing },
    },
    registry('unauth/*', texts.unauthorized),
    registry('denied/*', texts.status('403 Forbidden')),
    registry('ratelimit/*', texts.status('429 Too Many Requests')),
    registry('broken/*', texts.status('500 Internal Server Error')),
    { image: 'localhost:5000/hang/*', pulls: [{ takes: 600_000, fails: texts.status('504 Gateway Timeout') }] },
    { image: 'localhost:5000/big/*', bytes: 31_104_792, pulls: [{ takes: [200, 310] }], life: { runs: nothing } },
    ...Object.entries(own).map(([name, life]) => ({
      image: `localhost:5000/${name}:1`,
      pulls: [{ takes: [90, 140] as const }],
      life,
    })),
    registry('*', texts.notFound),
    { image: 'localhost:5999/*', pulls: [{ takes: [1, 5], fails: texts.refusedDown }] },
    { image: 'registry.invalid/*', pulls: [{ takes: [5, 30], fails: texts.noHost }] },
    { image: '*', pulls: [{ takes: quick, fails: texts.notFound }] },
  ];
}

const trapped = (exitCode: number, output?: string): LifeScript => ({
  runs: 'forever',
  onTerm: { exitCode, after: [10, 100], ...(output !== undefined && { output }) },
});

const up = [{ at: 3, text: 'up\n' }];
const loop = 'while :; do sleep 0.1; done';

/** What the commands of the recorded scenarios do. */
const commandLives: Readonly<Record<string, LifeScript>> = {
  'echo hi; sleep 1': { runs: [1_005, 1_030], output: [{ at: 3, text: 'hi\n' }] },
  'sleep 1': { runs: [1_005, 1_030] },
  'sleep 2': { runs: [2_005, 2_030] },
  'sleep 100': { runs: 100_000 },
  'sleep 300': { runs: 300_000 },
  'sleep 1; exit 3': { runs: [1_005, 1_030], exitCode: 3 },
  'sleep 6; exit 5': { runs: [6_005, 6_030], exitCode: 5 },
  'sleep 8; exit 5': { runs: [8_005, 8_030], exitCode: 5 },
  'sleep 12; exit 4': { runs: [12_005, 12_030], exitCode: 4 },
  'exit 0': { runs: shell },
  'exit 1': { runs: shell, exitCode: 1 },
  'exit 2': { runs: shell, exitCode: 2 },
  'exit 6': { runs: shell, exitCode: 6 },
  'sh -c "kill -9 \\$\\$"; exit $?': { runs: [60, 200], exitCode: 137 },
  'echo why > /dev/termination-log; exit 4': { runs: shell, exitCode: 4, message: 'why\n' },
  [`trap "exit 0" TERM; ${loop}`]: trapped(0),
  [`trap "exit 9" TERM; ${loop}`]: trapped(9),
  [`trap "echo bye; exit 7" TERM; echo up; ${loop}`]: { ...trapped(7, 'bye\n'), output: up },
  [`trap "" TERM; ${loop}`]: { runs: 'forever' },
  [`trap "" TERM; echo up; ${loop}`]: { runs: 'forever', output: up },
  'trap "exit 0" TERM; sleep infinity & wait': { runs: 'forever', onTerm: { exitCode: 0 } },
  'x=$(yes | head -c 200000000); echo done': { runs: [80, 200], exitCode: 137, reason: 'OOMKilled' },
  'dd if=/dev/zero of=/v/x bs=1M count=20; sleep 300': { runs: 300_000, overfills: 'v' },
};

export function labLives(containerd: ContainerdVersion = '1.6'): readonly MatchedLife[] {
  const all = { ...commandLives, '/nope': noSuchCommand(containerd) };
  return Object.entries(all).map(([command, life]) => ({ ...life, match: { command } }));
}

function noSuchCommand(containerd: ContainerdVersion): LifeScript {
  return { startError: containerd === '1.6' ? `${noSuchFile}: unknown` : noSuchFile };
}

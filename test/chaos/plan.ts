/** What is to happen in one world, drawn from a seed: builds, the lives of their steps, faults, and what callers do. */
import type { Cause, PullFailureClass } from '../../machines/outcome.ts';
import type { FaultRule, LifeScript, ProfileName, PullScript } from '../../src/cluster/index.ts';
import { Random } from '../../src/cluster/random.ts';
import { drawFaults } from './faults.ts';

/** What becomes of a step that nothing disturbs. */
export type Expected =
  | { readonly outcome: 'terminated'; readonly exitCode: number; readonly cause: Cause }
  | { readonly outcome: 'pullFailed'; readonly class: PullFailureClass }
  | { readonly outcome: 'canceled'; readonly reason: 'timeout' };

export interface PlannedStep {
  readonly name: string;
  readonly image: string;
  readonly life: LifeScript;
  readonly pulls: readonly PullScript[];
  readonly expected: Expected;
}

/** What the caller, or somebody else, does so long after the build was begun. */
export interface Act {
  readonly kind: 'cancel' | 'abortStep' | 'remove' | 'deletePod';
  readonly afterMs: number;
}

export interface PlannedBuild {
  readonly id: string;
  readonly steps: readonly PlannedStep[];
  readonly atOnce: boolean;
  readonly secret: boolean;
  readonly startsAtMs: number;
  readonly act: Act | undefined;
}

export interface Plan {
  readonly seed: number;
  readonly profile: ProfileName;
  /** The code of the placeholder; 0 is one without restart rules. */
  readonly placeholderCode: 0 | 213;
  readonly builds: readonly PlannedBuild[];
  readonly faults: readonly FaultRule[];
  /** Whether some fault may end a container or a pod by itself. */
  readonly harms: boolean;
  /** When the worker dies and another takes its builds up. */
  readonly deathsMs: readonly number[];
}

const head = 'failed to pull and unpack image "{image}": failed to resolve reference "{image}":';
const refused: readonly (readonly [PullFailureClass, string])[] = [
  ['notFound', `rpc error: code = NotFound desc = ${head} {image}: not found`],
  ['unauthorized', `${head} pulling from host {registry} failed with status code [manifests {tag}]: 401 Unauthorized`],
  ['denied', `${head} pulling from host {registry} failed with status code [manifests {tag}]: 403 Forbidden`],
  [
    'rateLimited',
    `${head} pulling from host {registry} failed with status code [manifests {tag}]: 429 Too Many Requests`,
  ],
  [
    'registryError',
    `${head} pulling from host {registry} failed with status code [manifests {tag}]: 503 Service Unavailable`,
  ],
  [
    'registryUnavailable',
    `${head} failed to do request: Head "https://{registry}/v2/{repository}/manifests/{tag}": dial tcp 192.0.2.9:443: connect: connection refused`,
  ],
  [
    'hostUnknown',
    `${head} failed to do request: Head "https://{registry}/v2/{repository}/manifests/{tag}": dial tcp: lookup {registry} on 192.0.2.53:53: no such host`,
  ],
];
const flaky = `${head} pulling from host {registry} failed with status code [manifests {tag}]: 503 Service Unavailable`;

/** The limit of a step's run, below which all lives end that end by themselves. */
export const runLimitMs = 75_000;

export function drawPlan(seed: number): Plan {
  const random = new Random(seed);
  const profile = pick(random, ['1.31', '1.34', '1.35', '1.36', '1.37'] as const);
  const { faults, harms } = drawFaults(random);
  return {
    seed,
    profile,
    placeholderCode: random.chance(0.7) ? 213 : 0,
    builds: Array.from({ length: random.integer(2, 6) }, (_, index) => drawBuild(random, `b${index}`)),
    faults,
    harms,
    deathsMs: random.chance(0.3) ? Array.from({ length: random.integer(1, 3) }, () => random.integer(500, 60_000)) : [],
  };
}

function drawBuild(random: Random, id: string): PlannedBuild {
  return {
    id,
    steps: Array.from({ length: random.integer(1, 4) }, (_, index) => drawStep(random, id, `s${index}`)),
    atOnce: random.chance(0.3),
    secret: random.chance(0.3),
    startsAtMs: random.integer(0, 10_000),
    act: random.chance(0.35)
      ? {
          kind: pick(random, ['cancel', 'abortStep', 'remove', 'deletePod'] as const),
          afterMs: random.chance(0.5) ? random.integer(0, 3_000) : random.integer(0, 40_000),
        }
      : undefined,
  };
}

const lives: readonly (readonly [weight: number, draw: (random: Random) => Omit<PlannedStep, 'name' | 'image'>])[] = [
  [30, (random) => ends(random, 0)],
  [20, (random) => ends(random, pick(random, [1, 2, 3, 126, 127, 130, 137, 143, 255]))],
  [5, (random) => killed(random)],
  [6, () => unstartable()],
  [14, (random) => unpullable(random)],
  [
    6,
    (random) => ({
      ...ends(random, random.integer(0, 1)),
      pulls: [{ takes: [20, 300], fails: flaky }, { takes: [50, 900] }],
    }),
  ],
  [6, (random) => ({ ...ends(random, random.integer(0, 1)), pulls: [{ takes: [5_000, 60_000] }] })],
  [4, (random) => endless(random)],
];

function drawStep(random: Random, build: string, name: string): PlannedStep {
  const total = lives.reduce((sum, [weight]) => sum + weight, 0);
  let left = random.between(0, total);
  const drawn =
    lives.find(([weight]) => {
      left -= weight;
      return left < 0;
    }) ?? lives[0];
  if (drawn === undefined) throw new Error('there are lives');
  return { name, image: `registry.example.com/${build}/${name}:1`, ...drawn[1](random) };
}

function ends(random: Random, exitCode: number): Omit<PlannedStep, 'name' | 'image'> {
  const runs = random.chance(0.5) ? random.integer(0, 1_500) : random.integer(0, 60_000);
  return {
    life: { runs, exitCode, output: drawOutput(random, runs), ...drawTerm(random) },
    pulls: [{ takes: [20, 1_500] }],
    expected: { outcome: 'terminated', exitCode, cause: exitCode === 0 ? 'completed' : 'error' },
  };
}

function killed(random: Random): Omit<PlannedStep, 'name' | 'image'> {
  const step = ends(random, 137);
  return {
    ...step,
    life: { ...step.life, reason: 'OOMKilled' },
    expected: { outcome: 'terminated', exitCode: 137, cause: 'oomKilled' },
  };
}

function unstartable(): Omit<PlannedStep, 'name' | 'image'> {
  return {
    life: { startError: 'exec: "/nope": stat /nope: no such file or directory: unknown' },
    pulls: [{ takes: [20, 900] }],
    expected: { outcome: 'terminated', exitCode: 128, cause: 'startError' },
  };
}

function unpullable(random: Random): Omit<PlannedStep, 'name' | 'image'> {
  const [name, fails] = pick(random, refused);
  return { life: {}, pulls: [{ takes: [5, 900], fails }], expected: { outcome: 'pullFailed', class: name } };
}

function endless(random: Random): Omit<PlannedStep, 'name' | 'image'> {
  return {
    life: { runs: 'forever', output: drawOutput(random, 60_000, false), ...drawTerm(random) },
    pulls: [{ takes: [20, 900] }],
    expected: { outcome: 'canceled', reason: 'timeout' },
  };
}

function drawTerm(random: Random): Pick<LifeScript, 'onTerm'> {
  if (random.chance(0.5)) return {};
  return { onTerm: { exitCode: pick(random, [0, 0, 143, 9]), after: [0, 2_000], output: 'asked to end\n' } };
}

function drawOutput(random: Random, runs: number, ends = true): NonNullable<LifeScript['output']> {
  const times = random.chance(0.2) ? 0 : random.integer(1, 40);
  if (times === 0) return [];
  const every = Math.floor(runs / (times + 1));
  const at = random.integer(0, Math.max(0, runs - every * times));
  const last = ends && random.chance(0.3) ? [{ at: Math.max(0, runs - 1), text: 'without an end' }] : [];
  return [{ at, text: 'line {n}\n', times, every }, ...last];
}

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[random.integer(0, items.length - 1)] as T;
}

/** The recordings of real clusters in test/traces, and what became of each container in truth. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { parseRecording, type Recording } from '../../src/trace/recording.ts';
import type { ReplayResult, ReplayVerdict } from '../../src/trace/replay.ts';

export interface Trace {
  /** The folder: Kubernetes version and container runtime. */
  readonly set: string;
  readonly scenario: string;
  readonly expected: readonly ExpectedPod[];
  load(): Recording;
}

interface ExpectedPod {
  readonly name: string;
  readonly containers: Readonly<Record<string, Partial<ReplayVerdict>>>;
}

interface ExpectedScenario {
  readonly pods: readonly ExpectedPod[];
  readonly except?: Readonly<Record<string, readonly ExpectedPod[]>>;
}

const root = fileURLToPath(new URL('../traces', import.meta.url));

/** Every recording, in order of set and scenario. One without an expectation is an error: it would test nothing. */
export function allTraces(): readonly Trace[] {
  const expected = JSON.parse(readFileSync(`${root}/expected.json`, 'utf8')) as Record<string, ExpectedScenario>;
  const sets = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return sets.flatMap(({ name: set }) =>
    readdirSync(`${root}/${set}`).map((file) => {
      const scenario = file.replace(/\.jsonl(\.gz)?$/, '');
      const wanted = expected[scenario];
      if (wanted === undefined) throw new Error(`expected.json has no ${scenario}`);
      const version = set.split('-')[0] ?? '';
      return { set, scenario, expected: wanted.except?.[version] ?? wanted.pods, load: () => read(`${set}/${file}`) };
    }),
  );
}

const cache = new Map<string, Recording>();

function read(file: string): Recording {
  const known = cache.get(file);
  if (known !== undefined) return known;
  const bytes = readFileSync(`${root}/${file}`);
  const recording = parseRecording((file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8'), file);
  cache.set(file, recording);
  return recording;
}

export interface Row {
  readonly pod: string;
  readonly container: string;
  readonly expected: string;
  readonly got: string;
  readonly isRight: boolean;
}

/** One row per container: fields that are not expected may be anything. */
export function compare(expected: readonly ExpectedPod[], result: ReplayResult): readonly Row[] {
  const rows = expected.flatMap((pod, index) =>
    Object.entries(pod.containers).map(([container, wanted]): Row => {
      const replayed = result.pods[index];
      const got = replayed?.name === pod.name ? replayed.containers.find(({ name }) => name === container) : undefined;
      const isRight =
        got !== undefined && Object.entries(wanted).every(([key, value]) => Reflect.get(got, key) === value);
      return {
        pod: pod.name,
        container,
        expected: words(wanted),
        got: got === undefined ? 'missing' : words(got),
        isRight,
      };
    }),
  );
  const wanted = expected.reduce((count, pod) => count + Object.keys(pod.containers).length, 0);
  const seen = result.pods.reduce((count, pod) => count + pod.containers.length, 0);
  const extra = { pod: '*', container: '*', expected: `${wanted} containers`, got: `${seen} containers` };
  return wanted === seen && expected.length === result.pods.length ? rows : [...rows, { ...extra, isRight: false }];
}

function words(verdict: Partial<ReplayVerdict>): string {
  const { outcome, exitCode, cause, class: failureClass, permanent, decidedAt } = verdict;
  const details = [
    ...(exitCode === undefined ? [] : [String(exitCode)]),
    ...(cause === undefined ? [] : [cause]),
    ...(failureClass === undefined ? [] : [failureClass]),
    ...(permanent === undefined ? [] : [permanent ? 'permanent' : 'transient']),
    ...(decidedAt === undefined ? [] : [`@${decidedAt.toFixed(2)}s`]),
  ];
  return details.length === 0 ? String(outcome) : `${outcome} (${details.join(', ')})`;
}

/** `podwright replay FILE`: plays a recording of a cluster through the machines, and tells what they make of it. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Command } from 'commander';
import { sleep, systemClock } from '../../clock.ts';
import { PodwrightError } from '../../errors.ts';
import type { StateChange } from '../../runtime/actors.ts';
import type { Step } from '../../trace/play.ts';
import type { ReplayedPod, ReplayResult, ReplayVerdict } from '../../trace/replay.ts';
import { listenForInterrupt } from '../interrupt.ts';
import { explainOutcome } from '../output/words.ts';
import type { Terminal } from '../terminal.ts';

interface ReplayFlags {
  readonly json?: boolean;
  readonly speed?: string;
}

export function addReplayCommand(program: Command, terminal: Terminal): void {
  program
    .command('replay')
    .argument('<file>', 'recording, as podwright record or run --record wrote it; may be compressed with gzip')
    .description('Play a recording of a cluster, and show what became of each container and when that was known.')
    .option('--json', 'one JSON object with the verdicts, and nothing else')
    .option('--speed <times>', 'as it happened, so many times as fast (default: at once)')
    .addHelpText('after', replayHelp)
    .action((file: string, flags: ReplayFlags) => replayFile(file, flags, terminal));
}

const replayHelp = `
Outcomes: idle (never asked to run), pending, pulling and running (no verdict by the end of the recording),
terminated, pullFailed, canceled. Nothing is sent to any cluster.

Examples:
  podwright replay build.jsonl
  podwright replay build.jsonl --speed 10
  podwright replay build.jsonl --json
`;

async function replayFile(file: string, flags: ReplayFlags, terminal: Terminal): Promise<void> {
  const speed = flags.speed === undefined ? Number.POSITIVE_INFINITY : speedOf(flags.speed);
  const text = await readRecording(file, terminal);
  const { parseRecording } = await import('../../trace/recording.ts');
  const { playOf } = await import('../../trace/play.ts');
  const { Replay } = await import('../../trace/replay.ts');
  const play = playOf(parseRecording(text, file));
  const show =
    flags.json === true ? () => undefined : (at: number, line: string) => terminal.out(`${timeText(at)}  ${line}\n`);
  // A change that only time brought has its own moment, between the steps.
  const replay = new Replay({ onChange: (pod, change) => show(change.at, changeText(pod, change, terminal)) });
  const interrupt = listenForInterrupt({ onFirst: () => undefined, onSecond: () => undefined });
  // Whoever reads only the first lines, as head does, has seen enough; nothing is left behind.
  process.stdout.once('error', () => process.exit(0));
  try {
    let now = play.steps[0]?.at ?? 0;
    for (const step of play.steps) {
      const waitMs = (step.at - now) / speed;
      if (waitMs >= 1) await sleep(systemClock, waitMs, interrupt.signal);
      now = step.at;
      replay.passTimeTo(step.at);
      const line = stepText(step, replay.pods);
      if (line !== null) show(step.at, terminal.style('dim', line));
      replay.take(step);
    }
  } finally {
    interrupt.stop();
  }
  const result = replay.end(play.endsAt);
  terminal.out(flags.json === true ? `${JSON.stringify(result)}\n` : verdictsText(result, terminal));
}

function speedOf(text: string): number {
  const speed = Number(text);
  if (Number.isFinite(speed) && speed > 0) return speed;
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${text}" is no speed`, {
    remedy: 'Write --speed 1 for the speed of life, --speed 10 for ten times that.',
  });
}

async function readRecording(file: string, terminal: Terminal): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readFile(resolve(terminal.cwd, file));
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new PodwrightError(
      'ERR_PODWRIGHT_USAGE',
      `cannot read ${file}: ${isMissing ? 'there is no such file' : String(error)}`,
      {
        cause: error,
        remedy: 'Name a recording; podwright record and podwright run --record make them.',
        details: { file },
      },
    );
  }
  const isCompressed = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isCompressed) return bytes.toString('utf8');
  try {
    return (await promisify(gunzip)(bytes)).toString('utf8');
  } catch (cause) {
    const remedy = 'The file is damaged; get it anew.';
    throw new PodwrightError('ERR_PODWRIGHT_RECORDING_INVALID', `${file} cannot be decompressed`, {
      cause,
      remedy,
      details: { file },
    });
  }
}

function timeText(at: number): string {
  return (at / 1000).toFixed(2).padStart(9);
}

/** What was done to the pods, and what Kubernetes said of them. Their statuses show in what the machines do. */
function stepText(step: Step, pods: readonly ReplayedPod[]): string | null {
  const nameOf = (uid: string | undefined): string | null => pods.find((pod) => pod.uid === uid)?.name ?? null;
  switch (step.kind) {
    case 'created':
      return `${step.pod.metadata.name}: created`;
    case 'request':
      return `${nameOf(step.uid) ?? 'pod'}/${step.container}: asked to run ${step.image}`;
    case 'cancel':
      return `${nameOf(step.uid) ?? 'pod'}: deleted by the caller`;
    case 'event': {
      const { involvedObject, reason = '', message = '', count = 1 } = step.event;
      const pod = nameOf(involvedObject.uid);
      if (pod === null) return null;
      const container = /\{(.+)\}$/.exec(involvedObject.fieldPath ?? '')?.[1];
      const times = count > 1 ? ` (${count} times)` : '';
      return `${pod}${container === undefined ? '' : `/${container}`}: ${reason}${times}: ${message.trim()}`;
    }
    case 'podList':
    case 'podFrame':
      return null;
  }
}

function changeText(pod: ReplayedPod, change: StateChange, terminal: Terminal): string {
  const who = change.actor === 'container' ? `${pod.name}/${change.container}` : pod.name;
  const words = `${who}: ${change.actor} ${change.previous} → ${terminal.style('bold', change.state)}`;
  if (change.actor !== 'container' || change.outcome === null || change.outcome.outcome === 'running') return words;
  const { what, said } = explainOutcome(change.outcome);
  return said === null ? `${words}: ${what}` : `${words}: ${what}: ${said.trim()}`;
}

function verdictsText({ pods }: ReplayResult, terminal: Terminal): string {
  if (pods.length === 0) return 'No pod is in the recording.\n';
  const lines = pods.flatMap(({ name, uid, containers }) => [
    `\n${terminal.style('bold', name)}  ${terminal.style('dim', uid)}`,
    ...containers.map((verdict) => `  ${verdict.name.padEnd(20)} ${verdictText(verdict)}`),
  ]);
  return `${lines.join('\n')}\n`;
}

function verdictText({ outcome, exitCode, cause, class: failureClass, permanent, decidedAt }: ReplayVerdict): string {
  const words = [
    outcome,
    ...(exitCode === undefined ? [] : [exitCode === null ? 'without an exit code' : `exit code ${exitCode}`]),
    ...(cause === undefined ? [] : [cause]),
    ...(failureClass === undefined ? [] : [failureClass]),
    ...(permanent === undefined ? [] : [permanent ? 'permanent' : 'transient']),
  ];
  return decidedAt === undefined ? words.join(', ') : `${words.join(', ')} (at ${decidedAt.toFixed(2)} s)`;
}

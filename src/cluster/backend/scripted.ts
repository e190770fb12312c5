/** Containers that only play the lives they are given: for tests, with any clock, and the same each time. */
import { type Clock, sleep, type Timer } from '../../clock.ts';
import { splitReference } from '../image-name.ts';
import type { Random } from '../random.ts';
import { texts } from '../texts.ts';
import {
  type Backend,
  type ExecResult,
  type ImageRecord,
  type NetworkRequest,
  type Overfilled,
  type PullOutcome,
  type RunningContainer,
  StartFailure,
  type StartRequest,
} from './backend.ts';
import { type PlaceholderImage, placeholderCode } from './placeholders.ts';
import {
  fitsPattern,
  type ImageScript,
  type LifeScript,
  type MatchedLife,
  type Played,
  type PlayedEvent,
  type PullScript,
} from './script.ts';

export interface ScriptedBackendOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly images: readonly ImageScript[];
  readonly lives: readonly MatchedLife[];
  readonly placeholders: readonly PlaceholderImage[];
  readonly onOverfill: (podUid: string, what: Overfilled) => void;
  readonly onPlayed: (played: Played) => void;
}

const defaultBytes = 1_295_744;

export class ScriptedBackend implements Backend {
  readonly #options: ScriptedBackendOptions;
  readonly #pulled = new Map<string, ImageRecord>();
  readonly #pulls = new Map<string, number>();
  readonly #playing = new Set<Playing>();
  /** How often each life with several exit codes was played in each container. */
  readonly #played = new Map<LifeScript, Map<string, number>>();
  #runs = 0;

  constructor(options: ScriptedBackendOptions) {
    this.#options = options;
  }

  refusePod(): undefined {
    return undefined;
  }

  image(reference: string): ImageRecord | undefined {
    const pulled = this.#pulled.get(reference);
    if (pulled !== undefined) return pulled;
    if (this.#script(reference)?.present !== true && this.#placeholder(reference) === undefined) return undefined;
    return { imageID: digest(reference), bytes: this.#script(reference)?.bytes ?? defaultBytes };
  }

  async pull(reference: string): Promise<PullOutcome> {
    const { clock, random } = this.#options;
    const script = this.#script(reference);
    const { takes = 0, fails } = this.#nextPull(reference, script);
    const takesMs = random.duration(takes);
    if (takesMs > 0) await sleep(clock, takesMs);
    if (fails !== undefined) return { ok: false, text: filled(fails, reference) };
    const { domain, path } = splitReference(reference);
    const repository = domain === '' ? path : `${domain}/${path}`;
    const version = script?.fresh === true ? String(this.#pulls.get(reference)) : '';
    const image = { imageID: `${repository}@${digest(reference + version)}`, bytes: script?.bytes ?? defaultBytes };
    this.#pulled.set(reference, image);
    return { ok: true, image };
  }

  /** The node's image store loses what was pulled. */
  removeImages(): void {
    this.#pulled.clear();
  }

  async start(request: StartRequest): Promise<RunningContainer> {
    const life = this.#inTurn(this.#life(request), request);
    if (life.startError !== undefined) throw new StartFailure(life.startError);
    this.#runs += 1;
    const execLife = (command: readonly string[]): LifeScript | undefined => {
      const found = this.#matched(request, command, true);
      return found && this.#inTurn(found, request);
    };
    const playing = new Playing({
      request,
      life,
      execLife,
      isPlaceholder: this.#placeholder(request.image) !== undefined,
      run: this.#runs,
      options: this.#options,
      onEnd: () => this.#playing.delete(playing),
    });
    this.#playing.add(playing);
    return playing;
  }

  async removePod(): Promise<void> {
    return undefined;
  }

  async dispose(): Promise<void> {
    for (const playing of [...this.#playing]) playing.kill();
  }

  #script(reference: string): ImageScript | undefined {
    return this.#options.images.find(({ image }) => fitsPattern(image, reference));
  }

  #nextPull(reference: string, script: ImageScript | undefined): PullScript {
    const count = this.#pulls.get(reference) ?? 0;
    this.#pulls.set(reference, count + 1);
    const pulls = script?.pulls ?? [];
    return pulls[Math.min(count, pulls.length - 1)] ?? {};
  }

  #placeholder(image: string): number | undefined {
    return placeholderCode(image, this.#options.placeholders);
  }

  #life(request: StartRequest): LifeScript {
    const { container, image } = request;
    const found = this.#matched(request, [...(container.command ?? []), ...(container.args ?? [])], false);
    if (found !== undefined) return found;
    const code = this.#placeholder(image);
    if (code !== undefined) return { runs: 'forever', onTerm: { exitCode: code } };
    return this.#script(image)?.life ?? {};
  }

  #matched(request: StartRequest, command: readonly string[], isExec: boolean): LifeScript | undefined {
    const { container, image, pod } = request;
    return this.#options.lives.find(
      ({ match }) =>
        (match.exec ?? false) === isExec &&
        (match.image === undefined || fitsPattern(match.image, image)) &&
        (match.pod === undefined || match.pod === pod.metadata.name) &&
        (match.container === undefined || match.container === container.name) &&
        (match.command === undefined || match.command === command.at(-1)),
    );
  }

  /** With the exit code that it has this time. */
  #inTurn(life: LifeScript, { pod, container }: StartRequest): LifeScript {
    const { exitCodes } = life;
    if (exitCodes === undefined) return life;
    const played = this.#played.get(life) ?? new Map<string, number>();
    this.#played.set(life, played);
    const key = `${pod.metadata.uid}/${container.name}`;
    const count = played.get(key) ?? 0;
    played.set(key, count + 1);
    const exitCode = exitCodes[Math.min(count, exitCodes.length - 1)];
    return exitCode === undefined ? life : { ...life, exitCode };
  }
}

interface PlayingOptions {
  readonly request: StartRequest;
  readonly life: LifeScript;
  readonly execLife: (command: readonly string[]) => LifeScript | undefined;
  readonly isPlaceholder: boolean;
  readonly run: number;
  readonly options: ScriptedBackendOptions;
  readonly onEnd: () => void;
}

class Playing implements RunningContainer {
  readonly #request: StartRequest;
  readonly #life: LifeScript;
  readonly #execLife: PlayingOptions['execLife'];
  readonly #isPlaceholder: boolean;
  readonly #run: number;
  readonly #options: ScriptedBackendOptions;
  readonly #onEnd: () => void;
  readonly #timers = new Set<Timer>();
  readonly #gone = new AbortController();
  #ended = false;
  #terminated = false;

  constructor({ request, life, execLife, isPlaceholder, run, options, onEnd }: PlayingOptions) {
    this.#request = request;
    this.#life = life;
    this.#execLife = execLife;
    this.#isPlaceholder = isPlaceholder;
    this.#run = run;
    this.#options = options;
    this.#onEnd = onEnd;
    this.#played({ what: 'started' });
    for (const { at, text, times = 1, every = 0 } of life.output ?? []) {
      for (let n = 1; n <= times; n += 1) {
        this.#after(at + (n - 1) * every, () => this.#write(text.replaceAll('{n}', String(n))));
      }
    }
    const { uid } = request.pod.metadata;
    if (life.overfills !== undefined) options.onOverfill(uid, { volume: life.overfills });
    if (life.overfillsStorage === true) options.onOverfill(uid, { container: request.container.name });
    if (life.runs === 'forever') return;
    this.#after(options.random.duration(life.runs ?? 0), () => {
      this.#end(this.#exitCode(), 'itself', life.reason);
    });
  }

  terminate(): void {
    const { onTerm = 'ignore' } = this.#life;
    if (onTerm === 'ignore' || this.#terminated) return;
    this.#terminated = true;
    this.#after(this.#options.random.duration(onTerm.after ?? 0), () => {
      if (onTerm.output !== undefined) this.#write(onTerm.output);
      this.#end(onTerm.exitCode, 'request');
    });
  }

  kill(): void {
    this.#end(137, 'force', 'Error');
  }

  exec(command: readonly string[], signal: AbortSignal): Promise<ExecResult> {
    return this.#answer(this.#execLife(command) ?? {}, signal);
  }

  async connect(request: NetworkRequest, signal: AbortSignal): Promise<ExecResult> {
    const { kind, port, path = '' } = request;
    const life = this.#execLife([`${kind}:${port}${path}`]) ?? (this.#isPlaceholder ? { exitCode: 1 } : {});
    const { exitCode, output } = await this.#answer(life, signal);
    return { exitCode, output: exitCode === 0 || output !== '' ? output : texts.networkRefused(request) };
  }

  async #answer(life: LifeScript, signal: AbortSignal): Promise<ExecResult> {
    const { runs = 0, exitCode = 0, output = [], startError } = life;
    if (startError !== undefined) return { exitCode: 126, output: startError };
    const { clock, random } = this.#options;
    const ends = AbortSignal.any([signal, this.#gone.signal]);
    try {
      await sleep(clock, runs === 'forever' ? Number.POSITIVE_INFINITY : random.duration(runs), ends);
    } catch {
      // Ended by the signal, or with its container.
      return { exitCode: 137, output: '' };
    }
    return { exitCode, output: output.map(({ text }) => text).join('') };
  }

  #exitCode(): number {
    const { exitCode = 0, exitCodeFrom } = this.#life;
    const given = exitCodeFrom === undefined ? undefined : this.#request.environment[exitCodeFrom];
    return given === undefined ? exitCode : Number(given);
  }

  #write(text: string): void {
    if (this.#ended) return;
    this.#played({ what: 'wrote', text });
    this.#request.output(Buffer.from(text));
  }

  #end(exitCode: number, by: 'itself' | 'request' | 'force', reason?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#played({ what: 'ended', exitCode, by });
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#gone.abort();
    this.#onEnd();
    const { message } = this.#life;
    this.#request.exited({
      exitCode,
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
    });
  }

  #played(event: PlayedEvent): void {
    const { pod, container, image } = this.#request;
    const { uid: podUid, name } = pod.metadata;
    const at = this.#options.clock.now();
    this.#options.onPlayed({ podUid, pod: name, container: container.name, image, run: this.#run, at, ...event });
  }

  #after(delayMs: number, run: () => void): void {
    const timer = this.#options.clock.schedule(delayMs, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
  }
}

/** A made-up digest: the same for the same text, and 64 digits long. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  let digits = '';
  for (let round = 0; digits.length < 64; round += 1) {
    for (const char of `${round}${text}`) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
    digits += (hash >>> 0).toString(16).padStart(8, '0');
  }
  return `sha256:${digits}`;
}

function filled(template: string, reference: string): string {
  const { domain, path, tag, digest: pinned } = splitReference(reference);
  const values: Readonly<Record<string, string>> = {
    image: reference,
    registry: domain === '' ? 'docker.io' : domain,
    repository: path,
    tag: pinned || tag || 'latest',
  };
  return template.replace(/\{(image|registry|repository|tag)\}/g, (_whole, name: string) => values[name] ?? '');
}

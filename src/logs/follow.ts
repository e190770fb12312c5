/**
 * The log of one container instance: every line once and in order, from the first byte to the last, whatever happens
 * to the connection.
 *
 * The end of a response is never taken for the end of the log: responses end at rotations, restarts of the kubelet and
 * of the API server, and while the container still runs. The log has ended when the instance is known to have
 * terminated and a reading that began after that brought nothing new. Of a run that was canceled, what it had printed by
 * then is the log: it may go on for as long as its pod, and never fall silent.
 */
import { type Clock, sleep } from '../clock.ts';
import { PodwrightError } from '../errors.ts';
import type { KubeClient, LogQuery } from '../kube/client.ts';
import type { ByteStream } from '../kube/resource.ts';
import { retryAfterOf, statusOf } from '../kube/status.ts';
import { type Logger, silentLogger } from '../logger.ts';
import { fastestRotationMs, gapLine, LogAssembler } from './assemble.ts';
import type { LogLine, LogPosition } from './line.ts';
import { compareTimes, formatSeconds, formatTime, type LogTime, readTimestamp } from './log-time.ts';
import { Patience, type TroubleKind } from './patience.ts';
import { SilenceGuard } from './silence.ts';

export type { LogGap, LogLine, LogPosition } from './line.ts';

/** The run of a container that is to be followed. */
export interface LogInstance {
  readonly containerID: string;
}

/** `canceled`: nobody waits for what it may still print. */
export type LogEnd = 'terminated' | 'canceled';

/** What the follower must be told, because the log itself cannot say it. */
export interface LogSource {
  /**
   * Resolves once the pod's status shows the instance (its own containerID, running or terminated): before that the
   * log is another one's. null when it will never run, `unseen` when it may have run and nobody can tell any more.
   * Must reject when the signal aborts.
   */
  started(signal: AbortSignal): Promise<LogInstance | 'unseen' | null>;
  /**
   * Resolves once that instance is known to have terminated, its pod is gone, or it was canceled. Must reject when the
   * signal aborts.
   */
  ended(signal: AbortSignal): Promise<LogEnd>;
  /**
   * Which of the container's logs is the instance's: `previous` once the container was started again after it, `gone`
   * when the pod is deleted or the instance is two or more back. Asked before each request.
   */
  which(): 'current' | 'previous' | 'gone';
}

export interface FollowLogOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly source: LogSource;
  /** Go on after this line. */
  readonly from?: LogPosition;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly logger?: Logger;
  readonly signal?: AbortSignal;
}

/** The first pause after a request that brought nothing; doubled up to the longest. */
const firstPauseMs = 250;
const longestPauseMs = 5_000;
/** A response may end up to 0.65 s before the status shows the end (recorded): reopening sooner is a wasted request. */
const endOfResponsePauseMs = 1_000;
/** After a last reading that still brought something. */
const rereadPauseMs = 100;
/** A quiet step is normal; a follow that hangs since a rotation or a cut looks the same. */
const longestSilenceMs = 120_000;
/** Once the instance has ended, its stream ends by itself or is of no more use. */
const silenceAfterEndMs = 2_000;
/** The status can be a second behind the kubelet's choice of the instance. */
const statusDelayMs = 2_000;

/** How often the newest file is asked for before a gap is told that may be none. */
const newestFileAttempts = 6;
/** More than a time takes, in any zone. */
const timestampBytes = 64;

const fatalCodes: ReadonlySet<string> = new Set(['ERR_PODWRIGHT_STOPPED', 'ERR_PODWRIGHT_ASSERTION']);
const refusals: ReadonlySet<string> = new Set(['ERR_PODWRIGHT_FORBIDDEN', 'ERR_PODWRIGHT_UNAUTHORIZED']);

/**
 * Yields the lines of the instance that `source` tells of. Reads no faster than it is asked. Ends by itself; throws the
 * signal's reason when aborted, and ERR_PODWRIGHT_FORBIDDEN or ERR_PODWRIGHT_UNAUTHORIZED when the server refuses from
 * the beginning, or for a minute.
 * What could not be read is a line with a `gap`, never silence.
 */
export async function* followLog(options: FollowLogOptions): AsyncGenerator<LogLine, void, undefined> {
  const leaving = new AbortController();
  const signal = options.signal === undefined ? leaving.signal : AbortSignal.any([options.signal, leaving.signal]);
  try {
    const instance = await options.source.started(signal);
    if (instance === 'unseen') yield unseenGap(options.from);
    else if (instance !== null) yield* new Follower(options, signal).lines();
  } finally {
    leaving.abort();
  }
}

/** Where all lines may be missing. */
function unseenGap(from: LogPosition | undefined): LogLine {
  const { position, lastAt } = new LogAssembler(from);
  const message = 'the pod ended before it told whether the container ran';
  return gapLine(position, { after: lastAt, before: null, reason: 'unavailable', message });
}

/** How one request went. */
interface Reading {
  /** Lines that it brought. */
  readonly added: number;
  /** Why it says nothing about the end of the log; null when it was read to a clean end. */
  readonly trouble: Trouble | null;
}

interface Trouble {
  readonly kind: TroubleKind;
  readonly message: string;
  readonly retryAfterMs?: number;
}

class Follower {
  readonly #options: FollowLogOptions;
  readonly #signal: AbortSignal;
  readonly #logger: Logger;
  readonly #assembler: LogAssembler;
  readonly #guard: SilenceGuard;
  /** Aborts when `#end` is no longer `open`. */
  readonly #ended = new AbortController();
  #end: 'open' | LogEnd | { readonly failure: unknown } = 'open';
  /** Set by the first answer: from then on a refusal may pass, as while an API server starts. */
  #refusalPatience: Patience | null = null;
  /** When the present response began. */
  #openedAt = 0;

  constructor(options: FollowLogOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#logger = options.logger ?? silentLogger;
    this.#assembler = new LogAssembler(options.from);
    this.#guard = new SilenceGuard(options.clock, longestSilenceMs);
    void this.#awaitEnd();
  }

  async *lines(): AsyncGenerator<LogLine, void, undefined> {
    for (let idle = 0; this.#end === 'open'; ) {
      const { added, trouble } = yield* this.#read('follow');
      if (trouble?.kind === 'gone') {
        yield this.#gap(trouble);
        return;
      }
      idle = added > 0 || trouble?.kind === 'silent' ? 0 : idle + 1;
      await this.#pauseUnlessEnded(this.#pauseMs(idle, trouble));
    }
    if (typeof this.#end === 'object') throw this.#end.failure;
    yield* this.#rest(this.#end === 'canceled');
  }

  async #awaitEnd(): Promise<void> {
    try {
      this.#end = await this.#options.source.ended(this.#signal);
    } catch (failure) {
      this.#end = { failure };
    }
    this.#guard.shorten(this.#end === 'terminated' ? silenceAfterEndMs : 0);
    this.#ended.abort();
  }

  /** Reads until a reading to a clean end brings nothing; what was canceled may print for ever, and is read once. */
  async *#rest(isCanceled: boolean): AsyncGenerator<LogLine, void, undefined> {
    const { clock } = this.#options;
    const patience = new Patience(clock, isCanceled);
    let unendedBefore = 0;
    for (let idle = 0; ; idle++) {
      const { added, trouble } = yield* this.#read('rest');
      if (trouble === null) {
        // A last line without an end counts when it stays the same.
        const unended = this.#assembler.rest.length;
        if (isCanceled || (added === 0 && unended === unendedBefore)) {
          yield* this.#assembler.takeRest();
          return;
        }
        unendedBefore = unended;
        idle = 0;
        patience.restore();
      } else if (patience.isOver(trouble.kind)) {
        yield this.#gap(trouble);
        return;
      }
      await sleep(clock, trouble === null ? rereadPauseMs : this.#pauseMs(idle, trouble), this.#signal);
    }
  }

  /** One request: yields what it brings, returns how it went. */
  async *#read(purpose: 'follow' | 'rest'): AsyncGenerator<LogLine, Reading, undefined> {
    const which = this.#options.source.which();
    if (which === 'gone') return { added: 0, trouble: { kind: 'gone', message: 'the log is gone with its pod' } };
    const isFollowed = purpose === 'follow' && which === 'current';
    let added = 0;
    try {
      for await (const chunk of await this.#open(isFollowed, which)) {
        const before = this.#assembler.position;
        const lines = this.#assembler.push(chunk);
        if (lines.some(({ gap }) => gap !== undefined) && (await this.#isAnotherNow(which))) {
          this.#assembler.rewind(before);
          return { added, trouble: { kind: 'unavailable', message: 'the container was started again' } };
        }
        added += lines.length;
        yield* isFollowed ? await this.#withSkips(lines, before) : lines;
        if (this.#assembler.complaint !== null || (purpose === 'follow' && this.#isLeft)) break;
      }
      return { added, trouble: this.#judgeEnd() };
    } catch (error) {
      return { added, trouble: this.#judgeFailure(error) };
    }
  }

  /** Whether a stream that is followed is of no more use, however much is still to come on it. */
  get #isLeft(): boolean {
    return this.#end !== 'open' && this.#end !== 'terminated';
  }

  async #open(isFollowed: boolean, which: 'current' | 'previous'): Promise<ByteStream> {
    const { sinceTime } = this.#assembler;
    const query: LogQuery = {
      timestamps: true,
      ...(isFollowed ? { follow: true } : {}),
      ...(which === 'previous' ? { previous: true } : {}),
      ...(sinceTime === undefined ? {} : { sinceTime }),
    };
    const body = await this.#request(query);
    this.#assembler.begin();
    this.#openedAt = this.#options.clock.now();
    return body;
  }

  /** The answer, which ends with ERR_PODWRIGHT_TIMEOUT when it goes silent. */
  async #request(query: LogQuery): Promise<ByteStream> {
    const { client, namespace, pod, container } = this.#options;
    const silent = new AbortController();
    const onSilence = (): void => silent.abort(new PodwrightError('ERR_PODWRIGHT_TIMEOUT', 'the log went silent'));
    const signal = AbortSignal.any([this.#signal, silent.signal]);
    const response = await client.openLog(namespace, pod, container, query, signal);
    this.#refusalPatience = new Patience(this.#options.clock, true);
    if (response.status === 204) {
      throw new PodwrightError('ERR_PODWRIGHT_API', 'the pod has no node yet', { details: { status: 204 } });
    }
    return this.#guard.watch(response.body, onSilence);
  }

  /**
   * Adds the gaps that a followed log hides: while its reader lets it wait, the kubelet can rotate twice, and goes on
   * with the newest file. Then the time leaps without our having waited for it.
   */
  async #withSkips(lines: readonly LogLine[], positionBefore: LogPosition): Promise<readonly LogLine[]> {
    const { leaps } = this.#assembler;
    if (leaps.length === 0 || this.#options.clock.now() - this.#openedAt < fastestRotationMs) return lines;
    const waitedMs = this.#guard.lastWaitMs;
    const complete: LogLine[] = [];
    for (const [index, line] of lines.entries()) {
      const leap = leaps.find((each) => each.index === index);
      const isExplained = leap === undefined || (index === 0 && waitedMs >= leap.ms - fastestRotationMs / 2);
      if (!isExplained && !(await this.#isInNewestFile(leap.from))) {
        const gap = { after: formatTime(leap.from), before: line.at, reason: 'rotated', message: null } as const;
        complete.push(gapLine(lines[index - 1]?.position ?? positionBefore, gap));
      }
      complete.push(line);
    }
    return complete;
  }

  /** Whether the file that is read now already had the line of this time: then nothing was skipped after it. */
  async #isInNewestFile(time: LogTime): Promise<boolean> {
    const query = { timestamps: true, sinceTime: formatSeconds(time.seconds), limitBytes: timestampBytes };
    for (let attempt = 1; ; attempt++) {
      // The container may have been started again since.
      const previous = this.#options.source.which() === 'previous';
      try {
        const chunks: Uint8Array[] = [];
        for await (const chunk of await this.#request(previous ? { ...query, previous } : query)) chunks.push(chunk);
        const first = readTimestamp(Buffer.concat(chunks));
        return first !== null && compareTimes(first.time, time) <= 0;
      } catch (error) {
        const trouble = this.#judgeFailure(error);
        if (attempt === newestFileAttempts) return false;
        await sleep(this.#options.clock, this.#pauseMs(attempt, trouble), this.#signal);
      }
    }
  }

  /** A file that begins anew was rotated, or is the next instance's, which the status shows a little later. */
  async #isAnotherNow(which: 'current' | 'previous'): Promise<boolean> {
    await sleep(this.#options.clock, statusDelayMs, this.#signal);
    return this.#options.source.which() !== which;
  }

  #judgeEnd(): Trouble | null {
    const { complaint, rest, isCaughtUp } = this.#assembler;
    if (complaint !== null) return { kind: 'unavailable', message: complaint };
    if (rest.complaint !== null) return { kind: 'unavailable', message: rest.complaint };
    return isCaughtUp ? null : { kind: 'shortened', message: 'the newest file lacks what was read before' };
  }

  /** Throws what no waiting can cure. */
  #judgeFailure(error: unknown): Trouble {
    if (this.#signal.aborted) throw this.#signal.reason;
    if (!(error instanceof PodwrightError) || fatalCodes.has(error.code)) throw error;
    const { message } = error;
    if (refusals.has(error.code)) {
      if (this.#refusalPatience?.isOver('connection') !== false) throw error;
      return { kind: 'connection', message };
    }
    if (error.code === 'ERR_PODWRIGHT_TIMEOUT') return { kind: 'silent', message };
    const status = statusOf(error);
    this.#logger.debug('A log request failed', { pod: this.#options.pod, container: this.#options.container, error });
    if (status === undefined || status === 429) {
      return { kind: 'connection', message, retryAfterMs: retryAfterOf(error) ?? 0 };
    }
    return { kind: 'unavailable', message, retryAfterMs: retryAfterOf(error) ?? 0 };
  }

  /** A cut that brought lines is followed by the next request at once. */
  #pauseMs(idle: number, trouble: Trouble | null): number {
    const { random = Math.random } = this.#options;
    if (trouble === null) return endOfResponsePauseMs;
    if (idle === 0) return trouble.retryAfterMs ?? 0;
    const backOffMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (idle - 1));
    return Math.max((backOffMs * (1 + random())) / 2, trouble.retryAfterMs ?? 0);
  }

  async #pauseUnlessEnded(pauseMs: number): Promise<void> {
    if (pauseMs === 0) return;
    try {
      await sleep(this.#options.clock, pauseMs, AbortSignal.any([this.#signal, this.#ended.signal]));
    } catch (error) {
      if (this.#signal.aborted) throw error;
    }
  }

  #gap({ kind, message }: Trouble): LogLine {
    const { position, lastAt } = this.#assembler;
    const reason = kind === 'shortened' ? 'rotated' : 'unavailable';
    return gapLine(position, { after: lastAt, before: null, reason, message });
  }
}

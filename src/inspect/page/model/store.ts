/**
 * Everything the page knows and where it looks, in one place. Views are drawn at most once a frame, and not more often
 * than every `drawEveryMs` while events pour in.
 */
import type { BuildState, State } from '../../../events/state.ts';
import { openFile } from './file.ts';
import { type Connection, follow } from './live.ts';
import { formatRoute, parseRoute, type Route } from './route.ts';
import { Timeline } from './timeline.ts';

const drawEveryMs = 60;
/** Browsers stop listening to a page that changes its address all the time, as playing would. */
const addressEveryMs = 400;
/** While something runs, bars grow this often. */
const tickMs = 500;

export class Store {
  readonly timeline = new Timeline();
  connection: Connection = 'connecting';
  fileName: string | null = null;
  problem: string | null = null;
  route: Route;
  /** Null: not playing. Times the speed of life otherwise. */
  speed: number | null = null;
  isHelpOpen = false;
  /** When the newest event came, on this page's clock: what runs is longer by what has passed since. */
  #newestCameAt = performance.now();
  #playedTo = 0;
  readonly #listeners = new Set<() => void>();
  #isDrawDue = false;
  #drawnAt = 0;
  #addressDue: ReturnType<typeof setTimeout> | undefined;
  #addressAt = Number.NEGATIVE_INFINITY;
  #unfollow: () => void = () => undefined;

  constructor() {
    this.route = parseRoute(location.hash);
    addEventListener('popstate', () => {
      clearTimeout(this.#addressDue);
      this.#addressDue = undefined;
      this.route = parseRoute(location.hash);
      this.draw();
    });
    setInterval(() => {
      if (this.isLive && this.connection === 'live') this.draw();
    }, tickMs);
  }

  start(): void {
    if (location.protocol === 'file:') {
      this.connection = 'file';
      return;
    }
    this.#unfollow = follow({
      onConnection: (connection) => {
        this.connection = connection;
        this.draw();
      },
      onSnapshot: (epoch, state) => {
        // Another epoch is another history: a place in the old one means nothing in it.
        if (this.timeline.epoch !== '' && this.timeline.epoch !== epoch) this.go({ at: null });
        this.timeline.reset(epoch, state);
        this.draw();
      },
      onEvent: (event) => {
        this.timeline.append(event);
        this.#newestCameAt = performance.now();
        this.draw();
      },
    });
  }

  open(name: string, text: string): void {
    try {
      const { state, events } = openFile(name, text);
      this.#unfollow();
      this.connection = 'file';
      this.fileName = name;
      this.problem = null;
      this.timeline.reset(name, state);
      for (const event of events) this.timeline.append(event);
      const builds = Object.keys(this.timeline.latest.builds);
      this.go({ build: builds.length === 1 ? (builds[0] ?? null) : null, container: null, at: null, filter: '' });
    } catch (error) {
      this.problem = error instanceof Error ? error.message : String(error);
      this.draw();
    }
  }

  /** Whether what comes is shown, and not a moment of the past. */
  get isLive(): boolean {
    return this.route.at === null;
  }

  /** How many events have happened at the moment that is shown. */
  get count(): number {
    const { at } = this.route;
    if (at === null) return this.timeline.events.length;
    const first = this.timeline.events[0]?.seq ?? 1;
    return Math.max(0, Math.min(at - first + 1, this.timeline.events.length));
  }

  get state(): State {
    return this.timeline.stateAt(this.count);
  }

  /** The moment that is shown. */
  get now(): number {
    if (this.speed !== null) return this.#playedTo;
    if (!this.isLive) return this.timeline.events[this.count - 1]?.at ?? this.timeline.firstAt;
    const { lastAt } = this.timeline;
    return this.connection === 'live' ? lastAt + (performance.now() - this.#newestCameAt) : lastAt;
  }

  get build(): BuildState | null {
    return this.route.build === null ? null : (this.state.builds[this.route.build] ?? null);
  }

  go(change: Partial<Route>): void {
    const isOtherPlace = change.build !== undefined && change.build !== this.route.build;
    if (isOtherPlace) this.#writeAddress();
    this.route = { ...this.route, ...change };
    // To another build and back to the list is what the browser's own back button should undo.
    if (isOtherPlace) history.pushState(null, '', formatRoute(this.route));
    else
      this.#addressDue ??= setTimeout(() => this.#writeAddress(), this.#addressAt + addressEveryMs - performance.now());
    this.draw();
  }

  #writeAddress(): void {
    clearTimeout(this.#addressDue);
    this.#addressDue = undefined;
    this.#addressAt = performance.now();
    const hash = formatRoute(this.route);
    if (hash !== location.hash) history.replaceState(null, '', hash);
  }

  /** Shows the moment after the first `count` events; all of them is the present. */
  goTo(count: number): void {
    const { events } = this.timeline;
    if (count >= events.length && this.connection !== 'file') this.go({ at: null });
    else this.go({ at: (events[0]?.seq ?? 1) + Math.max(0, Math.min(count, events.length)) - 1 });
  }

  goToTime(at: number): void {
    this.#playedTo = at;
    this.goTo(this.timeline.countAt(at));
  }

  /** To the next or previous event of the build that is shown, or of any. */
  step(direction: 1 | -1): void {
    const { events } = this.timeline;
    const { build } = this.route;
    this.speed = null;
    let count = this.count + direction;
    while (count > 0 && count < events.length) {
      const event = events[count - 1];
      if (build === null || (event !== undefined && 'build' in event && event.build === build)) break;
      count += direction;
    }
    this.goTo(count);
  }

  play(speed: number | null): void {
    if (speed === null) {
      this.speed = null;
      this.draw();
      return;
    }
    const [from, to] = this.span;
    const begin = this.now >= to || this.isLive ? from : this.now;
    this.speed = speed;
    this.goToTime(begin);
    let last = performance.now();
    const frame = (): void => {
      if (this.speed === null) return;
      const now = performance.now();
      const [, end] = this.span;
      this.#playedTo = Math.min(end, this.#playedTo + (now - last) * this.speed);
      last = now;
      this.goToTime(this.#playedTo);
      if (this.#playedTo >= end) this.play(null);
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  /** The time that the scrubber spans: that of the build that is shown, or of all. */
  get span(): readonly [number, number] {
    const { timeline } = this;
    const build = this.route.build === null ? undefined : timeline.latest.builds[this.route.build];
    const from = build?.history[0]?.at ?? timeline.firstAt;
    const end = build?.history.find(({ state }) => state === 'removed')?.at ?? timeline.lastAt;
    return [from, Math.max(end, from + 1)];
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  draw(): void {
    if (this.#isDrawDue) return;
    this.#isDrawDue = true;
    const wait = Math.max(0, drawEveryMs - (performance.now() - this.#drawnAt));
    setTimeout(() => {
      requestAnimationFrame(() => {
        this.#isDrawDue = false;
        this.#drawnAt = performance.now();
        for (const listener of [...this.#listeners]) listener();
      });
    }, wait);
  }
}

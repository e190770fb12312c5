/**
 * For a terminal: logs and endings scroll by, and below them a block shows what runs now, for how long, and what is
 * still to come.
 */
import { stripVTControlCharacters } from 'node:util';
import type { ExecutorEvent, StepRef } from '../../executor/events.ts';
import { stepsOf } from '../../executor/plan.ts';
import type { LiveRegion, Terminal } from '../terminal.ts';
import { type PlainOptions, PlainReporter } from './plain.ts';
import type { Reporter, SetupFacts } from './reporter.ts';
import { stepName } from './summary.ts';
import { durationText, pulledText } from './words.ts';

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameMs = 100;
/** More than this are counted, not shown. */
const mostShown = 12;

interface Active {
  readonly step: StepRef;
  readonly image: string;
  readonly since: number;
  state: string;
}

export class LiveReporter implements Reporter {
  readonly #terminal: Terminal;
  readonly #region: LiveRegion;
  readonly #lines: PlainReporter;
  readonly #now: () => number;
  readonly #active = new Map<string, Active>();
  readonly #stopResize: () => void;
  readonly #timer: NodeJS.Timeout;
  #phase = 'preparing';
  #total = 0;
  #done = 0;
  #startedAt: number;
  #frame = 0;
  #isClosed = false;

  constructor(terminal: Terminal, region: LiveRegion, options: PlainOptions, now: () => number) {
    this.#terminal = terminal;
    this.#region = region;
    this.#now = now;
    this.#startedAt = now();
    const out = (text: string): void => (this.#isClosed ? terminal.out(text) : region.print(text));
    const { style } = terminal;
    this.#lines = new PlainReporter({ out, style }, { ...options, showStates: false });
    this.#timer = setInterval(() => this.#draw(), frameMs);
    this.#stopResize = terminal.onResize(() => this.#draw());
  }

  begin(setup: SetupFacts): void {
    this.#lines.begin(setup);
  }

  notice(text: string): void {
    this.#lines.notice(text);
  }

  event(event: ExecutorEvent): void {
    this.#take(event);
    // The summary is the last thing, and nothing stands below it.
    if (event.type === 'build.settled') this.close();
    else this.#draw();
    this.#lines.event(event.type === 'step.log' ? { ...event, line: terminalLine(event.line) } : event);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#stopResize();
    this.#region.close();
  }

  #take(event: ExecutorEvent): void {
    switch (event.type) {
      case 'build.prepared':
        this.#total = stepsOf(event.plan).filter((step) => step.when.runs !== 'never').length;
        this.#startedAt = this.#now();
        this.#phase = 'waiting for a node';
        return;
      case 'build.assembled':
        this.#phase = '';
        return;
      case 'step.started':
        this.#active.set(event.step.container, {
          step: event.step,
          image: event.image,
          since: this.#now(),
          state: 'starting',
        });
        return;
      case 'step.state': {
        const active = this.#active.get(event.step.container);
        if (active !== undefined) active.state = event.state === 'pulling' ? 'pulling its image' : event.state;
        return;
      }
      case 'kube.event': {
        const active = event.container === null ? undefined : this.#active.get(event.container);
        const pulled = pulledText(event.reason, event.message);
        if (active !== undefined && pulled !== undefined) active.state = pulled;
        return;
      }
      case 'step.settled':
        this.#active.delete(event.step.container);
        if (event.step.kind !== 'service') this.#done++;
        return;
      case 'step.skipped':
        if (event.step.container !== '') this.#done++;
        return;
      case 'build.retried':
        this.#active.clear();
        this.#done = 0;
        return;
      case 'step.log':
      case 'service.ready':
      case 'health':
      case 'build.removed':
      case 'build.settled':
    }
  }

  #draw(): void {
    if (this.#isClosed) return;
    this.#frame = (this.#frame + 1) % frames.length;
    const { style } = this.#terminal;
    const now = this.#now();
    const what = this.#phase === '' ? `${this.#done} of ${this.#total} steps` : this.#phase;
    const lines = ['', style('dim', `${what}, ${durationText(now - this.#startedAt)}`)];
    const active = [...this.#active.values()];
    for (const { step, image, since, state } of active.slice(0, mostShown)) {
      const spinner = style('cyan', frames[this.#frame] ?? '');
      lines.push(`${spinner} ${stepName(step)} ${style('dim', `${state}, ${durationText(now - since)}  ${image}`)}`);
    }
    if (active.length > mostShown) lines.push(style('dim', `  and ${active.length - mostShown} more`));
    this.#region.update(lines.map((line) => clip(line, this.#terminal.width())).join('\n'));
  }
}

/**
 * What a terminal would make of the line, harmless to the lines around it: colours end with it, what a carriage return
 * would write over is gone, and nothing moves the cursor, which belongs to the block below.
 */
function terminalLine(line: string): string {
  const last = line.replace(/\r+$/, '').split('\r').at(-1) ?? '';
  // The odd parts are colours.
  const parts = last.split(colour);
  const kept = parts.map((part, index) =>
    index % 2 === 1 ? part : stripVTControlCharacters(part).replace(controls, ''),
  );
  return `${kept.join('')}${parts.length > 1 ? '\u001b[0m' : ''}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
const colour = /(\u001b\[[\d;:]*m)/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: all but the tab
const controls = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;

/** A line that would wrap is cut, colours or not: the cut is at what is seen. */
function clip(line: string, width: number): string {
  const plain = stripVTControlCharacters(line);
  return plain.length <= width ? line : `${plain.slice(0, Math.max(0, width - 1))}…`;
}

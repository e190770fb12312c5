/** The time line of all containers: waiting, pull, start and run of each, to scale; the line is the moment shown. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { BuildState, ContainerState } from '../../../events/state.ts';
import type { Store } from '../model/store.ts';
import { sayDuration, sayOutcome, sayTime, type Tone, toneOfContainer } from '../model/words.ts';

const rowHeight = 24;
const axisHeight = 20;
/** For the last label of the axis. */
const rightMargin = 24;

interface Bar {
  readonly tone: Tone;
  readonly what: string;
  readonly from: number;
  readonly to: number;
}

interface GanttProps {
  readonly store: Store;
  readonly build: BuildState;
  readonly selected: string | null;
}

export function Gantt({ store, build, selected }: GanttProps) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    box.current?.parentElement?.querySelector('.gantt-name.selected')?.scrollIntoView({ block: 'nearest' });
  }, [selected]);
  const { now } = store;
  const [from, until] = store.span;
  const to = Math.max(until, store.isLive ? now : until);
  const x = (at: number): number => ((Math.min(at, to) - from) / Math.max(1, to - from)) * (width - rightMargin);
  const height = build.containers.length * rowHeight;
  return (
    <section class="gantt" aria-label="Time line">
      <div class="gantt-names" role="listbox" aria-label="Containers">
        <div class="legend" style={{ height: `${axisHeight}px` }} aria-hidden="true">
          <span class="wait">start</span>
          <span class="pull">pull</span>
          <span class="run">run</span>
        </div>
        {build.containers.map((container) => (
          <button
            key={container.name}
            type="button"
            role="option"
            aria-selected={container.name === selected}
            class={`gantt-name ${container.name === selected ? 'selected' : ''}`}
            style={{ height: `${rowHeight}px` }}
            data-container={container.name}
            onClick={() => store.go({ container: container.name })}
          >
            <span class={`dot ${toneOfContainer(container)}`} />
            <span class="name">{container.name}</span>
            {container.role === 'service' ? <span class="muted">service</span> : null}
            <span class={`word ${toneOfContainer(container)}`}>{container.state}</span>
          </button>
        ))}
      </div>
      <div ref={box} class="gantt-bars">
        <svg width={width} height={height + axisHeight} role="img" aria-label="Bars of the containers">
          {ticks(from, to, width).map((at) => (
            <g key={at} class="tick">
              <line x1={x(at)} x2={x(at)} y1={axisHeight - 4} y2={height + axisHeight} />
              <text x={x(at) + 3} y="12">
                {sayTick(at - from)}
              </text>
            </g>
          ))}
          {build.containers.map((container, index) => (
            <Row
              key={container.name}
              container={container}
              top={axisHeight + index * rowHeight}
              width={width}
              isSelected={container.name === selected}
              bars={barsOf(container, now)}
              x={x}
              onSelect={() => store.go({ container: container.name })}
            />
          ))}
          <line class="cursor" x1={x(now)} x2={x(now)} y1={axisHeight - 6} y2={height + axisHeight} />
        </svg>
      </div>
    </section>
  );
}

interface RowProps {
  readonly container: ContainerState;
  readonly top: number;
  readonly width: number;
  readonly isSelected: boolean;
  readonly bars: readonly Bar[];
  readonly x: (at: number) => number;
  readonly onSelect: () => void;
}

function Row({ container, top, width, isSelected, bars, x, onSelect }: RowProps) {
  const last = bars.at(-1);
  const end = container.history.at(-1);
  const isSettled = ['terminated', 'pullFailed', 'canceled'].includes(container.state);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the list of names beside it is the way by keyboard.
    <g class={isSelected ? 'gantt-row selected' : 'gantt-row'} onClick={onSelect}>
      <rect class="back" x="0" y={top} width={width} height={rowHeight} />
      {bars.map((bar) => (
        <rect
          key={`${bar.what}${bar.from}`}
          class={`fill ${bar.tone} bar`}
          data-bar={bar.what}
          x={x(bar.from)}
          y={bar.tone === 'idle' ? top + rowHeight / 2 - 1 : top + 5}
          width={Math.max(bar.tone === 'idle' ? 0 : 2, x(bar.to) - x(bar.from))}
          height={bar.tone === 'idle' ? 2 : rowHeight - 10}
          rx={bar.tone === 'idle' ? 0 : 3}
        >
          <title>{`${container.name}: ${bar.what}, ${sayDuration(bar.to - bar.from)}, from ${sayTime(bar.from)}`}</title>
        </rect>
      ))}
      {isSettled && end !== undefined ? (
        <circle class={`fill ${toneOfContainer(container)} end`} cx={x(end.at)} cy={top + rowHeight / 2} r="5">
          <title>{`${container.name}: ${sayOutcome(container.outcome)}`}</title>
        </circle>
      ) : null}
      {last !== undefined && last.tone === 'run' && x(last.to) - x(last.from) > 60 ? (
        <text class="in-bar" x={x(last.from) + 6} y={top + rowHeight / 2 + 4}>
          {sayDuration(last.to - last.from)}
        </text>
      ) : null}
    </g>
  );
}

/** The phases of a container's life as far as they have come at `now`. */
function barsOf(container: ContainerState, now: number): readonly Bar[] {
  const { history, requestedAt } = container;
  return history.flatMap(({ state, at }, index): readonly Bar[] => {
    const to = history[index + 1]?.at ?? now;
    if (state === 'pending') return pendingBars(at, to, requestedAt, index > 0);
    if (state === 'pulling') return [{ tone: 'pull', what: 'pull', from: at, to }];
    return state === 'running' ? [{ tone: 'run', what: 'run', from: at, to }] : [];
  });
}

/** Before the step is asked for nothing happens; after it the container is being started. */
function pendingBars(from: number, to: number, requestedAt: number | null, wasPulled: boolean): readonly Bar[] {
  if (wasPulled) return [{ tone: 'wait', what: 'start', from, to }];
  if (requestedAt === null || requestedAt >= to) return [{ tone: 'idle', what: 'idle', from, to }];
  const asked = Math.max(from, requestedAt);
  return [
    { tone: 'idle', what: 'idle', from, to: asked },
    { tone: 'wait', what: 'start', from: asked, to },
  ];
}

const niceSteps = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 43_200_000, 86_400_000,
];

function ticks(from: number, to: number, width: number): readonly number[] {
  const least = (to - from) / Math.max(2, width / 90);
  const step = niceSteps.find((one) => one >= least) ?? 86_400_000;
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
}

function sayTick(ms: number): string {
  if (ms === 0) return '0';
  return ms < 1000
    ? `${ms} ms`
    : ms < 60_000
      ? `${ms / 1000} s`
      : ms < 3_600_000
        ? `${+(ms / 60_000).toFixed(1)} min`
        : `${+(ms / 3_600_000).toFixed(1)} h`;
}

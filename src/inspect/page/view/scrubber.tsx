/** Moves through time: to any event of the build that is shown (or of all), and plays what was. */
import { useMemo } from 'preact/hooks';
import type { Store } from '../model/store.ts';
import { sayDuration, sayTime } from '../model/words.ts';

const speeds = [0.25, 1, 4, 16, 64];
/** Steps of the slider over its whole span. */
const steps = 2000;
/** More marks than this could not be told apart. */
const marksShown = 300;

export function Scrubber({ store }: { readonly store: Store }) {
  const [from, to] = store.span;
  const { now, speed } = store;
  const place = Math.round(((Math.min(Math.max(now, from), to) - from) / (to - from)) * steps);
  const isPresent = store.isLive && store.connection !== 'file';
  return (
    <footer class="scrubber">
      <button
        type="button"
        class="play"
        aria-label={speed === null ? 'Play' : 'Pause'}
        data-test="play"
        onClick={() => store.play(speed === null ? 1 : null)}
      >
        {speed === null ? '▶' : '❚❚'}
      </button>
      <button type="button" aria-label="Previous event" onClick={() => store.step(-1)}>
        ‹
      </button>
      <button type="button" aria-label="Next event" onClick={() => store.step(1)}>
        ›
      </button>
      <div class="track">
        <Marks store={store} from={from} to={to} />
        <input
          type="range"
          min="0"
          max={steps}
          value={place}
          aria-label="Time"
          aria-valuetext={sayTime(now)}
          data-test="scrub"
          onInput={(event) => {
            store.speed = null;
            const value = Number(event.currentTarget.value);
            if (value >= steps) store.go({ at: null });
            else store.goToTime(from + (value / steps) * (to - from));
          }}
        />
      </div>
      <span class="time wide" data-test="now">
        {sayTime(now)} <span class="muted">({sayDuration(Math.max(0, now - from))})</span>
      </span>
      <select
        aria-label="Speed"
        value={String(speed ?? 1)}
        onChange={(event) => store.play(Number(event.currentTarget.value))}
      >
        {speeds.map((one) => (
          <option key={one} value={String(one)}>
            {one}×
          </option>
        ))}
      </select>
      <button type="button" class={isPresent ? 'live on' : 'live'} data-test="live" onClick={() => goLive(store)}>
        {store.connection === 'file' ? 'End' : 'Live'}
      </button>
    </footer>
  );
}

function goLive(store: Store): void {
  store.speed = null;
  store.go({ at: null });
}

const markTones: Readonly<Record<string, string>> = {
  running: 'run',
  pulling: 'pull',
  terminated: 'good',
  pullFailed: 'bad',
  canceled: 'canceled',
};

/** Where the containers' states change. */
function Marks({ store, from, to }: { readonly store: Store; readonly from: number; readonly to: number }) {
  const { build } = store.route;
  const count = store.timeline.events.length;
  const marks = useMemo(() => {
    if (build === null) return [];
    const changes = store.timeline.latest.builds[build]?.containers.flatMap(({ history }) => history.slice(1)) ?? [];
    return changes.slice(-marksShown).map(({ state, at, seq }) => ({ tone: markTones[state] ?? 'idle', at, seq }));
  }, [build, count, store]);
  return (
    <svg class="marks" aria-hidden="true">
      {marks.map(({ tone, at, seq }) => (
        <rect key={seq} class={`fill ${tone}`} x={`${((at - from) / (to - from)) * 100}%`} width="2" height="8" />
      ))}
    </svg>
  );
}

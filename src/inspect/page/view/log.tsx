/** The log of one container: followed, searched, only the lines in sight drawn. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { followLog, type Line } from '../model/live.ts';
import type { Store } from '../model/store.ts';
import { Rows } from './rows.tsx';

const rowHeight = 18;
/** Older lines are let go. */
const linesKept = 50_000;

interface LogProps {
  readonly store: Store;
  readonly build: string;
  readonly container: string;
}

export function Log({ store, build, container }: LogProps) {
  const { lines, isOver } = useLines(store, build, container);
  const [isFollowing, follow] = useState(true);
  const [search, setSearch] = useState('');
  const [place, setPlace] = useState(0);
  const found = useMemo(() => findAll(lines, search), [lines, lines.length, search]);
  const hit = found.length === 0 ? undefined : found[((place % found.length) + found.length) % found.length];
  const move = (by: number): void => {
    follow(false);
    setPlace((before) => before + by);
  };
  if (store.connection === 'file') return <p class="empty">A recording holds no log lines.</p>;
  return (
    <div class="log">
      <div class="bar">
        <input
          type="search"
          placeholder="Search"
          aria-label="Search in the log"
          value={search}
          onInput={(event) => {
            setSearch(event.currentTarget.value);
            setPlace(0);
            follow(event.currentTarget.value === '');
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter') move(event.shiftKey ? -1 : 1);
          }}
        />
        {search === '' ? null : (
          <span class="muted" data-test="hits">
            {found.length === 0 ? 'nothing found' : `${found.indexOf(hit ?? 0) + 1} of ${found.length} lines`}
          </span>
        )}
        <button type="button" aria-label="Previous hit" disabled={found.length === 0} onClick={() => move(-1)}>
          ‹
        </button>
        <button type="button" aria-label="Next hit" disabled={found.length === 0} onClick={() => move(1)}>
          ›
        </button>
        <label>
          <input type="checkbox" checked={isFollowing} onChange={(event) => follow(event.currentTarget.checked)} />{' '}
          Follow
        </label>
        <span class="muted" data-test="lines">
          {lines.length} lines{isOver ? ', complete' : ''}
        </span>
      </div>
      {lines.length === 0 ? <p class="empty">{isOver ? 'It wrote nothing.' : 'No line yet.'}</p> : null}
      <Rows
        class={lines.length === 0 ? 'hidden' : 'lines'}
        label={`Log of ${container}`}
        count={lines.length}
        rowHeight={rowHeight}
        follow={isFollowing}
        onFollow={follow}
        {...(hit === undefined ? {} : { show: hit })}
        row={(index) => {
          const line = lines[index];
          return line === undefined ? null : (
            <LineRow key={line.seq} line={line} search={search} isHit={index === hit} />
          );
        }}
      />
    </div>
  );
}

interface LineRowProps {
  readonly line: Line;
  readonly search: string;
  readonly isHit: boolean;
}

function LineRow({ line, search, isHit }: LineRowProps) {
  const text = line.gap === null ? line.text : `lines are missing here: ${line.gap}`;
  return (
    <li class={`line ${isHit ? 'hit' : ''} ${line.gap === null ? '' : 'gap'}`}>
      <span class="line-number">{line.seq}</span>
      <span class="line-text" title={line.time}>
        {marked(text, search)}
      </span>
    </li>
  );
}

function marked(text: string, search: string) {
  if (search === '') return text;
  const parts: (string | { readonly hit: string; readonly at: number })[] = [];
  const lower = text.toLowerCase();
  let at = 0;
  for (let next = lower.indexOf(search.toLowerCase()); next !== -1; next = lower.indexOf(search.toLowerCase(), at)) {
    parts.push(text.slice(at, next), { hit: text.slice(next, next + search.length), at: next });
    at = next + search.length;
  }
  parts.push(text.slice(at));
  return parts.map((part) => (typeof part === 'string' ? part : <mark key={part.at}>{part.hit}</mark>));
}

function findAll(lines: readonly Line[], search: string): readonly number[] {
  if (search === '') return [];
  const wanted = search.toLowerCase();
  return lines.flatMap(({ text }, index) => (text.toLowerCase().includes(wanted) ? [index] : []));
}

/** The lines come one by one and are shown together, once a frame. */
function useLines(
  store: Store,
  build: string,
  container: string,
): { readonly lines: readonly Line[]; readonly isOver: boolean } {
  const lines = useRef<Line[]>([]);
  const [shown, show] = useState<{ readonly count: number; readonly isOver: boolean }>({ count: 0, isOver: false });
  const isFile = store.connection === 'file';
  const { epoch } = store.timeline;
  useEffect(() => {
    lines.current = [];
    show({ count: 0, isOver: false });
    if (isFile) return undefined;
    let isDue = false;
    const draw = (isOver: boolean): void => {
      if (isDue && !isOver) return;
      isDue = true;
      requestAnimationFrame(() => {
        isDue = false;
        const extra = lines.current.length - linesKept;
        if (extra > 0) lines.current = lines.current.slice(extra);
        show((before) => ({ count: lines.current.length, isOver: before.isOver || isOver }));
      });
    };
    return followLog(
      build,
      container,
      (line) => {
        // A connection that was made anew may begin before where the last one ended.
        if (line.seq <= (lines.current.at(-1)?.seq ?? 0)) return;
        lines.current.push(line);
        draw(false);
      },
      () => draw(true),
    );
  }, [build, container, epoch, isFile]);
  return { lines: lines.current.slice(0, shown.count), isOver: shown.isOver };
}

/** The frame of the page: the head, the list of builds or one build, the scrubber, and the keys. */
import { useEffect, useReducer, useRef } from 'preact/hooks';
import type { Store } from '../model/store.ts';
import { BuildList } from './build-list.tsx';
import { BuildView } from './build-view.tsx';
import { Help } from './help.tsx';
import { onKey } from './keys.ts';
import { Scrubber } from './scrubber.tsx';
import { nextTheme, useTheme } from './theme.ts';

const connectionWords = {
  connecting: 'connecting',
  live: 'live',
  lost: 'connection lost, trying again',
  ended: 'the run has ended',
  file: 'recording',
} as const;

export function App({ store }: { readonly store: Store }) {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const input = useRef<HTMLInputElement>(null);
  const [theme, setTheme] = useTheme();
  useEffect(() => store.subscribe(() => redraw(0)), [store]);
  useEffect(() => {
    const listener = (event: KeyboardEvent): void =>
      onKey(event, store, { openFile: () => input.current?.click(), theme: () => setTheme(nextTheme(theme)) });
    addEventListener('keydown', listener);
    return () => removeEventListener('keydown', listener);
  }, [store, theme, setTheme]);
  const take = (files: FileList | null | undefined): void => {
    const file = files?.[0];
    if (file !== undefined) void readText(file).then((text) => store.open(file.name, text));
  };
  useEffect(() => onDrop(take), [store]);
  const { state, build, route } = store;
  const isEmpty = store.timeline.events.length === 0 && Object.keys(state.builds).length === 0;
  return (
    <div class="page">
      <header class="head">
        <button type="button" class="brand" onClick={() => store.go({ build: null, container: null })}>
          podwright
        </button>
        <span class={`connection ${store.connection}`} data-test="connection" role="status">
          {store.fileName ?? connectionWords[store.connection]}
        </span>
        <span class="muted">
          {state.run.version}
          {state.run.server === null ? '' : ` · ${state.run.server}`}
        </span>
        <Watches watches={state.watches} />
        <span class="grow" />
        <input
          ref={input}
          type="file"
          class="hidden"
          data-test="file"
          accept=".jsonl,.ndjson,.json,.gz"
          onChange={(event) => take(event.currentTarget.files)}
        />
        <button type="button" onClick={() => input.current?.click()}>
          Open recording
        </button>
        <button type="button" title="Theme (t)" aria-label="Theme" onClick={() => setTheme(nextTheme(theme))}>
          {theme === 'auto' ? '◐' : theme === 'dark' ? '●' : '○'}
        </button>
        <button type="button" title="Keys (?)" onClick={() => toggleHelp(store)}>
          ?
        </button>
      </header>
      {store.problem === null ? null : (
        <p class="problem" role="alert">
          {store.problem}
        </p>
      )}
      <main class="main">
        {isEmpty ? (
          <Welcome />
        ) : build === null ? (
          route.build === null ? (
            <BuildList store={store} />
          ) : (
            <p class="empty">At this moment there is no build {route.build}.</p>
          )
        ) : (
          <BuildView store={store} build={build} />
        )}
      </main>
      {isEmpty ? null : <Scrubber store={store} />}
      {store.isHelpOpen ? <Help onClose={() => toggleHelp(store)} /> : null}
    </div>
  );
}

/** Recordings may be compressed; a file that is not what its name says is read as it is, and refused in words later. */
async function readText(file: File): Promise<string> {
  if (!file.name.endsWith('.gz')) return await file.text();
  try {
    return await new Response(file.stream().pipeThrough(new DecompressionStream('gzip'))).text();
  } catch {
    return await file.text();
  }
}

/** A file can be dropped anywhere. Returns what ends it. */
function onDrop(take: (files: FileList | null | undefined) => void): () => void {
  const over = (event: DragEvent): void => event.preventDefault();
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    take(event.dataTransfer?.files);
  };
  addEventListener('dragover', over);
  addEventListener('drop', drop);
  return () => {
    removeEventListener('dragover', over);
    removeEventListener('drop', drop);
  };
}

function toggleHelp(store: Store): void {
  store.isHelpOpen = !store.isHelpOpen;
  store.draw();
}

function Watches({ watches }: { readonly watches: Store['state']['watches'] }) {
  const entries = Object.entries(watches);
  if (entries.every(([, { state }]) => state === 'live')) return null;
  return (
    <span class="watches" role="status">
      {entries.map(([resource, { state }]) => (
        <span key={resource} class={state === 'live' ? 'ok' : 'warn'}>
          {resource}: {state}
        </span>
      ))}
    </span>
  );
}

function Welcome() {
  return (
    <div class="empty">
      <p>Nothing to see yet.</p>
      <p>
        Builds appear here when they run. To look at a recording, drop its file on this page, or press <kbd>o</kbd>.
      </p>
    </div>
  );
}

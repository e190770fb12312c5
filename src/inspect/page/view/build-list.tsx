/** All builds, newest first: their state, their containers as one strip, and how long they took. */
import type { BuildState } from '../../../events/state.ts';
import type { Store } from '../model/store.ts';
import { endAt, endOfBuild, sayDuration, sayTime, startOf, toneOfBuild, toneOfContainer } from '../model/words.ts';
import { memo } from './memo.ts';
import { Rows } from './rows.tsx';

const rowHeight = 34;

export function BuildList({ store }: { readonly store: Store }) {
  const all = Object.values(store.state.builds).reverse();
  const { filter } = store.route;
  const builds = filter === '' ? all : all.filter((build) => matches(build, filter));
  return (
    <section class="list">
      <div class="bar">
        <input
          type="search"
          placeholder="Filter by name, state, image, cause"
          aria-label="Filter"
          value={filter}
          onInput={(event) => store.go({ filter: event.currentTarget.value })}
        />
        <span class="muted" data-test="count">
          {builds.length === all.length ? `${all.length} builds` : `${builds.length} of ${all.length} builds`}
        </span>
        <Counts builds={all} />
      </div>
      <Rows
        class="builds"
        label="Builds"
        count={builds.length}
        rowHeight={rowHeight}
        row={(index) => {
          const build = builds[index];
          if (build === undefined) return null;
          const end = endAt(build);
          // Only what still runs is drawn again as time passes.
          const until = end ?? store.now;
          return <Row key={build.id} build={build} until={until} store={store} />;
        }}
      />
    </section>
  );
}

/** Every word must be in something that is said of the build. */
export function matches(build: BuildState, filter: string): boolean {
  const text = [
    build.name,
    build.id,
    endOfBuild(build),
    build.pod?.ref.name,
    build.pod?.node,
    ...build.containers.flatMap(({ name, image, state, outcome }) => [
      name,
      image,
      state,
      outcome !== null && 'cause' in outcome ? outcome.cause : '',
      outcome !== null && 'class' in outcome ? outcome.class : '',
    ]),
  ]
    .join(' ')
    .toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function Counts({ builds }: { readonly builds: readonly BuildState[] }) {
  const counts = Map.groupBy(builds, endOfBuild);
  return (
    <span class="counts">
      {[...counts].map(([state, some]) => (
        <span key={state} class={`chip ${toneOfBuild(some[0] as BuildState)}`}>
          {some.length} {state}
        </span>
      ))}
    </span>
  );
}

const Row = memo(({ build, until, store }: { build: BuildState; until: number; store: Store }) => {
  const tone = toneOfBuild(build);
  return (
    <li>
      <button
        type="button"
        class="build-row"
        data-row={build.id}
        onClick={() => store.go({ build: build.id, container: null })}
      >
        <span class={`dot ${tone}`} />
        <span class="name">{build.name}</span>
        <span class={`word ${tone}`}>{endOfBuild(build)}</span>
        <Strip build={build} />
        <span class="time">{sayTime(startOf(build))}</span>
        <span class="time">{sayDuration(until - startOf(build))}</span>
      </button>
    </li>
  );
});

const cell = 9;

const Strip = memo(({ build }: { build: BuildState }) => (
  <svg class="strip" width={build.containers.length * cell} height="14" aria-hidden="true">
    {build.containers.map((container, index) => (
      <rect
        key={container.name}
        class={`fill ${toneOfContainer(container)}`}
        x={index * cell}
        width={cell - 2}
        height="14"
        rx="1.5"
      />
    ))}
  </svg>
));

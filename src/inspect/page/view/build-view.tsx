/** One build: its head, the time line of its containers, and what is asked of one of them. */
import type { BuildState } from '../../../events/state.ts';
import { type Tab, tabs } from '../model/route.ts';
import type { Store } from '../model/store.ts';
import { endAt, endOfBuild, sayDuration, startOf, toneOfBuild } from '../model/words.ts';
import { Gantt } from './gantt.tsx';
import { KubeEvents } from './kube-events.tsx';
import { Log } from './log.tsx';
import { Machines } from './machines.tsx';
import { Verdict } from './verdict.tsx';

const titles: Readonly<Record<Tab, string>> = {
  machines: 'Machines',
  verdict: 'Verdict',
  log: 'Log',
  events: 'Kubernetes Events',
};

export function BuildView({ store, build }: { readonly store: Store; readonly build: BuildState }) {
  const { tab } = store.route;
  const container = build.containers.find(({ name }) => name === store.route.container) ?? build.containers[0];
  const tone = toneOfBuild(build);
  return (
    <article class="build">
      <div class="build-head">
        <button type="button" aria-label="All builds" onClick={() => store.go({ build: null, container: null })}>
          ←
        </button>
        <h1>{build.name}</h1>
        <span class={`chip ${tone}`} data-test="build-state">
          {endOfBuild(build)}
        </span>
        <span class="muted">{sayDuration((endAt(build) ?? store.now) - startOf(build))}</span>
        {build.pod === null ? null : (
          <span class="muted">
            pod {build.pod.ref.namespace}/{build.pod.ref.name}
            {build.pod.node === null ? '' : ` on ${build.pod.node}`}
          </span>
        )}
        {build.pod?.cause ? <span class="chip bad">{build.pod.cause}</span> : null}
      </div>
      <Gantt store={store} build={build} selected={container?.name ?? null} />
      <div class="tabs" role="tablist">
        {tabs.map((one) => (
          <button
            key={one}
            type="button"
            role="tab"
            aria-selected={one === tab}
            data-test={`tab-${one}`}
            onClick={() => store.go({ tab: one })}
          >
            {titles[one]}
          </button>
        ))}
        <span class="muted">{tab === 'events' ? '' : container?.name}</span>
      </div>
      <div class="panel" role="tabpanel" aria-label={titles[tab]}>
        {tab === 'machines' ? <Machines store={store} build={build} container={container} /> : null}
        {tab === 'verdict' && container !== undefined ? (
          <Verdict store={store} build={build} container={container} />
        ) : null}
        {tab === 'log' && container !== undefined ? (
          <Log key={`${build.id}/${container.name}`} store={store} build={build.id} container={container.name} />
        ) : null}
        {tab === 'events' ? <KubeEvents build={build} /> : null}
      </div>
    </article>
  );
}

/** The three machines of a build as they are at the moment that is shown. */
import { buildMachine } from '../../../../machines/build.ts';
import { containerMachine } from '../../../../machines/container.ts';
import { podMachine } from '../../../../machines/pod.ts';
import type { BuildState, ContainerState, Step } from '../../../events/state.ts';
import type { Store } from '../model/store.ts';
import { ChartView } from './chart.tsx';
import { type Chart, layOut, type MachineLike } from './chart-layout.ts';

const charts = {
  build: layOut(buildMachine as unknown as MachineLike),
  pod: layOut(podMachine as unknown as MachineLike),
  container: layOut(containerMachine as unknown as MachineLike),
};

interface MachinesProps {
  readonly store: Store;
  readonly build: BuildState;
  readonly container: ContainerState | undefined;
}

export function Machines({ build, container }: MachinesProps) {
  const badges = new Map<string, number>();
  for (const { state } of build.containers) badges.set(state, (badges.get(state) ?? 0) + 1);
  return (
    <div class="machines">
      {container === undefined ? null : (
        <Drawn
          chart={charts.container}
          title={`container ${container.name}`}
          history={container.history}
          badges={badges}
        />
      )}
      <Drawn chart={charts.pod} title={`pod ${build.pod?.ref.name ?? ''}`} history={build.pod?.history ?? []} />
      <Drawn chart={charts.build} title={`build ${build.name}`} history={build.history} />
    </div>
  );
}

interface DrawnProps {
  readonly chart: Chart;
  readonly title: string;
  readonly history: readonly Step<string>[];
  readonly badges?: ReadonlyMap<string, number>;
}

function Drawn({ chart, title, history, badges }: DrawnProps) {
  const current = history.at(-1) ?? null;
  const before = history.at(-2) ?? null;
  const last = current === null || before === null ? null : { from: before.state, to: current.state, seq: current.seq };
  return (
    <ChartView
      chart={chart}
      title={title}
      current={current?.state ?? null}
      last={last}
      visited={new Set(history.map(({ state }) => state))}
      {...(badges === undefined ? {} : { badges })}
    />
  );
}

/** Why a container is in its state: each change, and the very observation that made it. */
import { useState } from 'preact/hooks';
import type { BuildState, ContainerState } from '../../../events/state.ts';
import type { ContainerChanged } from '../../../events/types.ts';
import type { Store } from '../model/store.ts';
import { sayOutcome, sayTime, toneOfContainer } from '../model/words.ts';

type Change = ContainerChanged & { readonly seq: number; readonly at: number };

interface VerdictProps {
  readonly store: Store;
  readonly build: BuildState;
  readonly container: ContainerState;
}

export function Verdict({ store, build, container }: VerdictProps) {
  const [chosen, choose] = useState<number | null>(null);
  const changes = changesOf(store, build.id, container.name);
  const shown = changes.find(({ seq }) => seq === chosen) ?? changes.at(-1);
  const outcome = shown?.outcome ?? container.outcome;
  return (
    <div class="verdict">
      <div>
        <p class={`verdict-word ${toneOfContainer(container)}`} data-test="verdict">
          {sayOutcome(container.outcome)}
        </p>
        <table class="table">
          <thead>
            <tr>
              <th>Time</th>
              <th>Change</th>
              <th>Decided by</th>
            </tr>
          </thead>
          <tbody>
            {changes.map((change) => (
              <tr key={change.seq} class={change.seq === shown?.seq ? 'chosen' : ''}>
                <td class="time">
                  <button type="button" class="link" onClick={() => choose(change.seq)}>
                    {sayTime(change.at)}
                  </button>
                </td>
                <td>
                  {change.from} → {change.to}
                </td>
                <td>{decidedBy(change)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {shown === undefined ? <p class="empty">Nothing has happened to it.</p> : <Facts change={shown} />}
      </div>
      <div>
        <h2>{evidenceTitle(shown)}</h2>
        <pre class="json" data-test="evidence">
          {shown?.evidence ? JSON.stringify(shown.evidence.object, null, 2) : JSON.stringify(outcome, null, 2)}
        </pre>
      </div>
    </div>
  );
}

/** All changes of the container up to the moment that is shown. */
function changesOf(store: Store, build: string, container: string): readonly Change[] {
  const changes: Change[] = [];
  const { events } = store.timeline;
  for (let i = 0; i < store.count; i++) {
    const event = events[i];
    if (event?.type === 'container.changed' && event.build === build && event.container === container)
      changes.push(event);
  }
  return changes;
}

function decidedBy({ provenance, evidence }: Change): string {
  const source = provenance?.source ?? evidence?.kind ?? 'podStatus';
  const words: Readonly<Record<string, string>> = {
    podStatus: 'the status of the pod',
    kubeEvent: 'a Kubernetes Event',
    time: 'time',
    caller: 'the caller',
  };
  return words[source] ?? source;
}

function evidenceTitle(change: Change | undefined): string {
  if (change?.evidence === undefined || change.evidence === null) return 'Outcome';
  return change.evidence.kind === 'kubeEvent' ? 'The Kubernetes Event' : 'The status that was seen';
}

function Facts({ change }: { readonly change: Change }) {
  const { outcome, provenance } = change;
  const facts: (readonly [string, string | null | undefined])[] = [
    ['Image', change.image],
    ['Message', outcome !== null && 'message' in outcome ? outcome.message : null],
    ['Started', outcome !== null && 'startedAt' in outcome ? outcome.startedAt : null],
    ['Finished', outcome?.outcome === 'terminated' ? outcome.finishedAt : null],
    ['Attempts', outcome?.outcome === 'pullFailed' ? String(outcome.attempts) : null],
    ['Would a retry help', outcome?.outcome === 'pullFailed' ? (outcome.permanent ? 'no' : 'it may') : null],
    ['Resource version', provenance?.resourceVersion],
    ['Container', provenance?.containerID],
    ['Event', provenance?.eventUid],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value]) =>
        value === null || value === undefined || value === '' ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/**
 * A build as one HTML page that needs nothing else: time line, logs, and on what each verdict rests.
 *
 * No script, so that it opens from a mail or an artifact store as well as from a disk.
 */
import { stripVTControlCharacters } from 'node:util';
import type { SettledOutcome } from '../../../machines/outcome.ts';
import type { BuildResult, StepResult } from '../../executor/result.ts';
import { stepName, verdictText } from '../output/summary.ts';
import { durationText, explainOutcome, statusText } from '../output/words.ts';
import { htmlStyle } from './html-style.ts';
import { type BuildRecord, stepKey } from './record.ts';

export function htmlReport(record: BuildRecord): string {
  const { result, setup } = record;
  const title = `${setup?.file ?? result.id}: ${result.outcome}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escapeHtml(title)}</title>
<style>${htmlStyle}</style>
</head>
<body>
<header class="${result.outcome}">
<h1>${escapeHtml(setup?.file ?? result.id)}</h1>
<p class="verdict">${escapeHtml(verdictText(result))}</p>
${facts(record)}
</header>
<main>
${error(result)}
${timeline(result)}
<section><h2>Steps</h2>
${result.steps.map((step) => section(step, record.logs.get(stepKey(step)) ?? [])).join('\n')}
</section>
${events(record)}
${notes(record)}
</main>
<footer>podwright ${escapeHtml(setup?.version ?? '')}</footer>
</body>
</html>
`;
}

function facts({ setup, prepared, result }: BuildRecord): string {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['Build', result.id],
    ['Cluster', setup === undefined ? undefined : `${setup.cluster}, Kubernetes ${setup.kubernetes}`],
    ['Pod', prepared === undefined ? undefined : `${prepared.namespace}/${prepared.pod}`],
    ['Placeholder', setup?.placeholder.image],
    ['Started', new Date(result.startedAt).toISOString()],
    ['Took', durationText(result.endedAt - result.startedAt)],
    ['Run again', result.retries === 0 ? undefined : `${result.retries} times`],
  ];
  const shown = rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`],
  );
  return `<dl>${shown.join('')}</dl>`;
}

function error({ error: failure }: BuildResult): string {
  if (failure === null) return '';
  const remedy = failure.remedy === undefined ? '' : `<p>${escapeHtml(failure.remedy)}</p>`;
  return `<section class="error"><h2>${escapeHtml(failure.code)}</h2><pre>${escapeHtml(failure.message)}</pre>${remedy}</section>`;
}

/** Bars from the request of a step to its end, on the time of the whole build. */
function timeline(result: BuildResult): string {
  const span = Math.max(1, result.endedAt - result.startedAt);
  const bars = result.steps.flatMap((step) => {
    if (step.startedAt === null) return [];
    const left = ((step.startedAt - result.startedAt) / span) * 100;
    const width = (((step.endedAt ?? result.endedAt) - step.startedAt) / span) * 100;
    const name = escapeHtml(stepName(step));
    const style = `margin-left:${left.toFixed(2)}%;width:${Math.max(0.5, width).toFixed(2)}%`;
    const time = durationText((step.endedAt ?? result.endedAt) - step.startedAt);
    return [
      `<li><span>${name}</span><div><b class="${step.status}" style="${style}" title="${name}: ${time}"></b></div></li>`,
    ];
  });
  return bars.length === 0 ? '' : `<section><h2>Time line</h2><ol class="timeline">${bars.join('\n')}</ol></section>`;
}

function section(step: StepResult, log: readonly string[]): string {
  const isBad = step.status === 'failed' || step.status === 'error';
  const time = step.startedAt === null || step.endedAt === null ? '' : durationText(step.endedAt - step.startedAt);
  const lines = log.map((line) => escapeHtml(stripVTControlCharacters(line))).join('\n');
  const text = log.length === 0 ? '<p class="none">No output.</p>' : `<pre class="log" tabindex="0">${lines}</pre>`;
  return `<details${isBad ? ' open' : ''}>
<summary><i class="${step.status}"></i><span class="name">${escapeHtml(stepName(step))}</span><span class="status">${escapeHtml(statusText(step))}</span><time>${time}</time></summary>
<p class="image">${escapeHtml(step.image)}</p>
${step.outcome === null ? '' : provenance(step.outcome)}
${step.startedAt === null ? '' : text}
</details>`;
}

/** Which observation decided, for whoever doubts the verdict. */
function provenance(outcome: SettledOutcome): string {
  const { what, said, remedy } = explainOutcome(outcome);
  const { source, decidedAt, resourceVersion, containerID, eventUid } = outcome.provenance;
  const rows: readonly (readonly [string, string | null | undefined])[] = [
    ['Verdict', what],
    ['The cluster says', said],
    ['What to do', remedy],
    ['Decided by', sources[source]],
    ['Decided at', new Date(decidedAt).toISOString()],
    ['Resource version', resourceVersion],
    ['Container', containerID],
    ['Event', eventUid],
  ];
  const shown = rows.flatMap(([name, value]) =>
    value == null || value === '' ? [] : [`<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`],
  );
  return `<dl>${shown.join('')}</dl>`;
}

const sources = {
  podStatus: 'the status of the pod',
  kubeEvent: 'a Kubernetes Event',
  time: 'a time limit',
  caller: 'whoever ran the build',
} as const;

function events({ events: list }: BuildRecord): string {
  if (list.length === 0) return '';
  const rows = list.map(({ at, reason, message, isWarning, container }) => {
    const about = container === null ? '' : ` <em>${escapeHtml(container)}</em>`;
    const time = new Date(at).toISOString().slice(11, 23);
    return `<li${isWarning ? ' class="warning"' : ''}><time>${time}</time> <strong>${escapeHtml(reason)}</strong>${about} ${escapeHtml(message)}</li>`;
  });
  return `<section><details><summary>Kubernetes Events (${list.length})</summary><ol class="events">${rows.join('\n')}</ol></details></section>`;
}

function notes({ prepared, setup }: BuildRecord): string {
  const all = [
    ...(setup?.warnings ?? []),
    ...(prepared?.plan.notes ?? []),
    ...(setup?.isEmbedded === true ? [] : (prepared?.limits ?? [])),
  ];
  if (all.length === 0) return '';
  return `<section><h2>Notes</h2><ul>${all.map((note) => `<li>${escapeHtml(note)}</li>`).join('')}</ul></section>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** Puts the log lines of an executor's build, with their secrets masked, where the events are. */
import type { EventHub } from '../events/hub.ts';
import type { ExecutorEvent } from '../executor/events.ts';

export function publishLogs(hub: EventHub): (event: ExecutorEvent) => void {
  let build = '';
  return (event) => {
    if (event.type === 'build.prepared') build = event.build;
    if (event.type === 'step.log') {
      const { line: text, time, gap } = event;
      hub.appendLine(build, event.step.container, { time, text, gap: gap === null ? null : gap.reason });
    }
    if (event.type === 'step.settled') hub.endLines(build, event.step.container);
  };
}

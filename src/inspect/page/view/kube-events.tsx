/** The Kubernetes Events of the build's pod, newest last. */
import type { BuildState } from '../../../events/state.ts';
import { sayTime } from '../model/words.ts';
import { memo } from './memo.ts';

export const KubeEvents = memo(({ build }: { build: BuildState }) =>
  build.kubeEvents.length === 0 ? (
    <p class="empty">No Event of its pod has come.</p>
  ) : (
    <table class="table">
      <thead>
        <tr>
          <th>Time</th>
          <th>Container</th>
          <th>Reason</th>
          <th>Message</th>
          <th>Count</th>
        </tr>
      </thead>
      <tbody>
        {build.kubeEvents.map((event) => (
          <tr key={event.seq} class={event.level === 'Warning' ? 'warning' : ''}>
            <td class="time">{sayTime(event.at)}</td>
            <td>{event.container}</td>
            <td>{event.reason}</td>
            <td class="message">{event.message}</td>
            <td>{event.count}</td>
          </tr>
        ))}
      </tbody>
    </table>
  ),
);

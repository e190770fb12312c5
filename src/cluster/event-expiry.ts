/** Events live an hour from their last write; then they are gone, and watchers are told (k8s `--event-ttl`). */
import type { Clock } from '../clock.ts';
import type { RevisionStore } from './store/revisions.ts';

const lifetimeMs = 3_600_000;
const sweepMs = 60_000;

/** Goes on until the clock is closed. */
export function expireEvents(store: RevisionStore, clock: Clock): void {
  /** When each is due. A write moves its Event to the end: the first is always the oldest. */
  const dueAt = new Map<string, number>();
  store.subscribe('events', ({ key, type }) => {
    dueAt.delete(key);
    if (type !== 'DELETED') dueAt.set(key, clock.now() + lifetimeMs);
  });
  const sweep = (): void => {
    for (const [key, due] of dueAt) {
      if (due > clock.now()) break;
      store.remove('events', key);
    }
    clock.schedule(sweepMs, sweep);
  };
  clock.schedule(sweepMs, sweep);
}

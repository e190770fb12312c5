/** What all verbs of one runtime share. */
import type { Clock } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Logger } from '../logger.ts';
import type { Watches } from './watches.ts';

export interface Core {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly owner: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly watches: Watches;
}

/** What each part of the cluster that is a client of its API server is given. */
import type { Clock } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import type { ApiClient } from '../client.ts';
import type { Profile } from '../profile.ts';
import type { Random } from '../random.ts';
import type { Timings } from '../timings.ts';

export interface ControllerOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly profile: Profile;
  readonly timings: Timings;
  readonly logger: Logger;
}

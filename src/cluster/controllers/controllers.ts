/** The controllers that clients of pods can notice: namespaces, owners, silent nodes. Clients of the API server. */
import type { Clock } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import type { ApiClient } from '../client.ts';
import type { Profile } from '../profile.ts';
import type { Random } from '../random.ts';
import type { Timings } from '../timings.ts';
import { NamespaceController } from './namespaces.ts';
import { NodeController } from './nodes.ts';
import { OwnerController } from './owners.ts';

export interface ControllerOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly profile: Profile;
  readonly timings: Timings;
  readonly logger: Logger;
}

interface Controller {
  start(): Promise<void>;
  stop(): Promise<void>;
}

export class Controllers implements Controller {
  readonly #all: readonly Controller[];

  constructor(options: ControllerOptions) {
    this.#all = [new NamespaceController(options), new OwnerController(options), new NodeController(options)];
  }

  async start(): Promise<void> {
    await Promise.all(this.#all.map((one) => one.start()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((one) => one.stop()));
  }
}

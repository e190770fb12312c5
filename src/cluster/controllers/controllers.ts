/** The controllers that clients of pods can notice: namespaces, owners, silent nodes. Clients of the API server. */
import { NamespaceController } from './namespaces.ts';
import { NodeController } from './nodes.ts';
import type { ControllerOptions } from './options.ts';
import { OwnerController } from './owners.ts';

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

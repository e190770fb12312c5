/** A server with a hub behind it, closed at the end of the test. */
import { onTestFinished } from 'vitest';
import type { VirtualClock } from '../../../src/clock.ts';
import { systemClock } from '../../../src/clock.ts';
import { type EventServer, type EventServerOptions, startEventServer } from '../../../src/events/http/server.ts';
import { skaffoldRoutes } from '../../../src/events/http/skaffold-routes.ts';
import { v3Routes } from '../../../src/events/http/v3-routes.ts';
import type { EventHub, EventHubOptions } from '../../../src/events/hub.ts';
import { aHub } from '../helpers.ts';

export async function aServer(
  options: Partial<EventServerOptions> & { readonly hub?: Partial<EventHubOptions> } = {},
): Promise<{ hub: EventHub; clock: VirtualClock; server: EventServer }> {
  const { hub: hubOptions, ...serverOptions } = options;
  const { hub, clock } = aHub(hubOptions);
  const hooks = { clock: systemClock };
  const routes = [...skaffoldRoutes(hub, hooks), ...v3Routes(hub, hooks)];
  const server = await startEventServer({ routes, ...serverOptions });
  onTestFinished(() => server.close({ drainMs: 0 }));
  return { hub, clock, server };
}

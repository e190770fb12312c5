/** A page of the inspector in a real Chromium, with a hub behind it; everything is closed at the end of the test. */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page, selectors } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type EventServer, type EventServerOptions, startEventServer } from '../../src/events/http/server.ts';
import { skaffoldRoutes } from '../../src/events/http/skaffold-routes.ts';
import { v3Routes } from '../../src/events/http/v3-routes.ts';
import { EventHub } from '../../src/events/hub.ts';
import { inspectorRoutes } from '../../src/inspect/routes.ts';

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** Call at the top of a test file: one browser for all of its tests. */
export function useBrowser(): { page(options?: BrowserContextOptions): Promise<WatchedPage> } {
  let browser: Browser;
  beforeAll(async () => {
    if (!existsSync(executablePath)) {
      throw new Error(
        `no Chromium at ${executablePath}: install it (Debian: apt-get install chromium) or set CHROMIUM`,
      );
    }
    selectors.setTestIdAttribute('data-test');
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  });
  afterAll(() => browser.close());
  return {
    page: async (options = {}) => {
      const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, ...options });
      onTestFinished(() => context.close());
      const page = await context.newPage();
      const faults: string[] = [];
      const requests: string[] = [];
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
      });
      page.on('request', (request) => requests.push(request.url()));
      return { page, faults, requests };
    },
  };
}

export interface WatchedPage {
  readonly page: Page;
  /** Errors and warnings of the page, also those of its security policy. */
  readonly faults: string[];
  readonly requests: string[];
}

export function aHub(): EventHub {
  return new EventHub({ clock: systemClock, version: '1.2.3', server: 'https://cluster.test' });
}

export async function serve(hub: EventHub, options: Partial<EventServerOptions> = {}): Promise<EventServer> {
  const hooks = { clock: systemClock };
  const routes = [...inspectorRoutes(), ...skaffoldRoutes(hub, hooks), ...v3Routes(hub, hooks)];
  const server = await startEventServer({ routes, ...options });
  onTestFinished(() => server.close({ drainMs: 0 }));
  return server;
}

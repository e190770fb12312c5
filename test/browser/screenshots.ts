/**
 * Takes the pictures of docs/inspector.md: node test/browser/screenshots.ts
 *
 * The builds are made up, on a clock of their own; the recording is one of a real cluster.
 */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { systemClock, VirtualClock } from '../../src/clock.ts';
import { startEventServer } from '../../src/events/http/server.ts';
import { v3Routes } from '../../src/events/http/v3-routes.ts';
import { EventHub } from '../../src/events/hub.ts';
import { inspectorRoutes } from '../../src/inspect/routes.ts';
import { Workload } from './workload.ts';

const out = new URL('../../docs/images/', import.meta.url);
const recording = fileURLToPath(new URL('../traces/1.36.3/rules-pull-flaky.jsonl.gz', import.meta.url));
const failed = fileURLToPath(new URL('../traces/1.36.3/rules-pull-not-found-then-fixed.jsonl.gz', import.meta.url));

const clock = new VirtualClock(Date.parse('2026-03-02T09:12:00Z'));
const hub = new EventHub({ clock, version: '0.1.0', server: 'https://cluster.example' });
let turn = 0;
hub.listen(() => clock.advance(20 + ((turn++ * 7919) % 400)));
for (let round = 0; round < 6; round++) {
  const work = new Workload(hub, {
    builds: 7,
    containers: 6 + round,
    prefix: `team/service-${'abcdef'[round]} #${140 + round}`,
  });
  if (round < 4) work.toTheEnd();
  else work.step(200);
}
const big = new Workload(hub, { builds: 1, containers: 12, prefix: 'team/monorepo #77' });
big.step(5 + 6 * 9 + 4);
for (let line = 1; line <= 400; line++) {
  const verb = line % 17 === 0 ? 'FAIL' : 'ok  ';
  const text = `${verb} github.com/team/monorepo/internal/package${line % 40} ${(line * 0.0137).toFixed(3)}s`;
  hub.appendLine('team/monorepo #77-0', 'step-8', { time: '2026-03-02T09:14:00Z', text, gap: null });
}

mkdirSync(out, { recursive: true });
const server = await startEventServer({ routes: [...inspectorRoutes(), ...v3Routes(hub, { clock: systemClock })] });
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
const build = encodeURIComponent('team/monorepo #77-0');
await shoot('inspector-builds', {}, async (page) => {
  await page.goto(server.url);
  await page.getByText(/builds$/).waitFor();
});
await shoot('inspector-machines', {}, async (page) => {
  await page.goto(`${server.url}/#/build/${build}/step-9/machines`);
  await page.locator('[data-chart=container]').waitFor();
});
await shoot('inspector-log', { colorScheme: 'dark' }, async (page) => {
  await page.goto(`${server.url}/#/build/${build}/step-8/log`);
  await page.getByLabel('Search in the log').fill('FAIL');
  await page.locator('.line.hit').waitFor();
});
await shoot('inspector-verdict', { colorScheme: 'dark' }, async (page) => {
  await page.goto(server.url);
  await page.locator('input[type=file]').setInputFiles(failed);
  await page.locator('[data-chart=container]').waitFor();
  await page.keyboard.press('2');
  await page.locator('.verdict').waitFor();
});
await shoot('inspector-recording', {}, async (page) => {
  await page.goto(server.url);
  await page.locator('input[type=file]').setInputFiles(recording);
  await page.locator('[data-chart=container]').waitFor();
  for (let i = 0; i < 8; i++) await page.keyboard.press('ArrowLeft');
});
await shoot('inspector-phone', { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 }, async (page) => {
  await page.goto(`${server.url}/#/build/${build}/step-9/machines`);
  await page.locator('[data-chart=container]').waitFor();
});
await browser.close();
await server.close();

async function shoot(name: string, options: BrowserContextOptions, open: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, ...options });
  const page = await context.newPage();
  await open(page);
  // The last transition's run along its arrow is over by then.
  await page.waitForTimeout(1200);
  await page.screenshot({ path: fileURLToPath(new URL(`${name}.png`, out)) });
  await context.close();
}

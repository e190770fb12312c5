// The inspector in a real browser: it opens, follows, filters, scrubs, replays, comes back after a restart, and does
// not freeze with 200 builds of 20 containers.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { EventServer } from '../../src/events/http/server.ts';
import type { EventHub } from '../../src/events/hub.ts';
import { aHub, serve, useBrowser } from './helpers.ts';
import { Workload } from './workload.ts';

const browser = useBrowser();
const recording = fileURLToPath(new URL('../traces/1.36.3/rules-pull-flaky.jsonl.gz', import.meta.url));

describe('following a server', () => {
  test('it opens with the builds that are there, and shows those that come, without a reload', async () => {
    const hub = aHub();
    const server = await serve(hub);
    new Workload(hub, { builds: 2, containers: 3 }).toTheEnd();
    const { page, faults, requests } = await browser.page();
    await page.goto(server.url);
    await page.getByText('2 builds', { exact: true }).waitFor();
    expect(await page.getByTestId('connection').textContent()).toBe('live');
    new Workload(hub, { builds: 1, containers: 3, prefix: 'later' }).toTheEnd();
    await page.getByText('3 builds', { exact: true }).waitFor();
    await page.getByText('later-0').waitFor();
    expect(faults).toEqual([]);
    expect(requests.filter((url) => !url.startsWith(server.url) && !url.startsWith('data:'))).toEqual([]);
  });

  test('the machines of a build move as it runs', async () => {
    const hub = aHub();
    const server = await serve(hub);
    const work = new Workload(hub, { builds: 1, containers: 2 });
    work.step(4);
    const { page, faults } = await browser.page();
    await page.goto(`${server.url}/#/build/build-0/step-0/machines`);
    const chart = page.locator('[data-chart=container]');
    for (const state of ['pulling', 'pending', 'running', 'terminated']) {
      work.until('step-0', state);
      await page.locator(`[data-chart=container][data-state=${state}]`).waitFor();
      await chart.locator(`.node.current.state-${state}`).waitFor();
    }
    // The arrow of the last transition is lit, and what ran along it is there.
    expect(await chart.locator('.edge.last').count()).toBe(1);
    expect(await chart.locator('.token').count()).toBe(1);
    await page.locator('[data-chart=pod][data-state=running]').waitFor();
    expect(faults).toEqual([]);
  });

  test('the time line has pull, start and run of each container', async () => {
    const hub = aHub();
    const server = await serve(hub);
    new Workload(hub, { builds: 1, containers: 3 }).toTheEnd();
    const { page } = await browser.page();
    await page.goto(`${server.url}/#/build/build-0`);
    await page.locator('[data-container=step-2]').waitFor();
    const bars = await page.locator('[data-bar]').evaluateAll((all) => all.map((bar) => bar.getAttribute('data-bar')));
    expect(bars.filter((bar) => bar === 'pull').length).toBe(3);
    expect(bars.filter((bar) => bar === 'run').length).toBeGreaterThanOrEqual(2);
    expect(bars).toContain('start');
  });

  test('the verdict shows the observation that made it, as raw JSON', async () => {
    const hub = aHub();
    const server = await serve(hub);
    new Workload(hub, { builds: 1, containers: 1 }).toTheEnd();
    const { page } = await browser.page();
    await page.goto(`${server.url}/#/build/build-0/step-0/verdict`);
    await page.getByTestId('verdict').getByText('completed, exit 0').waitFor();
    const evidence = JSON.parse((await page.getByTestId('evidence').textContent()) ?? '');
    expect(evidence).toMatchObject({ container: { name: 'step-0', state: { terminated: { exitCode: 0 } } } });
  });

  test('the log follows, is searched, and draws only the lines in sight', async () => {
    const hub = aHub();
    const server = await serve(hub);
    new Workload(hub, { builds: 1, containers: 1 }).toTheEnd();
    const line = (n: number): void =>
      hub.appendLine('build-0', 'step-0', {
        time: '2026-01-01T00:00:00Z',
        text: `line ${n} <b>of</b> many`,
        gap: null,
      });
    for (let n = 1; n <= 5000; n++) line(n);
    const { page, faults } = await browser.page();
    await page.goto(`${server.url}/#/build/build-0/step-0/log`);
    await page.getByText('line 5000 <b>of</b> many').waitFor();
    expect(await page.locator('.line').count()).toBeLessThan(120);
    line(5001);
    await page.getByText('line 5001 <b>of</b> many').waitFor();
    await page.getByLabel('Search in the log').fill('line 77 ');
    await page.getByTestId('hits').getByText('1 of 1 lines').waitFor();
    expect(await page.locator('.line.hit mark').textContent()).toBe('line 77 ');
    await page.getByLabel('Search in the log').fill('no such text');
    await page.getByText('nothing found').waitFor();
    hub.endLines('build-0', 'step-0');
    await page.getByText('5001 lines, complete').waitFor();
    expect(faults).toEqual([]);
  });

  test('the filter leaves what matches, and is in the address', async () => {
    const hub = aHub();
    const server = await serve(hub);
    new Workload(hub, { builds: 12, containers: 2 }).toTheEnd();
    const { page } = await browser.page();
    await page.goto(server.url);
    await page.getByLabel('Filter').fill('build-1 succeeded');
    await page.getByText(/^\d+ of 12 builds$/).waitFor();
    const names = await page
      .locator('[data-row]')
      .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-row')));
    expect(names.length).toBeGreaterThan(0);
    expect(names.every((name) => name?.startsWith('build-1'))).toBe(true);
    await expect.poll(() => page.url()).toContain('filter=build-1+succeeded');
    await page.reload();
    await page.getByText(/^\d+ of 12 builds$/).waitFor();
  });

  test('the past can be looked at while the present goes on, and back', async () => {
    const hub = aHub();
    const server = await serve(hub);
    const work = new Workload(hub, { builds: 1, containers: 1 });
    work.until('step-0', 'running');
    const running = hub.events.last;
    work.toTheEnd();
    const { page } = await browser.page();
    await page.goto(`${server.url}/#/build/build-0/step-0/machines?at=${running}`);
    await page.locator('[data-chart=container][data-state=running]').waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.locator('[data-chart=container]:not([data-state=running])').waitFor();
    await page.keyboard.press('l');
    await page.locator('[data-chart=container][data-state=terminated]').waitFor();
    await expect.poll(() => page.url()).not.toContain('at=');
  });

  test('it comes back by itself after the server was restarted, with the new server’s builds', async () => {
    const first = aHub();
    const server = await serveOutsideOfChance(first);
    new Workload(first, { builds: 3, containers: 1, prefix: 'old' }).toTheEnd();
    const { page } = await browser.page();
    await page.goto(server.url);
    await page.getByText('3 builds', { exact: true }).waitFor();
    await server.close({ drainMs: 0 });
    await page.getByText('connection lost, trying again').waitFor();
    const second = aHub();
    new Workload(second, { builds: 1, containers: 1, prefix: 'new' }).toTheEnd();
    await serve(second, { port: server.port });
    await page.getByText('new-0').waitFor();
    await page.getByText('1 builds', { exact: true }).waitFor();
    expect(await page.getByTestId('connection').textContent()).toBe('live');
  });

  test('the browser’s back button leads from a build to the list, and forward again', async () => {
    const hub = aHub();
    const server = await serve(hub);
    new Workload(hub, { builds: 2, containers: 2 }).toTheEnd();
    const { page } = await browser.page();
    await page.goto(server.url);
    await page.locator('[data-row]').first().click();
    await page.locator('h1', { hasText: 'build-1' }).waitFor();
    await page.keyboard.press('2');
    await expect.poll(() => page.url()).toContain('/verdict');
    await page.goBack();
    await page.getByText('2 builds', { exact: true }).waitFor();
    await page.goForward();
    await page.locator('h1', { hasText: 'build-1' }).waitFor();
    await page.locator('[data-test=tab-verdict][aria-selected=true]').waitFor();
  });

  test('the keys alone are enough', async () => {
    const hub = aHub();
    const server = await serve(hub);
    new Workload(hub, { builds: 3, containers: 3 }).toTheEnd();
    const { page } = await browser.page();
    await page.goto(server.url);
    await page.getByText('3 builds', { exact: true }).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.locator('h1', { hasText: 'build-1' }).waitFor();
    await page.keyboard.press('j');
    await page.locator('[data-container=step-1][aria-selected=true]').waitFor();
    await page.keyboard.press('2');
    await page.locator('[data-test=tab-verdict][aria-selected=true]').waitFor();
    await page.keyboard.press('?');
    await page.locator('dialog.help').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('dialog.help').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.getByText('3 builds', { exact: true }).waitFor();
  });
});

describe('a recording', () => {
  test('opened from a file by a page from a file, it is played by the machines that ship', async () => {
    const { page, faults, requests } = await browser.page();
    await page.goto(await pageFile());
    await page.getByTestId('file').setInputFiles(recording);
    await page.locator('[data-chart=container][data-state=terminated]').waitFor();
    await page.getByTestId('tab-verdict').click();
    await page.getByTestId('verdict').getByText('completed, exit 0').waitFor();
    await page.getByTestId('tab-events').click();
    await page.getByText('503 Service Unavailable').first().waitFor();
    expect(faults).toEqual([]);
    expect(requests.filter((url) => !url.startsWith('file:') && !url.startsWith('data:'))).toEqual([]);
  });

  test('plays from its beginning to its end', async () => {
    const { page, faults } = await browser.page();
    await page.clock.install();
    await page.goto(await pageFile());
    await page.getByTestId('file').setInputFiles(recording);
    const chart = page.locator('[data-chart=container]');
    await page.locator('[data-chart=container][data-state=terminated]').waitFor();
    // The page's own time moves only when told: no state is too short to be drawn.
    await page.clock.pauseAt(Date.now() + 3_600_000);
    await page.getByLabel('Speed').selectOption('4');
    const states = new Set<string | null>();
    do {
      await page.clock.runFor(100);
      states.add(await chart.getAttribute('data-state'));
    } while ((await page.getByTestId('play').getAttribute('aria-label')) === 'Pause');
    expect([...states]).toEqual(['pending', 'pulling', 'running', 'terminated']);
    expect(faults).toEqual([]);
  });

  test('a file that is none is refused in words', async () => {
    const { page, faults } = await browser.page();
    await page.goto(await pageFile());
    const put = (name: string, text: string): Promise<void> =>
      page.getByTestId('file').setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
    await put('package.json', '{"name":"x"}\n');
    await page.getByRole('alert').getByText('is neither a recording nor saved events').waitFor();
    await put('half.jsonl', gunzipSync(readFileSync(recording)).toString().slice(0, 5000));
    await page
      .getByRole('alert')
      .getByText(/half\.jsonl/)
      .waitFor();
    expect(faults).toEqual([]);
  });

  test('events that were saved from a server are opened too', async () => {
    const hub = aHub();
    const server = await serve(hub);
    new Workload(hub, { builds: 4, containers: 2 }).toTheEnd();
    hub.end('succeeded');
    const saved = await (await fetch(`${server.url}/v3/events?format=ndjson`)).text();
    const { page } = await browser.page();
    await page.goto(await pageFile());
    await page
      .getByTestId('file')
      .setInputFiles({ name: 'saved.ndjson', mimeType: 'text/plain', buffer: Buffer.from(saved) });
    await page.getByText('4 builds', { exact: true }).waitFor();
  });
});

test('its security policy lets nothing that is injected run, and a foreign page cannot frame it', async () => {
  const hub = aHub();
  const server = await serve(hub);
  const response = await fetch(server.url);
  const policy = response.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('unsafe');
  const { page } = await browser.page();
  await page.goto(server.url);
  const ran = await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.injected = true';
    document.body.append(script);
    return 'injected' in window;
  });
  expect(ran).toBe(false);
});

test('with a token it is opened once by an address that has it, and then by its cookie alone', async () => {
  const hub = aHub();
  const token = 'a-token-of-some-length';
  const server = await serve(hub, { token });
  new Workload(hub, { builds: 1, containers: 1 }).toTheEnd();
  const { page } = await browser.page();
  expect((await page.goto(server.url))?.status()).toBe(401);
  await page.goto(`${server.url}/?token=${token}`);
  await page.getByText('1 builds', { exact: true }).waitFor();
  expect(page.url()).not.toContain(token);
  await page.reload();
  await page.getByText('1 builds', { exact: true }).waitFor();
});

test('a name that is markup is shown as text', async () => {
  const hub = aHub();
  const server = await serve(hub);
  const prefix = '<img src=x onerror="window.injected=true">';
  new Workload(hub, { builds: 1, containers: 1, prefix }).toTheEnd();
  const { page } = await browser.page();
  await page.goto(server.url);
  await page.getByText(`${prefix}-0`).waitFor();
  expect(await page.locator('img').count()).toBe(0);
});

test('200 builds of 20 containers arrive and change while the page stays awake', async () => {
  const hub = aHub();
  const server = await serve(hub);
  const work = new Workload(hub, { builds: 200, containers: 20 });
  work.step(8000);
  const { page, faults } = await browser.page();
  await page.addInitScript(() => {
    const tasks: number[] = [];
    Object.assign(globalThis, { tasks });
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({
      type: 'longtask' as 'mark',
      buffered: true,
    });
  });
  await page.goto(server.url);
  await page.getByText('200 builds', { exact: true }).waitFor();
  const tasks = (): Promise<number[]> => page.evaluate(() => (globalThis as unknown as { tasks: number[] }).tasks);
  const loading = await tasks();
  for (let i = 0; i < 60; i++) {
    work.step(200);
    await page.waitForTimeout(50);
    if (i === 20) await page.locator('[data-row]').first().click();
    if (i === 40) await page.keyboard.press('Escape');
  }
  work.toTheEnd();
  await page.getByText(/^200 builds$/).waitFor();
  await page.waitForTimeout(500);
  const all = await tasks();
  const longest = Math.max(0, ...all);
  console.log(
    `${hub.events.last} events; long tasks while loading: ${loading.length} (longest ${Math.max(0, ...loading).toFixed(0)} ms), ` +
      `in all: ${all.length} (longest ${longest.toFixed(0)} ms); rows drawn: ${await page.locator('[data-row]').count()}`,
  );
  // No timing is asserted but this: a page that freezes is broken, on whatever machine.
  expect(longest).toBeLessThan(2000);
  expect(faults).toEqual([]);
});

/**
 * On a port that the kernel gives to nobody who asks for any: nothing takes it while the server is away.
 * Linux hands out those from 32,768 on.
 */
async function serveOutsideOfChance(hub: EventHub): Promise<EventServer> {
  for (let port = 20_000 + (process.pid % 10_000); ; port++) {
    try {
      return await serve(hub, { port });
    } catch (error) {
      if (port > 32_000) throw error;
    }
  }
}

/** The page as a file, as a user has it on disk. */
async function pageFile(): Promise<string> {
  const { mkdtempSync, writeFileSync } = await import('node:fs');
  const { tmpdir } = await import('node:os');
  const { join } = await import('node:path');
  const { loadPage } = await import('../../src/inspect/page-asset.ts');
  const file = join(mkdtempSync(join(tmpdir(), 'podwright-page-')), 'inspector.html');
  writeFileSync(file, (await loadPage()).html);
  return `file://${file}`;
}

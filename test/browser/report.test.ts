// The HTML report of a build, in a real Chromium: complete, without a fault, and readable on a phone.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Folder, podwright } from '../cli/podwright.ts';
import { useBrowser } from './helpers.ts';

const { page: openPage } = useBrowser();
const folder = new Folder();
const report = join(folder.path, 'report.html');
beforeAll(async () => {
  const long = 'a-very-long-word-'.repeat(30);
  const file = folder.file(
    'report.yml',
    `version: "1"
stages:
  build: { steps: [{ name: compile, image: golang:1.24, commands: ["echo '<b>not bold</b> & ${long}'"] }] }
  test: { needs: build, steps: [{ name: unit tests, image: golang:1.24, commands: ["echo failing", "exit 3"] }] }
  deploy: { needs: test, steps: [{ name: push, image: alpine:3, commands: ["true"] }] }
`,
  );
  const { code } = await podwright(['run', file, '--report', `html=${report}`]);
  expect(code).toBe(1);
}, 60_000);
afterAll(() => folder.end());

describe('the report', { timeout: 60_000 }, () => {
  test('tells the verdict, the steps, their logs and on what each verdict rests', async () => {
    const { page, faults, requests } = await openPage();
    await page.goto(pathToFileURL(report).href);
    expect(await page.title()).toMatch(/report\.yml: failed$/);
    expect(await page.locator('.verdict').textContent()).toMatch(/^Build failed after/);
    expect(await page.locator('summary .name').allTextContents()).toEqual(
      expect.arrayContaining(['build/compile', 'test/unit tests', 'deploy/push']),
    );
    const failed = page.locator('details[open]').first();
    expect(await failed.locator('summary').textContent()).toContain('failed: exit code 3');
    expect(await failed.locator('pre').textContent()).toContain('failing');
    expect(await failed.locator('dl').textContent()).toContain('the status of the pod');
    expect(await page.locator('.timeline li').count()).toBe(2);
    expect(await page.locator('main b').count()).toBe(2);
    expect(faults).toEqual([]);
    expect(requests).toEqual([pathToFileURL(report).href]);
  });

  test.each([
    ['light', 'light'],
    ['dark', 'dark'],
  ] as const)('fits a phone (%s)', async (_, colorScheme) => {
    const { page, faults } = await openPage({ viewport: { width: 360, height: 740 }, colorScheme });
    await page.goto(pathToFileURL(report).href);
    await page.locator('summary').first().click();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    const sizes = await page
      .locator('p, dd, dt, pre, summary, li')
      .evaluateAll((elements) => elements.map((element) => Number.parseFloat(getComputedStyle(element).fontSize)));
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(13);
    expect(faults).toEqual([]);
  });
});

/** `podwright cluster`, as a user runs it. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { start } from './podwright.ts';

const folder = mkdtempSync(join(tmpdir(), 'podwright-test-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function server(kubeConfig: string): string {
  return JSON.parse(readFileSync(kubeConfig, 'utf8')).clusters[0].cluster.server;
}

test('it prints the path of its kubeconfig, serves with the faults of the file, and leaves nothing', async () => {
  const file = join(folder, 'faults.yml');
  writeFileSync(file, '- fault: { kind: refuse, code: 503 }\n  match: { resource: pods }\n  times: 1\n');
  const cluster = start(['cluster', '--profile', '1.34', '--backend', 'scripted', '--faults', file]);
  await cluster.seen('kubeconfig: ');
  await cluster.seen('/kubeconfig\n');
  const kubeConfig = cluster.output().match(/^kubeconfig: (.+)$/m)?.[1] ?? '';
  const url = server(kubeConfig);
  expect(await (await fetch(`${url}/version`)).json()).toMatchObject({ gitVersion: 'v1.34.4' });
  const statuses = [];
  for (let at = 0; at < 2; at += 1) statuses.push((await fetch(`${url}/api/v1/namespaces/default/pods`)).status);
  expect(statuses).toEqual([503, 200]);
  cluster.signal('SIGTERM');
  await cluster.ended;
  expect(existsSync(kubeConfig)).toBe(false);
});

test.each([
  ['an unknown kind', '- fault: { kind: rain }', '[0].fault.kind is not known'],
  ['no YAML', '{', 'faults.yml'],
])('%s in the file is told with its place, and nothing starts', async (_what, text, message) => {
  const file = join(folder, 'faults.yml');
  writeFileSync(file, text);
  const { code, err, out } = await start(['cluster', '--faults', file]).ended;
  expect(code).toBe(2);
  expect(out).toBe('');
  expect(err).toContain(message);
});

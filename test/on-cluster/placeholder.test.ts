// Builds with the own placeholder on a real kubelet: any command in any image, at most once. Needs KUBECONFIG and
// KUBELAB (the path of kubelab, to put the image on the node).
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ociArchive } from '../../src/image/oci-archive.ts';
import { placeholderImage } from '../../src/image/placeholder.ts';
import { buildPlaceholderImage } from '../../src/image/placeholder-image.ts';
import type { ContainerSpecRequest } from '../../src/pod/build-spec.ts';
import { type Build, createRuntime, type Runtime } from '../../src/runtime/runtime.ts';
import { images, kubeConfig, type Lab, openLab } from './lab.ts';

const kubelab = process.env['KUBELAB'];
const isReady = kubeConfig !== undefined && kubelab !== undefined;
if (!isReady) console.log('skipped: builds with the own placeholder, because KUBECONFIG or KUBELAB is not set');

describe.skipIf(!isReady)('builds with the own placeholder', () => {
  let lab: Lab;
  let runtime: Runtime;
  let count = 0;

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'podwright-placeholder-'));
    const archive = join(folder, 'placeholder.tar');
    writeFileSync(archive, ociArchive(await buildPlaceholderImage(), placeholderImage.name));
    execFileSync(kubelab ?? '', ['load', archive]);
    rmSync(folder, { recursive: true });
    lab = await openLab('placeholder');
    const placeholder = { image: placeholderImage.name, entry: true };
    runtime = await createRuntime({ client: lab.client, namespace: lab.namespace, placeholder });
  });
  afterAll(async () => {
    await runtime?.close();
    await lab?.end();
  });

  async function run(...containers: readonly ContainerSpecRequest[]): Promise<Record<string, [unknown, string[]]>> {
    const build = await runtime.setupBuild({ id: `build ${++count}`, containers });
    await runtime.assembleBuild(build);
    const results: Record<string, [unknown, string[]]> = {};
    for (const { name } of containers) {
      await runtime.runContainer(build, name);
      const lines = await log(build, name);
      results[name] = [await runtime.waitContainer(build, name), lines];
    }
    expect(await runtime.removeBuild(build)).toMatchObject({ gone: true, forced: false });
    return results;
  }
  async function log(build: Build, name: string): Promise<string[]> {
    const lines: string[] = [];
    for await (const line of runtime.tailContainer(build, name)) lines.push(line.text);
    return lines;
  }
  const base = { image: images.base, role: 'step' } as const;

  test('scripts, entrypoints and what cannot be started each say what they are', async () => {
    const results = await run(
      { ...base, name: 'script', script: 'echo "$0 $$ > 0"; exit 5', environment: { A: '$(B) $$' } },
      { ...base, name: 'entrypoint', entrypoint: ['/bin/echo', '$(A)', 'a b'], args: ['ünï'] },
      { ...base, name: 'nothing', entrypoint: ['/no/such'] },
    );
    expect(results['script']).toEqual([expect.objectContaining({ exitCode: 5, cause: 'error' }), [expect.any(String)]]);
    expect(results['entrypoint']).toEqual([
      expect.objectContaining({ exitCode: 0, cause: 'completed' }),
      ['$(A) a b ünï'],
    ]);
    const message = expect.stringContaining('not-found') as string;
    expect(results['nothing']?.[0]).toMatchObject({ exitCode: 127, cause: 'error', message });
  });

  test('a step that ends with the placeholder’s own code is run once, and its code and log are its own', async () => {
    const results = await run({ ...base, name: 'thirteen', script: 'echo ran >> runs; cat runs; exit 213' });
    expect(results['thirteen']).toEqual([expect.objectContaining({ exitCode: 213, cause: 'error' }), ['ran']]);
  });

  test('an image that is not there is a failed pull', async () => {
    const results = await run({ ...base, name: 'missing', image: images.missing, script: 'true' });
    expect(results['missing']).toEqual([expect.objectContaining({ outcome: 'pullFailed', class: 'notFound' }), []]);
  });
});

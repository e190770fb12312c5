// The command writes an archive and pushes an image without any container tool, and refuses what it cannot do.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addPlaceholderCommand } from '../../src/cli/commands/placeholder.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { ociArchive } from '../../src/image/oci-archive.ts';
import { placeholderImage } from '../../src/image/placeholder.ts';
import { buildPlaceholderImage } from '../../src/image/placeholder-image.ts';
import { TestRegistry } from '../helpers/registry.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'placeholder-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function podwright(args: readonly string[], env: Terminal['env'] = {}): Promise<{ out: string; err: string }> {
  const said = { out: '', err: '' };
  const terminal: Terminal = {
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
    isInteractive: false,
    width: () => 80,
    onResize: () => () => undefined,
    style: (_, text) => text,
    openRegion: () => undefined,
    env,
    cwd: folder,
  };
  const program = new Command().exitOverride().configureOutput({ writeOut: terminal.out, writeErr: terminal.err });
  addPlaceholderCommand(program, terminal);
  await program.parseAsync(['placeholder', ...args], { from: 'user' });
  return said;
}

test('build writes the archive, relative to the working directory, and prints the digest', async () => {
  const { out } = await podwright(['build', '--out', 'p.tar']);
  const image = await buildPlaceholderImage();
  expect(readFileSync(join(folder, 'p.tar')).equals(ociArchive(image, placeholderImage.name))).toBe(true);
  expect(out).toContain(`${placeholderImage.name}, ${image.index.descriptor.digest}`);
});

test('build takes a name and platforms', async () => {
  await podwright(['build', '-o', 'p.tar', '--name', 'registry.example.com/p:2', '--platform', 'linux/arm64']);
  const expected = ociArchive(await buildPlaceholderImage(['linux/arm64']), 'registry.example.com/p:2');
  expect(readFileSync(join(folder, 'p.tar')).equals(expected)).toBe(true);
});

test('push logs in with the configuration that docker or podman would use, and prints the pinned image', async () => {
  const registry = await TestRegistry.start({ auth: { kind: 'basic', login: 'me:secret' } });
  try {
    const auth = Buffer.from('me:secret').toString('base64');
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ auths: { [registry.host]: { auth } } }));
    const { digest } = (await buildPlaceholderImage()).index.descriptor;
    const environments = [
      { DOCKER_CONFIG: folder },
      { REGISTRY_AUTH_FILE: join(folder, 'config.json'), DOCKER_CONFIG: '/absent' },
    ];
    for (const env of environments) {
      const { out } = await podwright(['push', `${registry.host}/p:1`], env);
      expect(out).toBe(`${registry.host}/p@${digest}\n`);
    }
    expect((await podwright(['push', `${registry.host}/p:1`, '--docker-config', 'config.json'])).err).toBe(
      '0 blobs uploaded, 4 were there\n',
    );
    expect(registry.manifests.has('1')).toBe(true);
  } finally {
    await registry.stop();
  }
});

test('what cannot be done is refused with a remedy', async () => {
  const cases = [
    [['build', '--out', 'p.tar', '--platform', 'linux/s390x'], 'ERR_PODWRIGHT_USAGE'],
    [['build', '--out', 'absent/p.tar'], 'ERR_PODWRIGHT_USAGE'],
    [['build', '--out', 'p.tar', '--name', 'UPPER'], 'ERR_PODWRIGHT_IMAGE_REFERENCE'],
    [['push', 'UPPER'], 'ERR_PODWRIGHT_IMAGE_REFERENCE'],
  ] as const;
  for (const [args, code] of cases) {
    await expect(podwright(args), args.join(' ')).rejects.toMatchObject({ code, remedy: expect.any(String) });
  }
  await expect(podwright(['build'])).rejects.toMatchObject({ code: 'commander.missingMandatoryOptionValue' });
});

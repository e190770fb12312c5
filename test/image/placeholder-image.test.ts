// The image is the same everywhere, holds nothing but the program and its marker, and its archive is what loaders read.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { mediaTypes } from '../../src/image/oci.ts';
import { ociArchive } from '../../src/image/oci-archive.ts';
import { placeholderImage } from '../../src/image/placeholder.ts';
import { buildPlaceholderImage, isPlaceholderPlatform } from '../../src/image/placeholder-image.ts';
import { readTar } from '../helpers/tar.ts';

test('the bytes of the image belong to its tag', async () => {
  const { index } = await buildPlaceholderImage();
  // Another digest means another image: raise the tag of placeholderImage.name, or nodes keep the old one.
  expect([placeholderImage.name, index.descriptor.digest]).toEqual([
    'localhost/podwright/placeholder:1',
    'sha256:f06095ec5248a74629903af256966df7c6fcca001be374e8e88b6acc58f84a1e',
  ]);
});

test('each platform has one layer with its program and the marker, and nothing else', async () => {
  const { images } = await buildPlaceholderImage();
  expect(images.map(({ platform }) => `${platform.os}/${platform.architecture}`)).toEqual(placeholderImage.platforms);
  for (const { platform, layers, config, manifest } of images) {
    const [layer] = layers;
    const files = readTar(gunzipSync(layer?.bytes ?? Buffer.alloc(0)));
    expect(files.map(({ name, mode, uid, mtime }) => ({ name, mode, uid, mtime }))).toEqual([
      { name: 'podwright-entry', mode: 0o555, uid: 0, mtime: 0 },
      { name: 'podwright-placeholder', mode: 0o444, uid: 0, mtime: 0 },
    ]);
    const program = new URL(`../../entry/bin/entry-${platform.architecture}`, import.meta.url);
    expect(files[0]?.data.equals(readFileSync(program))).toBe(true);
    const { architecture, config: run, rootfs } = JSON.parse(config.bytes.toString());
    expect(architecture).toBe(platform.architecture);
    expect(run).toMatchObject({ User: '65532:65532', Entrypoint: ['/podwright-entry', 'wait'] });
    expect(rootfs.diff_ids).toEqual([digestOf(gunzipSync(layer?.bytes ?? Buffer.alloc(0)))]);
    const { config: configured, layers: listed } = JSON.parse(manifest.bytes.toString());
    expect(configured).toEqual({
      mediaType: mediaTypes.config,
      digest: digestOf(config.bytes),
      size: config.bytes.length,
    });
    expect(listed).toEqual([layer?.descriptor]);
  }
});

test('the archive names the image for containerd, podman and docker, and every blob is what its name says', async () => {
  const image = await buildPlaceholderImage();
  const archive = ociArchive(image, 'registry.example.com/a/b:2');
  expect(archive.equals(ociArchive(await buildPlaceholderImage(), 'registry.example.com/a/b:2'))).toBe(true);
  const files = new Map(readTar(archive).map((file) => [file.name, file.data]));
  expect(json(files.get('oci-layout'))).toEqual({ imageLayoutVersion: '1.0.0' });
  const { manifests } = json(files.get('index.json'));
  expect(manifests).toEqual([
    {
      ...image.index.descriptor,
      annotations: {
        'io.containerd.image.name': 'registry.example.com/a/b:2',
        'org.opencontainers.image.ref.name': '2',
      },
    },
  ]);
  const [{ Config: config, RepoTags: tags, Layers: layers }] = json(files.get('manifest.json'));
  expect(tags).toEqual(['registry.example.com/a/b:2']);
  expect(json(files.get(config)).architecture).toBe('amd64');
  expect(layers.map((layer: string) => files.has(layer))).toEqual([true]);
  const blobs = [...files].filter(([name]) => name.startsWith('blobs/sha256/') && name !== 'blobs/sha256/');
  expect(blobs).toHaveLength(7);
  for (const [name, data] of blobs) expect(`blobs/${digestOf(data).replace(':', '/')}`).toBe(name);
  for (const { digest, platform } of json(files.get(`blobs/${image.index.descriptor.digest.replace(':', '/')}`))
    .manifests) {
    expect(files.has(`blobs/${digest.replace(':', '/')}`), platform.architecture).toBe(true);
  }
});

test('for one platform, docker is given that one', async () => {
  const files = readTar(ociArchive(await buildPlaceholderImage(['linux/arm64']), 'a'));
  const manifest = json(files.find(({ name }) => name === 'manifest.json')?.data);
  expect(manifest[0].RepoTags).toEqual(['docker.io/library/a:latest']);
  expect(json(files.find(({ name }) => name === manifest[0].Config)?.data).architecture).toBe('arm64');
});

test('a foreign tar reads the archive', async (context) => {
  const { error, stdout } = spawnSync('tar', ['-tf', '-'], { input: ociArchive(await buildPlaceholderImage(), 'a') });
  if (error !== undefined) context.skip(`there is no tar here: ${error.message}`);
  expect(stdout.toString().split('\n').slice(0, 3)).toEqual(['oci-layout', 'index.json', 'manifest.json']);
});

test('a bad name and an unknown platform are refused', async () => {
  const image = await buildPlaceholderImage();
  expect(() => ociArchive(image, 'UPPER')).toThrow(expect.objectContaining({ code: 'ERR_PODWRIGHT_IMAGE_REFERENCE' }));
  expect(['linux/amd64', 'linux/s390x', 'amd64'].map(isPlaceholderPlatform)).toEqual([true, false, false]);
});

function json(data: Buffer | undefined) {
  return JSON.parse(data?.toString() ?? 'null');
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

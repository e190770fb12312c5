// Layers of every length are gzip that anyone unpacks, and the same input gives the same digests.
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { imageIndex, platformImage } from '../../src/image/oci.ts';

const build = (layer: Buffer) =>
  platformImage({ platform: { os: 'linux', architecture: 'amd64' }, layer, config: { User: '1' }, createdBy: 'test' });

test('a layer of any length unpacks to what it was', () => {
  for (const length of [0, 1, 65_534, 65_535, 65_536, 131_070, 131_071, 300_000]) {
    const layer = Buffer.alloc(length, 'layer');
    expect(gunzipSync(build(layer).layers[0]?.bytes ?? Buffer.alloc(0)).equals(layer), `${length}`).toBe(true);
  }
});

test('the index refers to the manifests with their platforms', () => {
  const image = build(Buffer.from('x'));
  const { index } = imageIndex([image]);
  expect(JSON.parse(index.bytes.toString()).manifests).toEqual([
    { ...image.manifest.descriptor, platform: { os: 'linux', architecture: 'amd64' } },
  ]);
  expect(imageIndex([build(Buffer.from('x'))]).index).toEqual(index);
  expect(imageIndex([build(Buffer.from('y'))]).index.descriptor.digest).not.toBe(index.descriptor.digest);
});

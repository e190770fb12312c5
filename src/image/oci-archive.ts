/**
 * An image as one file that container tools load: an OCI layout in a tar archive, readable for docker too.
 */
import type { Blob, OciImage } from './oci.ts';
import { jsonBlob, mediaTypes } from './oci.ts';
import { formatImageReference, parseImageReference } from './reference.ts';
import type { TarEntry } from './tar.ts';
import { tar } from './tar.ts';

/**
 * The archive of the image under one name. containerd (`ctr image import`, kind) and podman read the index of all
 * platforms; docker's classic image store reads `manifest.json`, which names the first platform only.
 * Throws `ERR_PODWRIGHT_IMAGE_REFERENCE` when the name does not parse.
 */
export function ociArchive(image: OciImage, name: string): Buffer {
  const reference = parseImageReference(name);
  const fullName = formatImageReference(reference);
  const layout = jsonBlob(mediaTypes.index, {
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: [
      {
        ...image.index.descriptor,
        annotations: {
          'io.containerd.image.name': fullName,
          'org.opencontainers.image.ref.name': reference.tag ?? fullName,
        },
      },
    ],
  });
  return tar([
    { name: 'oci-layout', mode: 0o644, data: Buffer.from('{"imageLayoutVersion":"1.0.0"}') },
    { name: 'index.json', mode: 0o644, data: layout.bytes },
    { name: 'manifest.json', mode: 0o644, data: dockerManifest(image, fullName) },
    { name: 'blobs/', mode: 0o755 },
    { name: 'blobs/sha256/', mode: 0o755 },
    ...blobEntries(image),
  ]);
}

function dockerManifest(image: OciImage, name: string): Buffer {
  const [first] = image.images;
  const entries =
    first === undefined
      ? []
      : [{ Config: pathOf(first.config), RepoTags: [name], Layers: first.layers.map((layer) => pathOf(layer)) }];
  return Buffer.from(JSON.stringify(entries));
}

function blobEntries(image: OciImage): TarEntry[] {
  const blobs = [...image.images.flatMap((one) => [...one.layers, one.config, one.manifest]), image.index];
  const byPath = new Map(blobs.map((blob) => [pathOf(blob), blob]));
  return [...byPath]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { bytes }]) => ({ name, mode: 0o644, data: bytes }));
}

function pathOf(blob: Blob): string {
  return `blobs/${blob.descriptor.digest.replace(':', '/')}`;
}

/**
 * The parts of an OCI image as bytes: blobs with their descriptors, manifests and an index over platforms.
 *
 * The same input gives the same bytes, and so the same digests, on every machine and with every version of Node.
 */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

export const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const;

export interface Platform {
  readonly os: string;
  readonly architecture: string;
}

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: Platform;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface Blob {
  readonly descriptor: Descriptor;
  readonly bytes: Buffer;
}

/** The image of one platform. A registry wants layers and configuration before the manifest. */
export interface PlatformImage {
  readonly platform: Platform;
  readonly layers: readonly Blob[];
  readonly config: Blob;
  readonly manifest: Blob;
}

/** An image for one platform or more. A registry wants the platforms' manifests before the index. */
export interface OciImage {
  readonly images: readonly PlatformImage[];
  readonly index: Blob;
}

export interface ImageConfig {
  readonly User?: string;
  readonly Entrypoint?: readonly string[];
  readonly Labels?: Readonly<Record<string, string>>;
}

/** An image of one layer, given as a tar archive. `createdBy` is what `docker history` shows. */
export function platformImage(options: {
  readonly platform: Platform;
  readonly layer: Buffer;
  readonly config: ImageConfig;
  readonly createdBy: string;
}): PlatformImage {
  const { platform, layer, config, createdBy } = options;
  const layers = [blob(mediaTypes.layer, gzipStored(layer))];
  const configBlob = jsonBlob(mediaTypes.config, {
    created: epoch,
    architecture: platform.architecture,
    os: platform.os,
    config,
    rootfs: { type: 'layers', diff_ids: [sha256(layer)] },
    history: [{ created: epoch, created_by: createdBy }],
  });
  const manifest = jsonBlob(mediaTypes.manifest, {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: configBlob.descriptor,
    layers: layers.map((one) => one.descriptor),
  });
  return { platform, layers, config: configBlob, manifest };
}

/** One name for the images of several platforms; whoever pulls it gets its own. */
export function imageIndex(images: readonly PlatformImage[]): OciImage {
  const index = jsonBlob(mediaTypes.index, {
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: images.map(({ platform, manifest }) => ({ ...manifest.descriptor, platform })),
  });
  return { images, index };
}

export function jsonBlob(mediaType: string, value: unknown): Blob {
  return blob(mediaType, Buffer.from(JSON.stringify(value)));
}

const epoch = '1970-01-01T00:00:00Z';

function blob(mediaType: string, bytes: Buffer): Blob {
  return { descriptor: { mediaType, digest: sha256(bytes), size: bytes.length }, bytes };
}

function sha256(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

const longestStored = 0xffff;

/**
 * Gzip without compression. What zlib makes of the same bytes differs from build to build of it; this does not, and
 * for a few kilobytes the size does not matter.
 */
function gzipStored(bytes: Buffer): Buffer {
  // Deflate, no flags, no time, no extra flags, unknown system.
  const parts: Uint8Array[] = [Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])];
  for (let at = 0; at === 0 || at < bytes.length; at += longestStored) {
    const piece = bytes.subarray(at, at + longestStored);
    const head = Buffer.alloc(5);
    head.writeUInt8(at + longestStored >= bytes.length ? 1 : 0, 0);
    head.writeUInt16LE(piece.length, 1);
    head.writeUInt16LE(~piece.length & 0xffff, 3);
    parts.push(head, piece);
  }
  const tail = Buffer.alloc(8);
  tail.writeUInt32LE(crc32(bytes), 0);
  tail.writeUInt32LE(bytes.length, 4);
  return Buffer.concat([...parts, tail]);
}

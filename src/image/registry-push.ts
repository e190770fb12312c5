/**
 * Pushes an image to a registry over the OCI distribution API, without any container tool.
 *
 * Blobs before manifests, manifests before the index: nobody ever sees a tag whose content is not all there.
 */
import type { Clock } from '../clock.ts';
import { systemClock } from '../clock.ts';
import { PodwrightError } from '../errors.ts';
import { registryCredentials } from './docker-config.ts';
import type { OciImage } from './oci.ts';
import { formatImageReference, parseImageReference } from './reference.ts';
import { RegistryClient } from './registry-client.ts';

export interface PushOptions {
  /** Path of a docker configuration file with credentials; without it the push is anonymous. */
  readonly dockerConfig?: string;
  /** Speak HTTP without TLS. Loopback addresses are always spoken to that way. */
  readonly plainHttp?: boolean;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  readonly retryDelaysMs?: readonly number[];
}

export interface PushReport {
  /** The image by its digest: `registry/repository@sha256:…`. */
  readonly pinned: string;
  readonly uploaded: number;
  /** Blobs that the registry had already. */
  readonly present: number;
}

/**
 * Pushes the image, all its platforms, under the reference's tag.
 * Throws `ERR_PODWRIGHT_IMAGE_REFERENCE`, `ERR_PODWRIGHT_CONFIG` (credentials) or `ERR_PODWRIGHT_PLACEHOLDER` (registry);
 * rejects with the signal's reason when aborted. It can be repeated: what is there is not sent again.
 */
export async function pushImage(image: OciImage, name: string, options: PushOptions = {}): Promise<PushReport> {
  const reference = parseImageReference(name);
  const { registry, repository, tag } = reference;
  if (tag === undefined || reference.digest !== undefined) {
    throw new PodwrightError('ERR_PODWRIGHT_IMAGE_REFERENCE', `"${name}" names a digest, which a push cannot choose`, {
      remedy: 'Push to a tag.',
      details: { image: name },
    });
  }
  const { dockerConfig, clock = systemClock, ...rest } = options;
  const credentials = dockerConfig === undefined ? undefined : await registryCredentials(dockerConfig, registry);
  const client = new RegistryClient({ ...rest, registry, repository, credentials, clock });

  let uploaded = 0;
  let present = 0;
  for (const blob of image.images.flatMap((one) => [...one.layers, one.config])) {
    if (await client.hasBlob(blob.descriptor.digest)) present++;
    else {
      await client.putBlob(blob);
      uploaded++;
    }
  }
  for (const { manifest } of image.images) await client.putManifest(manifest.descriptor.digest, manifest);
  await client.putManifest(tag, image.index);
  const pinned = formatImageReference({ registry, repository, digest: image.index.descriptor.digest });
  return { pinned, uploaded, present };
}

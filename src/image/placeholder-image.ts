/**
 * The placeholder image, made of the committed binaries of `entry` and nothing else: the same bytes on every machine.
 */
import { readFile } from 'node:fs/promises';
import { PodwrightError } from '../errors.ts';
import type { OciImage, PlatformImage } from './oci.ts';
import { imageIndex, platformImage } from './oci.ts';
import type { PlaceholderPlatform } from './placeholder.ts';
import { placeholderImage } from './placeholder.ts';
import { tar } from './tar.ts';

/**
 * The image for the given platforms, by default for all there are.
 * Throws `ERR_PODWRIGHT_PLACEHOLDER` when this copy of the package lacks the binaries.
 */
export async function buildPlaceholderImage(
  platforms: readonly PlaceholderPlatform[] = placeholderImage.platforms,
): Promise<OciImage> {
  return imageIndex(await Promise.all(platforms.map((platform) => buildFor(platform))));
}

/** Whether there is a placeholder for it, written as `os/architecture`. */
export function isPlaceholderPlatform(text: string): text is PlaceholderPlatform {
  return placeholderImage.platforms.some((platform) => platform === text);
}

async function buildFor(name: PlaceholderPlatform): Promise<PlatformImage> {
  const [os = '', architecture = ''] = name.split('/');
  const { entryPath, markerPath, user } = placeholderImage;
  return platformImage({
    platform: { architecture, os },
    layer: tar([
      { name: entryPath.slice(1), mode: 0o555, data: await readProgram(architecture) },
      { name: markerPath.slice(1), mode: 0o444, data: Buffer.from(markerText) },
    ]),
    config: {
      User: `${user}:${user}`,
      // `wait` stands in the entrypoint: the arguments of a pod's container replace the rest, and must not be read.
      Entrypoint: [entryPath, 'wait'],
      Labels: {
        'org.opencontainers.image.title': 'podwright placeholder',
        'org.opencontainers.image.description': 'Waits until the image of a build step takes its place',
        'org.opencontainers.image.licenses': 'Apache-2.0',
      },
    },
    createdBy: 'podwright placeholder build',
  });
}

const markerText = 'This is the placeholder image: no step runs in it.\n';

async function readProgram(architecture: string): Promise<Buffer> {
  const file = `entry/bin/entry-${architecture}`;
  // From the sources, and from dist/ of the published package.
  const places = [new URL(`../../${file}`, import.meta.url), new URL(`../../../${file}`, import.meta.url)];
  const failures: unknown[] = [];
  for (const place of places) {
    try {
      return await readFile(place);
    } catch (error) {
      failures.push(error);
    }
  }
  throw new PodwrightError('ERR_PODWRIGHT_PLACEHOLDER', `${file} is missing from this copy of podwright`, {
    cause: new AggregateError(failures),
    remedy: 'Install the package again, or compile it with entry/build in a checkout.',
    details: { file },
  });
}

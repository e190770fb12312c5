/**
 * `podwright placeholder`: makes the placeholder image as an archive, or pushes it to a registry.
 */
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { PodwrightError } from '../../errors.ts';
import { ociArchive } from '../../image/oci-archive.ts';
import type { PlaceholderPlatform } from '../../image/placeholder.ts';
import { placeholderImage } from '../../image/placeholder.ts';
import { buildPlaceholderImage, isPlaceholderPlatform } from '../../image/placeholder-image.ts';
import { pushImage } from '../../image/registry-push.ts';
import type { Terminal } from '../terminal.ts';

export function addPlaceholderCommand(program: Command, terminal: Terminal): void {
  const command = program.command('placeholder').description('Make the image in which the containers of a build wait.');
  command
    .command('build')
    .description('Write the image as an OCI archive, which kind, ctr, docker and podman load.')
    .requiredOption('-o, --out <file>', 'where to write the archive')
    .option('--name <reference>', 'the name of the image in the archive', placeholderImage.name)
    .option('--platform <platform...>', 'only for these', [...placeholderImage.platforms])
    .addHelpText(
      'after',
      '\nExample:\n  podwright placeholder build --out placeholder.tar && kind load image-archive placeholder.tar\n',
    )
    .action((options: BuildOptions) => build(options, terminal));
  command
    .command('push')
    .description('Push the image to a registry.')
    .argument('<reference>', 'such as registry.example.com/podwright/placeholder:1')
    .option('--platform <platform...>', 'only for these', [...placeholderImage.platforms])
    .option('--docker-config <file>', 'where the credentials are', dockerConfigOf(terminal.env))
    .option('--plain-http', 'speak HTTP without TLS, as is always done with loopback addresses', false)
    .addHelpText('after', '\nExample:\n  podwright placeholder push registry.example.com/podwright/placeholder:1\n')
    .action((reference: string, options: PushOptions) => push(reference, options, terminal));
}

interface BuildOptions {
  readonly out: string;
  readonly name: string;
  readonly platform: readonly string[];
}

async function build({ out, name, platform }: BuildOptions, terminal: Terminal): Promise<void> {
  const image = await buildPlaceholderImage(platformsOf(platform));
  const archive = ociArchive(image, name);
  try {
    await writeFile(resolve(terminal.cwd, out), archive);
  } catch (error) {
    throw new PodwrightError('ERR_PODWRIGHT_USAGE', `cannot write ${out}: ${String(error)}`, {
      cause: error,
      remedy: 'Name a file in a folder that exists and can be written.',
      details: { file: out },
    });
  }
  terminal.out(`${out}: ${name}, ${image.index.descriptor.digest}, ${archive.length} bytes\n`);
}

interface PushOptions {
  readonly platform: readonly string[];
  readonly dockerConfig: string;
  readonly plainHttp: boolean;
}

async function push(reference: string, options: PushOptions, terminal: Terminal): Promise<void> {
  const { platform, dockerConfig, plainHttp } = options;
  const image = await buildPlaceholderImage(platformsOf(platform));
  const report = await pushImage(image, reference, { dockerConfig: resolve(terminal.cwd, dockerConfig), plainHttp });
  terminal.out(`${report.pinned}\n`);
  terminal.err(`${report.uploaded} blobs uploaded, ${report.present} were there\n`);
}

function platformsOf(texts: readonly string[]): PlaceholderPlatform[] {
  return [...new Set(texts)].map((text) => {
    if (isPlaceholderPlatform(text)) return text;
    throw new PodwrightError('ERR_PODWRIGHT_USAGE', `there is no placeholder for "${text}"`, {
      remedy: `The platforms are ${placeholderImage.platforms.join(' and ')}.`,
      details: { platform: text },
    });
  });
}

/** Where docker itself, or podman, would look. */
function dockerConfigOf(env: Terminal['env']): string {
  const { REGISTRY_AUTH_FILE: file, DOCKER_CONFIG: folder } = env;
  return file || join(folder || join(homedir(), '.docker'), 'config.json');
}

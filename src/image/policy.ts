/**
 * What a pipeline says of images, in Kubernetes' words: when to pull, and which images may run privileged.
 */
import { matchesGlob } from './glob.ts';
import { familiarImageName, formatImageReference, parseImageReference } from './reference.ts';

/** As in the pipeline format; `on_start` pulls when the step starts, which for a pod is always. */
export const pullPolicies = ['always', 'not_present', 'on_start', 'never'] as const;
export type PullPolicy = (typeof pullPolicies)[number];
export type ImagePullPolicy = 'Always' | 'IfNotPresent' | 'Never';

/** Kubernetes' `imagePullPolicy`. The default of the format is `not_present`, whatever the tag. */
export function imagePullPolicy(pull: PullPolicy | undefined): ImagePullPolicy {
  switch (pull) {
    case 'always':
    case 'on_start':
      return 'Always';
    case 'never':
      return 'Never';
    case 'not_present':
    case undefined:
      return 'IfNotPresent';
  }
}

/**
 * Whether the image matches one of the patterns, which are shell globs over the short name, with or without a tag
 * (`target/vela-docker`, `target/*:v1`, `registry.example.com/tools/*`). A `*` does not cross a slash.
 * Throws `ERR_PODWRIGHT_IMAGE_REFERENCE` when the image does not parse.
 */
export function isPrivilegedImage(image: string, patterns: readonly string[]): boolean {
  const reference = parseImageReference(image);
  const name = familiarImageName(reference);
  const spellings = [name, formatImageReference(reference)];
  if (reference.tag !== undefined) spellings.push(`${name}:${reference.tag}`);
  return patterns.some((pattern) => spellings.some((spelling) => matchesGlob(pattern, spelling)));
}

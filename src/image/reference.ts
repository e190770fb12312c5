/**
 * Image references: registry / repository : tag @ digest.
 *
 * Follows the grammar and the normalization that container runtimes use (github.com/distribution/reference), so that
 * a reference which parses here is never refused as `InvalidImageName` by a kubelet, and two spellings of one image
 * compare as equal. Knows nothing of what a registry holds.
 */
import { PodwrightError } from '../errors.ts';

export interface ImageReference {
  /** Host and port, such as `docker.io` or `localhost:5000`. */
  readonly registry: string;
  /** Lower case, slashes between its components, such as `library/alpine`. */
  readonly repository: string;
  readonly tag?: string;
  /** `algorithm:hex`. With a digest the runtime ignores the tag. */
  readonly digest?: string;
}

/**
 * Reads a reference as a user writes it. `alpine` is `docker.io/library/alpine:latest`.
 * Throws `ERR_PODWRIGHT_IMAGE_REFERENCE` with a remedy; never returns half of a reference.
 */
export function parseImageReference(text: string): ImageReference {
  refuseFrequentMistakes(text);
  const { name, tag, digest } = split(text);
  const { registry, repository } = normalize(name, text);
  checkName(registry, repository, text);
  if (tag !== undefined && !tagPattern.test(tag)) {
    throw invalid(text, `the tag "${tag}" is not valid`, 'A tag has 1 to 128 letters, digits, "_", "." and "-".');
  }
  if (digest !== undefined) checkDigest(digest, text);
  return {
    registry,
    repository,
    ...(tag === undefined ? {} : { tag }),
    ...(digest === undefined ? {} : { digest }),
    ...(tag === undefined && digest === undefined ? { tag: defaultTag } : {}),
  };
}

/** The one spelling of a reference in which every part is explicit. */
export function formatImageReference(reference: ImageReference): string {
  const tag = reference.tag === undefined ? '' : `:${reference.tag}`;
  const digest = reference.digest === undefined ? '' : `@${reference.digest}`;
  return `${reference.registry}/${reference.repository}${tag}${digest}`;
}

/** The short spelling people use: without the default registry and its `library/`. */
export function familiarImageName(reference: ImageReference): string {
  if (reference.registry !== defaultRegistry) return `${reference.registry}/${reference.repository}`;
  const official = `${officialPrefix}/`;
  const rest = reference.repository.slice(official.length);
  return reference.repository.startsWith(official) && !rest.includes('/') ? rest : reference.repository;
}

/** Whether two texts name the same image. Texts that do not parse are equal only when they are the same text. */
export function isSameImage(left: string, right: string): boolean {
  if (left === right) return true;
  try {
    return formatImageReference(parseImageReference(left)) === formatImageReference(parseImageReference(right));
  } catch (error) {
    if (error instanceof PodwrightError) return false;
    throw error;
  }
}

const defaultRegistry = 'docker.io';
const legacyDefaultRegistry = 'index.docker.io';
const officialPrefix = 'library';
const defaultTag = 'latest';
/** Of registry and repository together. */
const longestName = 255;

const hostLabel = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const registryPattern = new RegExp(`^(?:${hostLabel}(?:\\.${hostLabel})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?$`);
const componentPattern = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const tagPattern = /^\w[\w.-]{0,127}$/;
const digestPattern = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
const digestLengths: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };

function refuseFrequentMistakes(text: string): void {
  if (text === '') throw invalid(text, 'it is empty', 'Name an image, such as alpine:3.');
  if (/\s/.test(text)) throw invalid(text, 'it contains white space', 'Remove the blanks and line breaks.');
  if (/\$[{(A-Za-z_]/.test(text)) {
    throw invalid(text, 'a variable in it was not replaced', 'Give the variable a value or write the image out.');
  }
  const scheme = /^[a-z]+:\/\//i.exec(text);
  if (scheme !== null) {
    throw invalid(text, `"${scheme[0]}" is a URL, not a reference`, `Write ${text.slice(scheme[0].length)} instead.`);
  }
}

function split(text: string): { name: string; tag?: string; digest?: string } {
  const at = text.indexOf('@');
  const digest = at === -1 ? undefined : text.slice(at + 1);
  const named = at === -1 ? text : text.slice(0, at);
  // A colon before the last slash belongs to the registry's port.
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  const tag = colon === -1 ? undefined : named.slice(colon + 1);
  return {
    name: colon === -1 ? named : named.slice(0, colon),
    ...(tag === undefined ? {} : { tag }),
    ...(digest === undefined ? {} : { digest }),
  };
}

function normalize(name: string, text: string): { registry: string; repository: string } {
  if (/^[a-f0-9]{64}$/.test(name)) {
    throw invalid(text, 'it is an image ID, which no registry can be asked for', 'Name the image by its repository.');
  }
  const slash = name.indexOf('/');
  const first = slash === -1 ? '' : name.slice(0, slash);
  const hasRegistry = slash !== -1 && (/[.:A-Z[]/.test(first) || first === 'localhost');
  const registry = hasRegistry ? first : defaultRegistry;
  const repository = hasRegistry ? name.slice(slash + 1) : name;
  if (registry !== defaultRegistry && registry !== legacyDefaultRegistry) return { registry, repository };
  return {
    registry: defaultRegistry,
    repository: repository.includes('/') ? repository : `${officialPrefix}/${repository}`,
  };
}

function checkName(registry: string, repository: string, text: string): void {
  if (!registryPattern.test(registry)) {
    throw invalid(text, `the registry "${registry}" is not valid`, 'A registry is a host name and may have a port.');
  }
  for (const component of repository.split('/')) {
    if (componentPattern.test(component)) continue;
    if (component === '') throw invalid(text, 'a part between two slashes is empty', 'Remove the extra slash.');
    const remedy = /[A-Z]/.test(component)
      ? `Write it in lower case: ${text.replace(component, component.toLowerCase())}`
      : 'Use lower-case letters and digits, with single ".", "_" or "-" between them.';
    throw invalid(text, `the repository part "${component}" is not valid`, remedy);
  }
  if (registry.length + 1 + repository.length > longestName) {
    throw invalid(text, `its name is longer than ${longestName} characters`, 'Use a shorter repository name.');
  }
}

function checkDigest(digest: string, text: string): void {
  const [algorithm = '', hex = ''] = digest.split(':');
  const length = digestLengths[algorithm];
  const isValid = digestPattern.test(digest) && length === hex.length && hex === hex.toLowerCase();
  if (isValid) return;
  throw invalid(
    text,
    `the digest "${digest}" is not valid`,
    'A digest is sha256: and 64 lower-case hexadecimal digits; copy it from the registry.',
  );
}

function invalid(text: string, what: string, remedy: string): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_IMAGE_REFERENCE', `"${text}" is not an image reference: ${what}`, {
    remedy,
    details: { image: text },
  });
}

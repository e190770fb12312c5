/** Image references as the container runtime parses them (distribution `reference`). */

const component = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const pathForm = new RegExp(`^${component}(?:/${component})*$`);
const domainForm =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?$/;
const tagForm = /^[\w][\w.-]{0,127}$/;
const digestForm = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;

export interface ImageName {
  /** Empty when the reference names none. */
  readonly domain: string;
  readonly path: string;
  readonly tag: string;
  readonly digest: string;
}

/** The parts, whether or not each is allowed. */
export function splitReference(reference: string): ImageName {
  const [rest = '', digest = ''] = reference.split('@', 2);
  const slash = rest.indexOf('/');
  const first = slash < 0 ? '' : rest.slice(0, slash);
  const hasDomain = first !== '' && (/[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase());
  const named = hasDomain ? rest.slice(slash + 1) : rest;
  const colon = named.lastIndexOf(':');
  const tagged = colon > named.lastIndexOf('/');
  return {
    domain: hasDomain ? first : '',
    path: tagged ? named.slice(0, colon) : named,
    tag: tagged ? named.slice(colon + 1) : '',
    digest,
  };
}

/** The runtime's complaint about a reference; undefined when there is none. */
export function referenceError(reference: string): string | undefined {
  const { domain, path, tag, digest } = splitReference(reference);
  const wrong = 'invalid reference format';
  if (domain !== '' && !domainForm.test(domain)) return wrong;
  if (path !== path.toLowerCase() && pathForm.test(path.toLowerCase())) {
    return `${wrong}: repository name (${path}) must be lowercase`;
  }
  if (!pathForm.test(path)) return wrong;
  if (reference.includes('@') ? !digestForm.test(digest) : false) return wrong;
  if (/:[^/]*$/.test(reference.split('@')[0]?.slice(domain.length) ?? '') && !tagForm.test(tag)) return wrong;
  return undefined;
}

/**
 * Whether a spec can become a pod: every fault of it at once, each with its place and what to do, before anything is
 * sent to a cluster. What only the cluster can know (quotas, admission, whether an image exists) is not looked at.
 */
import { PodwrightError } from '../errors.ts';
import { isPrivilegedImage } from '../image/policy.ts';
import { isSameImage, parseImageReference } from '../image/reference.ts';
import type { BuildSpec, ContainerSpecRequest, VolumeRequest } from './build-spec.ts';
import { isDnsLabel, isReserved, labels, prefix } from './labels.ts';
import type { PlaceholderOption } from './start-strategy.ts';

/** What a caller of the runtime may use, decided by whoever runs it. */
export interface SpecPolicy {
  readonly placeholder: PlaceholderOption;
  readonly privilegedImages: readonly string[];
  readonly hostPaths: readonly string[];
}

export interface SpecFault {
  /** `containers[2].image`, and the container's name where there is one. */
  readonly at: string;
  readonly message: string;
}

/** Throws `ERR_PODWRIGHT_USAGE` with all faults in its message and in details.faults. */
export function checkSpec(spec: BuildSpec, policy: SpecPolicy): void {
  const faults = [...specFaults(spec, policy)];
  if (faults.length === 0) return;
  const list = faults.map(({ at, message }) => `${at}: ${message}`).join('\n  ');
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `The build "${spec.id}" cannot run:\n  ${list}`, {
    remedy: 'Correct the spec; nothing was created.',
    details: { build: spec.id, faults },
  });
}

/** A container's name may be as long as an annotation is likely to be read. */
const longestName = 253;
/** More than etcd would keep in one object anyway; said before the server says it in its own words. */
const mostContainers = 500;

function* specFaults(spec: BuildSpec, policy: SpecPolicy): Generator<SpecFault> {
  if (spec.id.length === 0 || spec.id.length > longestName) {
    yield { at: 'id', message: `must have 1 to ${longestName} characters` };
  }
  if (spec.containers.length === 0) yield { at: 'containers', message: 'must not be empty' };
  if (spec.containers.length > mostContainers) {
    yield { at: 'containers', message: `${spec.containers.length} are more than one pod can hold (${mostContainers})` };
  }
  yield* duplicates(spec.containers, 'containers');
  yield* duplicates(spec.volumes ?? [], 'volumes');
  for (const [index, container] of spec.containers.entries()) yield* containerFaults(spec, container, index, policy);
  for (const [index, volume] of (spec.volumes ?? []).entries()) yield* volumeFaults(volume, index, policy);
  yield* podFaults(spec);
}

function* duplicates(named: readonly { readonly name: string }[], what: string): Generator<SpecFault> {
  const seen = new Map<string, number>();
  for (const [index, { name }] of named.entries()) {
    const first = seen.get(name);
    if (first === undefined) seen.set(name, index);
    else yield { at: `${what}[${index}].name`, message: `"${name}" is the name of ${what}[${first}] too` };
  }
}

function* containerFaults(
  spec: BuildSpec,
  container: ContainerSpecRequest,
  index: number,
  policy: SpecPolicy,
): Generator<SpecFault> {
  const at = `containers[${index}] (${container.name})`;
  if (container.name.length === 0 || container.name.length > longestName) {
    yield { at: `containers[${index}].name`, message: `must have 1 to ${longestName} characters` };
  }
  yield* imageFaults(container, at, policy);
  yield* commandFaults(container, at);
  yield* variableFaults(container, at);
  yield* mountFaults(spec, container, at);
  if (container.workingDir !== undefined && !isAbsolute(container.workingDir)) {
    yield { at: `${at}.workingDir`, message: `"${container.workingDir}" must be an absolute path` };
  }
  const { ports = [], readiness } = container;
  const probed = readiness !== undefined && 'tcpPort' in readiness ? [readiness.tcpPort] : [];
  for (const port of [...ports.map((request) => request.port), ...probed]) {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      yield { at: `${at}.ports`, message: `${port} is no port number` };
    }
  }
}

function* imageFaults(container: ContainerSpecRequest, at: string, policy: SpecPolicy): Generator<SpecFault> {
  try {
    parseImageReference(container.image);
  } catch (error) {
    if (!(error instanceof PodwrightError)) throw error;
    const remedy = error.remedy === undefined ? '' : ` ${error.remedy}`;
    yield { at: `${at}.image`, message: `${error.message}.${remedy}` };
    return;
  }
  if (isSameImage(container.image, policy.placeholder.image)) {
    yield { at: `${at}.image`, message: `"${container.image}" is the placeholder image; the step would never begin` };
  }
  if (container.privileged === true && !isPrivilegedImage(container.image, policy.privilegedImages)) {
    yield {
      at: `${at}.privileged`,
      message: `"${container.image}" is not among the images that may run privileged (privilegedImages)`,
    };
  }
}

function* commandFaults(container: ContainerSpecRequest, at: string): Generator<SpecFault> {
  const { script, entrypoint, args } = container;
  if (script !== undefined && (entrypoint !== undefined || args !== undefined)) {
    yield { at: `${at}.script`, message: 'excludes entrypoint and args' };
  }
  const texts = [...(entrypoint ?? []), ...(args ?? [])];
  if ([script ?? '', ...texts].some((text) => text.includes('\0')))
    yield { at, message: 'a command cannot hold a NUL character' };
  for (const text of texts) {
    if (Buffer.byteLength(text) >= longestArgumentBytes) {
      yield { at, message: 'a command is longer than the 128 KiB that Linux takes as one argument' };
    }
  }
}

/** MAX_ARG_STRLEN of Linux, with its terminating NUL. */
const longestArgumentBytes = 131_072;

function* variableFaults(container: ContainerSpecRequest, at: string): Generator<SpecFault> {
  const variables = [container.environment, container.secrets, container.secretRefs];
  for (const name of variables.flatMap((record) => Object.keys(record ?? {}))) {
    // What every supported version takes; newer ones take nearly any text (KEP-4369).
    if (!/^[-._a-zA-Z][-._a-zA-Z0-9]*$/.test(name)) {
      yield { at: `${at}.environment`, message: `"${name}" is no name Kubernetes takes for a variable` };
    }
  }
  for (const [name, value] of Object.entries({ ...container.environment, ...container.secrets })) {
    if (value.includes('\0')) yield { at: `${at}.environment.${name}`, message: 'cannot hold a NUL character' };
  }
}

function* mountFaults(spec: BuildSpec, container: ContainerSpecRequest, at: string): Generator<SpecFault> {
  const paths = new Set<string>();
  for (const mount of container.mounts ?? []) {
    if (!(spec.volumes ?? []).some((volume) => volume.name === mount.volume)) {
      yield { at: `${at}.mounts`, message: `there is no volume "${mount.volume}"` };
    }
    if (!isAbsolute(mount.mountPath) || mount.mountPath.includes(':')) {
      yield { at: `${at}.mounts`, message: `"${mount.mountPath}" must be an absolute path without ":"` };
    }
    if (isOurs(mount.mountPath)) {
      yield { at: `${at}.mounts`, message: `"${mount.mountPath}" is podwright's own` };
    }
    if (paths.has(mount.mountPath)) yield { at: `${at}.mounts`, message: `"${mount.mountPath}" is used twice` };
    paths.add(mount.mountPath);
    if (mount.subPath !== undefined && (mount.subPath.startsWith('/') || mount.subPath.split('/').includes('..'))) {
      yield { at: `${at}.mounts`, message: `the subPath "${mount.subPath}" must stay inside its volume` };
    }
  }
}

function* volumeFaults(volume: VolumeRequest, index: number, policy: SpecPolicy): Generator<SpecFault> {
  const at = `volumes[${index}] (${volume.name})`;
  if (!isDnsLabel(volume.name) || isReserved(volume.name)) {
    yield { at, message: 'the name must be a DNS label that does not begin with "podwright-"' };
  }
  const { hostPath, claim, configMap, secret, emptyDir } = volume;
  const kinds = [hostPath, claim, configMap, secret, emptyDir].filter((kind) => kind !== undefined).length;
  if (kinds !== 1) yield { at, message: 'needs exactly one of hostPath, claim, configMap, secret, emptyDir' };
  if (hostPath !== undefined && !isBelow(hostPath, policy.hostPaths)) {
    yield { at: `${at}.hostPath`, message: `"${hostPath}" is not below a folder that may be used (hostPaths)` };
  }
}

function* podFaults(spec: BuildSpec): Generator<SpecFault> {
  for (const [what, record] of Object.entries({ labels: spec.labels, annotations: spec.annotations })) {
    for (const key of Object.keys(record ?? {})) {
      const domain = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
      if (domain === prefix || domain.endsWith(`.${prefix}`) || key === labels.managedBy) {
        yield { at: `${what}["${key}"]`, message: "is podwright's own" };
      }
    }
  }
  for (const name of spec.hostnames ?? []) {
    if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name) || name.length > longestName) {
      yield { at: 'hostnames', message: `"${name}" is no host name` };
    }
  }
  const path = spec.workspace?.mountPath;
  if (path !== undefined && (!isAbsolute(path) || path === '/' || isOurs(path))) {
    yield { at: 'workspace.mountPath', message: `"${path}" must be an absolute path of your own, and not "/"` };
  }
}

function isAbsolute(path: string): boolean {
  return path.startsWith('/') && !path.split('/').includes('..');
}

/** The folders of the entry program and its marks, and what would hide them. */
function isOurs(path: string): boolean {
  const plain = path.replace(/\/+$/, '');
  return plain === '' || plain === '/podwright' || plain.startsWith('/podwright/');
}

function isBelow(path: string, folders: readonly string[]): boolean {
  if (!isAbsolute(path) || path.split('/').includes('.')) return false;
  return folders.some((folder) => {
    const base = folder.replace(/\/+$/, '');
    return path === base || path.startsWith(`${base}/`);
  });
}

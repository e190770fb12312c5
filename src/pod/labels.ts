/**
 * The names, labels and annotations of a build's pod: valid whatever the pipeline's names are, the same whenever they
 * are made from the same input, and enough to find and understand the build again after a crash.
 *
 * Rules of Kubernetes: a name is a DNS label of at most 63 characters here (a pod's name is its host name too), a
 * label's value at most 63 characters of letters, digits, `-`, `_` and `.`; annotations hold any text.
 */
import { createHash } from 'node:crypto';

/** Everything of ours lives under this prefix. */
export const prefix = 'podwright.dev';

export const labels = {
  /** On every object podwright creates. */
  managedBy: 'app.kubernetes.io/managed-by',
  /** Whose build it is; the pod watch selects by it. */
  owner: `${prefix}/owner`,
  /** Which build of that owner. */
  build: `${prefix}/build`,
  /** One attempt to create the pod: tells the own create from a stranger's or an earlier one. */
  assembly: `${prefix}/assembly`,
} as const;

export const annotations = {
  /** Owner and id as they were given, when the labels could not hold them. */
  owner: `${prefix}/owner`,
  buildId: `${prefix}/build-id`,
  /** JSON, `RecoveryPlan` of recovery.ts. */
  plan: `${prefix}/plan`,
} as const;

export const managedBy = 'podwright';

/** The annotation that says when a container's step was asked for, and what ran there before. */
export function requestAnnotation(containerName: string): string {
  return `request.${prefix}/${containerName}`;
}

/** Decided by owner and id alone. */
export function podName(owner: string, buildId: string): string {
  const readable = slug(buildId, 44) || 'build';
  return `pw-${readable}-${digest(`${owner}\0${buildId}`, 12)}`;
}

/**
 * A container's name for each of the pipeline's names, in order. A name that is a DNS label stays as it is, unless
 * podwright uses it itself; two names that would become the same are told apart by a digest.
 */
export function containerNames(names: readonly string[]): readonly string[] {
  const asIs = new Set(names.filter((name) => isDnsLabel(name) && !isReserved(name)));
  return names.map((name) => {
    if (asIs.has(name)) return name;
    const readable = slug(name, 49) || 'step';
    return `${isReserved(`${readable}-`) ? 'step-' : ''}${readable}-${digest(name, 8)}`;
  });
}

/** The text itself where Kubernetes takes it as a label's value, otherwise a readable stand-in that is as unique. */
export function labelValue(text: string): string {
  if (labelValuePattern.test(text)) return text;
  return `${slug(text, 50) || 'x'}-${digest(text, 12)}`;
}

export function isDnsLabel(text: string): boolean {
  return text.length <= 63 && dnsLabelPattern.test(text);
}

/** What every container of ours in a pod is called that no step may be called. */
export function isReserved(containerName: string): boolean {
  return containerName.startsWith('podwright-');
}

/** Labels of the pod and its Secret. */
export function buildLabels(owner: string, buildId: string, assembly: string): Readonly<Record<string, string>> {
  return {
    [labels.managedBy]: managedBy,
    [labels.owner]: labelValue(owner),
    [labels.build]: labelValue(buildId),
    [labels.assembly]: assembly,
  };
}

const labelValuePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const dnsLabelPattern = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

function slug(text: string, length: number): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, length + 1)
    .replace(/^-+/, '')
    .slice(0, length)
    .replace(/-+$/, '');
}

function digest(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}

/**
 * The placeholder image and its program `entry`: every name, path and code that the pod and the image must agree on.
 *
 * The same values stand in `entry/entry.c`; the tests of the binaries hold the two together. What they mean is in
 * `docs/placeholder.md`.
 */

/** The image all containers of a build wait in until their step starts. */
export const placeholderImage = {
  /**
   * The name in a built archive. The host part makes a node that does not have the
   * image fail to pull it, instead of asking a public registry for a stranger's. The tag is raised with every change
   * of the image's bytes.
   */
  name: 'localhost/podwright/placeholder:1',
  /** In the image's root; its presence tells `entry` that no step has come yet. */
  markerPath: '/podwright-placeholder',
  /** Where the image has the program. It is outside of every folder that the pod mounts. */
  entryPath: '/podwright-entry',
  /** Numeric, so that `runAsNonRoot` can be verified by a kubelet. */
  user: 65532,
  platforms: ['linux/amd64', 'linux/arm64'],
} as const;

export type PlaceholderPlatform = (typeof placeholderImage.platforms)[number];

/** Where the pod mounts what `entry` needs. The two are volumes of their own: neither lies inside of the other. */
export const entryMounts = {
  /** An emptyDir with the program; writable in the init container, read-only everywhere else. */
  bin: '/podwright/bin',
  /** An emptyDir on disk (a mark must outlive the node's restart) with one mark per container that began its step. */
  marks: '/podwright/marks',
  /** The program as the containers of the pod see it. */
  program: '/podwright/bin/entry',
} as const;

/** The codes with which `entry` itself ends. Every other code, and every signal, is the step's own. */
export const entryCodes = {
  /** In the placeholder image, asked to stop: no step ran. The code to restart on (`restartPolicyRules`). */
  placeholder: 213,
  /** The mark was there already: the step was begun by an earlier instance of the container. Nothing ran. */
  alreadyRan: 214,
  /** The mark could not be left, for example because the volume is missing. Nothing ran. */
  noMark: 215,
  /** The arguments of `entry` are wrong. Nothing ran. */
  usage: 216,
  /** The command exists but cannot be executed. */
  notExecutable: 126,
  /** The command is not there. */
  notFound: 127,
} as const;

/** The command of the init container, whose image is the placeholder. It mounts both volumes writable. */
export function installCommand(): string[] {
  return [placeholderImage.entryPath, 'install', entryMounts.bin, '--marks', entryMounts.marks];
}

/**
 * How long a second start of a step's container stays before it ends with `entryCodes.alreadyRan`. While it stays, the
 * log of the step is the container's previous one; a kubelet removes it within a second after the second start ended.
 */
export const lingerSeconds = 60;

/**
 * The `command` of a step's container; the step's own command and arguments are its `args`. `container` is the
 * container's name in the pod, which is unique there and valid as a file name.
 */
export function runCommand(container: string): string[] {
  const mark = `${entryMounts.marks}/${container}`;
  return [entryMounts.program, 'run', '--mark', mark, '--linger', `${lingerSeconds}`, '--'];
}

/** What `entry` says of its own ending, in the container's termination message. */
export interface EntryReport {
  readonly kind: EntryReportKind;
  /** One line for people. */
  readonly text: string;
}

export type EntryReportKind = keyof typeof reportWords;

/** The first word of a report, as written by `entry`. */
const reportWords = {
  placeholder: 'placeholder',
  alreadyRan: 'already-ran',
  noMark: 'no-mark',
  usage: 'usage',
  notExecutable: 'not-executable',
  notFound: 'not-found',
  canceled: 'canceled',
  installFailed: 'install-failed',
} as const;

const reportPattern = /^podwright-entry: ([a-z-]+): (.*)\n?$/;

/**
 * Reads `state.terminated.message`. Undefined unless `entry` wrote it: then the ending, and its code, are the step's.
 * A step can write such a message too, so a report may explain an ending, but never turn one into a success.
 */
export function readEntryReport(message: string | undefined): EntryReport | undefined {
  const [, word, text] = reportPattern.exec(message ?? '') ?? [];
  const kind = (Object.keys(reportWords) as EntryReportKind[]).find((key) => reportWords[key] === word);
  return kind === undefined || text === undefined ? undefined : { kind, text };
}

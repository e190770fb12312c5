/**
 * How a pod that exists starts one step after the other: what its containers are created with, and the change that
 * lets one step begin.
 *
 * The one strategy so far is `placeholder`: every container is created on a placeholder image that waits, and a step
 * begins when its own image is patched in. The kubelet then stops the placeholder and starts the step's image in its
 * place, whatever the restart policy. Three things follow:
 *
 * 1. Command and arguments cannot be changed after the create, so they are the placeholder's too. What a step runs goes
 *    into `args` only, which a placeholder ignores; or, with the `entry` program, `command` is that program, which
 *    knows in which image it is.
 * 2. A failed pull leaves a container that has ended, and under `Never` nothing tries again. On Kubernetes 1.35 and
 *    later, restart rules on a code with which only the placeholder ends make the kubelet try again and show why. An
 *    older server drops the rules without a word: `keepsRules` reads back what it kept.
 * 3. The image's pull policy is the placeholder's too.
 */
import { imagePullPolicy } from '../image/policy.ts';
import type { BuildSpec, ContainerSpecRequest, JsonObject, JsonValue } from './build-spec.ts';
import type { Pod } from './types.ts';

export interface PlaceholderOption {
  readonly image: string;
  /** The exit code with which it ends on SIGTERM, when that is one no step uses; 0 is none. */
  readonly restartOn?: number;
  /** Whether the image is podwright's own, which brings the `entry` program. */
  readonly entry?: boolean;
}

/** Waits, ends with 0 on SIGTERM, and is on most nodes already: it cannot have a code of its own. */
export const defaultPlaceholder: PlaceholderOption = { image: 'registry.k8s.io/pause:3.10' };

/** One container of a build with the name it has in the pod. */
export interface PlannedContainer {
  /** The pipeline's name. */
  readonly name: string;
  readonly containerName: string;
  readonly request: ContainerSpecRequest;
}

/** What a strategy puts into the pod. */
export interface PodParts {
  readonly volumes: readonly JsonObject[];
  readonly initContainers: readonly JsonObject[];
}

/** A change of the pod that lets one step begin. */
export interface OpenPatch {
  readonly type: 'strategic';
  readonly body: JsonObject;
}

export interface StartStrategy {
  readonly kind: 'placeholder';
  podParts(): PodParts;
  /** Image, command, arguments, restart rules and mounts of one container. */
  containerParts(container: PlannedContainer): JsonObject;
  /** Sentences on what this strategy cannot do for the build, for its init log. */
  limits(spec: BuildSpec): readonly string[];
  /** The reserved code, when the server kept the rules for the container. */
  keepsRules(pod: Pod, containerName: string): boolean;
}

export function placeholderStrategy(placeholder: PlaceholderOption = defaultPlaceholder): StartStrategy {
  const { image, restartOn = 0, entry = false } = placeholder;
  return {
    kind: 'placeholder',
    podParts: () => (entry ? entryParts(image) : { volumes: [], initContainers: [] }),
    containerParts: ({ containerName, request }) => ({
      image,
      imagePullPolicy: imagePullPolicy(request.pull),
      ...(entry ? runByEntry(containerName, request) : runByImage(request)),
      ...(restartOn === 0 ? {} : restartRules(restartOn)),
    }),
    limits: (spec) => (entry ? [] : limitsWithoutEntry(spec)),
    keepsRules: (pod, containerName) =>
      restartOn !== 0 &&
      (pod.spec?.containers ?? []).some(
        (container) =>
          container.name === containerName &&
          (container.restartPolicyRules ?? []).some((rule) => rule.exitCodes?.values.includes(restartOn)),
      ),
  };
}

/** Where the parts of the entry program are in a pod. The program has the same paths compiled in: entry/entry.c. */
export const entryPaths = {
  program: '/podwright/entry',
  /** Holds the program, read-only in the steps. */
  folder: '/podwright',
  /** Holds one file for each step that has begun. */
  marks: '/podwright-marks',
  /** Where the init container has the folder. */
  target: '/podwright-target',
  /** The program under the name that makes it copy itself; in the placeholder image. */
  install: '/podwright-install',
} as const;

/** Exit codes of the entry program that a step never means. */
export const entryCodes = {
  /** The placeholder was told to end. */
  switched: 213,
  /** The step had begun before: this instance ran nothing. */
  ranBefore: 214,
} as const;

const programVolume = 'podwright-entry';
const marksVolume = 'podwright-marks';

function entryParts(image: string): PodParts {
  return {
    volumes: [
      { name: programVolume, emptyDir: {} },
      { name: marksVolume, emptyDir: {} },
    ],
    initContainers: [
      {
        name: 'podwright-entry',
        image,
        imagePullPolicy: 'IfNotPresent',
        command: [entryPaths.install, entryPaths.target],
        volumeMounts: [{ name: programVolume, mountPath: entryPaths.target }],
      },
    ],
  };
}

/** A step that brings its own command gets it from the entry program; one that does not keeps its image's entrypoint. */
function runByEntry(containerName: string, request: ContainerSpecRequest): JsonObject {
  const command = commandOf(request);
  const mounts = [
    { name: programVolume, mountPath: entryPaths.folder, readOnly: true },
    { name: marksVolume, mountPath: entryPaths.marks },
  ];
  if (command === undefined) return { ...runByImage(request), volumeMounts: mounts };
  return {
    command: [entryPaths.program],
    args: [containerName, ...command].map(escapeReferences),
    volumeMounts: mounts,
  };
}

function runByImage(request: ContainerSpecRequest): JsonObject {
  const args = commandOf(request) ?? request.args ?? [];
  return args.length === 0 ? {} : { args: args.map(escapeReferences) };
}

/** The whole command line, when the step says one; undefined when it is the image's to say. */
function commandOf(request: ContainerSpecRequest): readonly string[] | undefined {
  if (request.script !== undefined) return ['/bin/sh', '-e', '-c', request.script];
  if (request.entrypoint === undefined || request.entrypoint.length === 0) return undefined;
  return [...request.entrypoint, ...(request.args ?? [])];
}

function restartRules(code: number): JsonObject {
  return {
    restartPolicy: 'Never',
    restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [code] } }],
  };
}

function limitsWithoutEntry(spec: BuildSpec): readonly string[] {
  const withCommand = spec.containers.filter((container) => commandOf(container) !== undefined);
  if (withCommand.length === 0) return [];
  return [
    `The placeholder has no entry program: ${withCommand.map((container) => container.name).join(', ')} run as arguments ` +
      "of their image's own entrypoint, and nothing keeps a step from being started twice by the cluster.",
  ];
}

/**
 * Keeps a text as it is where Kubernetes replaces `$(NAME)`: there `$$` becomes `$`, and a `$` before a character
 * outside ASCII breaks it (the expansion copies one byte).
 */
export function escapeReferences(text: string): string {
  return text.replace(/\$(?=[$(]|[^\0-\x7f])/g, () => '$$');
}

/** For parts of a pod that are lists of objects. */
export function mountsOf(parts: JsonObject): readonly JsonValue[] {
  const mounts = parts['volumeMounts'];
  return Array.isArray(mounts) ? mounts : [];
}

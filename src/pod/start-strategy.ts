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
import { entryCodes, entryMounts, installCommand, runCommand } from '../image/placeholder.ts';
import { imagePullPolicy } from '../image/policy.ts';
import type { BuildSpec, JsonObject, JsonValue } from './build-spec.ts';
import { imagePatch, isPatched, type RequestRecord, runningPlaceholder } from './image-patch.ts';
import { scriptArgument } from './long-scripts.ts';
import type { PlaceholderOption, PlannedContainer } from './plan.ts';
import type { Pod } from './types.ts';

export type { PlaceholderOption } from './plan.ts';

/** Waits, ends with 0 on SIGTERM, and is on most nodes already: it cannot have a code of its own. */
export const defaultPlaceholder: PlaceholderOption = { image: 'registry.k8s.io/pause:3.10' };

/** What a strategy puts into the pod. */
export interface PodParts {
  readonly volumes: readonly JsonObject[];
  readonly initContainers: readonly JsonObject[];
}

/** What is known of a container that waits for its step; it becomes part of the request. */
export interface WaitingContainer {
  readonly containerID: string;
  readonly restartCount: number;
}

/** What a strategy decides, so that another one fits without a change of machines, projection or callers. */
export interface StartStrategy {
  readonly kind: 'placeholder';
  podParts(): PodParts;
  /** Image, command, arguments, restart rules and mounts of one container. */
  containerParts(container: PlannedContainer): JsonObject;
  /** The container as it waits for its step, or undefined while it does not. Only then may the step be asked for. */
  waiting(pod: Pod, containerName: string): WaitingContainer | undefined;
  /** The strategic merge patch that lets the step begin. Sent twice it does nothing the second time. */
  opening(uid: string, container: PlannedContainer, record: RequestRecord): JsonObject;
  /** Whether the pod shows that it was sent. */
  isOpened(pod: Pod, container: PlannedContainer): boolean;
  /** Sentences on what this strategy cannot do for the build, for its init log. */
  limits(spec: BuildSpec): readonly string[];
  /** Whether the server kept the rules by which the kubelet tries a failed pull again. */
  keepsRules(pod: Pod, containerName: string): boolean;
}

/** With everything said; what a code of 0 or an own image implies is filled in. */
export function completePlaceholder(placeholder: PlaceholderOption): Required<PlaceholderOption> {
  const { image, entry = false, restartOn = entry ? entryCodes.placeholder : 0 } = placeholder;
  return { image, restartOn, entry };
}

export function placeholderStrategy(placeholder: PlaceholderOption = defaultPlaceholder): StartStrategy {
  const { image, restartOn, entry } = completePlaceholder(placeholder);
  return {
    kind: 'placeholder',
    podParts: () => (entry ? entryParts(image) : { volumes: [], initContainers: [] }),
    containerParts: (container) => ({
      image,
      imagePullPolicy: imagePullPolicy(container.request.pull),
      ...(entry ? runByEntry(container) : runByImage(container)),
      ...(restartOn === 0 ? {} : restartRules(restartOn)),
    }),
    waiting: runningPlaceholder,
    opening: (uid, { containerName, request }, record) => imagePatch(uid, containerName, request.image, record),
    isOpened: (pod, { containerName, request }) => isPatched(pod, containerName, request.image),
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

const programVolume = 'podwright-bin';
const marksVolume = 'podwright-marks';

/** The init container copies the program out of the placeholder image, so that it is there in the step's image too. */
function entryParts(image: string): PodParts {
  return {
    // On disk: a mark must outlive the node's restart.
    volumes: [
      { name: programVolume, emptyDir: {} },
      { name: marksVolume, emptyDir: {} },
    ],
    initContainers: [
      {
        name: 'podwright-install',
        image,
        imagePullPolicy: 'IfNotPresent',
        command: installCommand(),
        volumeMounts: [
          { name: programVolume, mountPath: entryMounts.bin },
          { name: marksVolume, mountPath: entryMounts.marks },
        ],
      },
    ],
  };
}

/** A step that brings its own command gets it from the entry program; one that does not keeps its image's entrypoint. */
function runByEntry(container: PlannedContainer): JsonObject {
  const command = commandOf(container);
  if (command === undefined) return runByImage(container);
  return {
    command: runCommand(container.containerName),
    args: command.map(escapeReferences),
    volumeMounts: [
      { name: programVolume, mountPath: entryMounts.bin, readOnly: true },
      { name: marksVolume, mountPath: entryMounts.marks },
    ],
  };
}

function runByImage(container: PlannedContainer): JsonObject {
  const args = commandOf(container) ?? container.request.args ?? [];
  return args.length === 0 ? {} : { args: args.map(escapeReferences) };
}

/** The whole command line, when the step says one; undefined when it is the image's to say. */
function commandOf(container: Pick<PlannedContainer, 'index' | 'request'>): readonly string[] | undefined {
  const { script, entrypoint, args } = container.request;
  if (script !== undefined) return ['/bin/sh', '-e', '-c', scriptArgument(container)];
  if (entrypoint === undefined || entrypoint.length === 0) return undefined;
  return [...entrypoint, ...(args ?? [])];
}

function restartRules(code: number): JsonObject {
  return {
    restartPolicy: 'Never',
    restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [code] } }],
  };
}

function limitsWithoutEntry(spec: BuildSpec): readonly string[] {
  const withCommand = spec.containers.filter((request, index) => commandOf({ request, index }) !== undefined);
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

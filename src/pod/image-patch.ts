/**
 * The change that lets a step begin: its own image in the place of the placeholder.
 *
 * A strategic merge patch, so that the container is found by its name. It carries the pod's uid: a later pod of the
 * same name refuses it (422). Sent twice it changes nothing the second time, because the server does not write an
 * object that stays the same; so a lost answer may simply be asked again. It also leaves on the pod when the step was
 * asked for and which placeholder ran there, for whoever must read the pod without having seen it before.
 */
import type { JsonObject } from './build-spec.ts';
import { requestAnnotation } from './labels.ts';
import type { ContainerStatus, Pod } from './types.ts';

/** What is known of the placeholder at the moment of the request; kept in an annotation of the pod. */
export interface RequestRecord {
  /** RFC 3339, the runtime's clock. */
  readonly at: string;
  /** The container ID of the placeholder. */
  readonly placeholder: string;
  readonly restartCount: number;
}

export function imagePatch(uid: string, containerName: string, image: string, record: RequestRecord): JsonObject {
  return {
    metadata: { uid, annotations: { [requestAnnotation(containerName)]: JSON.stringify(record) } },
    spec: { containers: [{ name: containerName, image }] },
  };
}

/**
 * Whether the pod asks for the image already: the answer to a patch whose answer was lost. The request that the same
 * patch has left counts too, because the cluster's admission may have written another image than the one it was sent:
 * with a digest, or of a mirror.
 */
export function isPatched(pod: Pod, containerName: string, image: string): boolean {
  return imageOf(pod, containerName) === image || requestRecord(pod, containerName) !== undefined;
}

/** As which images the placeholder stands in the pod: as it was sent, and as the cluster's admission has written it. */
export function placeholderImagesIn(pod: Pod, image: string, waiting: readonly string[]): readonly string[] {
  const written = waiting.map((containerName) => imageOf(pod, containerName)).filter((found) => found !== undefined);
  return [...new Set([image, ...written])];
}

/**
 * The placeholder that runs in the container, or undefined while none does. Only then may the step be asked for: a
 * patch before the first start makes the kubelet start the step at once, without a placeholder ever having been there.
 */
export function runningPlaceholder(
  pod: Pod,
  containerName: string,
): { readonly containerID: string; readonly restartCount: number } | undefined {
  const status = statusOf(pod, containerName);
  if (status?.state?.running === undefined || !status.containerID) return undefined;
  return { containerID: status.containerID, restartCount: status.restartCount ?? 0 };
}

/** What an earlier runtime left on the pod about its request, or undefined when the step was not asked for. */
export function requestRecord(pod: Pod, containerName: string): RequestRecord | undefined {
  const text = pod.metadata.annotations?.[requestAnnotation(containerName)];
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isRequestRecord(value) ? value : undefined;
  } catch {
    // Someone wrote over the annotation; the spec's image still tells that the step was asked for.
    return undefined;
  }
}

function imageOf(pod: Pod, containerName: string): string | undefined {
  return pod.spec?.containers?.find(({ name }) => name === containerName)?.image;
}

function statusOf(pod: Pod, containerName: string): ContainerStatus | undefined {
  return pod.status?.containerStatuses?.find((status) => status.name === containerName);
}

function isRequestRecord(value: unknown): value is RequestRecord {
  if (typeof value !== 'object' || value === null) return false;
  const { at, placeholder, restartCount } = value as Record<string, unknown>;
  return typeof at === 'string' && typeof placeholder === 'string' && typeof restartCount === 'number';
}

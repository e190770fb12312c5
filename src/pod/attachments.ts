/**
 * The objects a build's pod needs beside it: a Secret with the values of its secret variables, ConfigMaps with scripts
 * that are too long for an argument. They are created before the pod, because a container whose Secret or volume is
 * missing does not start, and then given the pod as their owner, so that they go when the pod goes.
 */
import type { JsonObject } from './build-spec.ts';
import { scriptConfigMaps } from './long-scripts.ts';
import type { BuildPlan } from './plan.ts';
import { buildSecret } from './secrets.ts';

export interface AttachmentName {
  readonly resource: 'secrets' | 'configmaps';
  readonly name: string;
}

export interface Attachment extends AttachmentName {
  readonly manifest: object;
}

export function attachmentsOf(plan: BuildPlan, labels: Readonly<Record<string, string>>): readonly Attachment[] {
  const secret = buildSecret(plan, labels);
  const configMaps = scriptConfigMaps(plan, labels);
  return [
    ...(secret === undefined ? [] : [attachment('secrets', secret)]),
    ...configMaps.map((configMap) => attachment('configmaps', configMap)),
  ];
}

/** The merge patch that ties one to its pod. */
export function ownedBy(pod: { readonly name: string; readonly uid: string }): JsonObject {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid };
  return { metadata: { ownerReferences: [{ ...owner, controller: false, blockOwnerDeletion: false }] } };
}

function attachment(
  resource: AttachmentName['resource'],
  manifest: { readonly metadata: { readonly name: string } },
): Attachment {
  return { resource, name: manifest.metadata.name, manifest };
}

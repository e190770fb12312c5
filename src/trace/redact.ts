/**
 * What a recording keeps of an object: enough to judge it again, nothing that a user would not show to strangers.
 *
 * Left out are environments, commands, arguments, volumes, annotations and everything else that is not named here.
 * What a container wrote into its termination message, and what registries answer, stays: verdicts rest on it.
 */
import { trimEvent, trimPod } from '../pod/trim.ts';
import type { ContainerSpec, KubeEvent, Pod } from '../pod/types.ts';

export function recordedPod(pod: Pod): Pod {
  const { metadata, ...rest } = trimPod(pod);
  const { annotations: _annotations, ...kept } = metadata;
  return { ...rest, metadata: kept };
}

export function recordedEvent(event: KubeEvent): KubeEvent {
  const { metadata, ...rest } = trimEvent(event);
  const { annotations: _annotations, ...kept } = metadata;
  return { ...rest, metadata: kept };
}

/** The body of a request about a pod: of a create and a patch the images and rules, of a delete its grace. */
export function recordedBody(method: string, body: object): object {
  if (method === 'DELETE') return body;
  if (Array.isArray(body)) return body.filter(({ path }: { readonly path?: unknown }) => isImagePath(path));
  const { metadata, spec } = body as Partial<Pod>;
  const { name, labels } = metadata ?? {};
  return {
    metadata: { ...(name === undefined ? {} : { name }), ...(labels === undefined ? {} : { labels }) },
    ...(spec === undefined
      ? {}
      : {
          spec: {
            ...(spec.restartPolicy === undefined ? {} : { restartPolicy: spec.restartPolicy }),
            ...(spec.containers === undefined ? {} : { containers: spec.containers.map(recordedContainer) }),
            ...(spec.initContainers === undefined
              ? {}
              : { initContainers: spec.initContainers.map(recordedContainer) }),
          },
        }),
  };
}

function isImagePath(path: unknown): boolean {
  return typeof path === 'string' && /^\/spec\/containers\/\d+\/image$/.test(path);
}

function recordedContainer({ name, image, imagePullPolicy, restartPolicy, restartPolicyRules }: ContainerSpec): object {
  return {
    name,
    ...(image === undefined ? {} : { image }),
    ...(imagePullPolicy === undefined ? {} : { imagePullPolicy }),
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
    ...(restartPolicyRules === undefined ? {} : { restartPolicyRules }),
  };
}

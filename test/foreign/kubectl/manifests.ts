/** Objects that scenarios create. Images are those that the lab's node has. */

export const image = 'lab.local/quiet:1';
/** A registry that answers: no such thing. */
export const missingImage = 'localhost:5000/step:none';

/** Ends at SIGTERM with 0. */
export const waits = 'trap "exit 0" TERM; while :; do sleep 0.1; done';

interface ContainerRequest {
  readonly name: string;
  readonly script: string;
  readonly image?: string;
  readonly env?: readonly object[];
}

export function pod(
  name: string,
  containers: readonly ContainerRequest[],
  more: { readonly labels?: Record<string, string>; readonly spec?: object } = {},
): string {
  return manifest({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name, ...more.labels } },
    spec: {
      restartPolicy: 'Never',
      // A lab without a cluster DNS warns about pods that ask for it.
      dnsPolicy: 'Default',
      containers: containers.map(({ script, ...container }) => ({
        image,
        command: ['sh', '-c', script],
        ...container,
      })),
      ...more.spec,
    },
  });
}

export function manifest(object: object): string {
  return JSON.stringify(object);
}

/** Several manifests as one YAML stream. */
export function documents(...manifests: readonly string[]): string {
  return manifests.map((one) => `---\n${one}\n`).join('');
}

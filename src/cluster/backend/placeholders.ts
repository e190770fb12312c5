/** The images that only wait: known by name, never run, whatever their container's args say. */

/** An image that only waits until its container is switched to another image. */
export interface PlaceholderImage {
  /** A reference as in the pod's spec. A trailing `*` stands for any rest. */
  readonly image: string;
  /** The exit code on SIGTERM. Default 0. */
  readonly exitCode?: number;
}

export const knownPlaceholders: readonly PlaceholderImage[] = [
  { image: 'registry.k8s.io/pause:*' },
  { image: 'registry.k8s.io/pause@*' },
  { image: 'lab.local/pause:*' },
  { image: 'lab.local/placeholder:1' },
  { image: 'lab.local/placeholder213:1', exitCode: 213 },
];

/** The exit code on SIGTERM when the image is a placeholder; undefined when it is not. */
export function placeholderCode(image: string, placeholders: readonly PlaceholderImage[]): number | undefined {
  const found = placeholders.find((one) =>
    one.image.endsWith('*') ? image.startsWith(one.image.slice(0, -1)) : one.image === image,
  );
  return found === undefined ? undefined : (found.exitCode ?? 0);
}

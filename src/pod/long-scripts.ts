/**
 * Scripts that are too long to be an argument: Linux takes 128 KiB as one, and the whole pod must stay below what etcd
 * keeps in one object. They become files of ConfigMaps, mounted into the containers that run them.
 *
 * A file holds at most what a ConfigMap may; a longer script is several files, read in order.
 */
import type { ContainerSpecRequest, JsonObject } from './build-spec.ts';
import type { PlannedContainer } from './plan.ts';

/** Longer ones are files. Far below the kernel's limit, so that many steps of this length fit into one pod. */
export const longestInlineBytes = 32 * 1024;

/** Where the files are in a container. */
const folder = '/podwright/scripts';
const volumeName = 'podwright-scripts';

/** The API server refuses a ConfigMap with more than 1 MiB in its values. */
const configMapBytes = 1_000_000;

export interface ConfigMapManifest {
  readonly apiVersion: 'v1';
  readonly kind: 'ConfigMap';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly data: Readonly<Record<string, string>>;
}

interface BuildNames {
  readonly namespace: string;
  readonly podName: string;
  readonly containers: readonly PlannedContainer[];
}

export function isLong(script: string): boolean {
  return Buffer.byteLength(script) > longestInlineBytes;
}

/** The script as an argument of `sh -c`: itself, or what reads it from its files. */
export function scriptArgument({
  request,
  index,
}: {
  readonly request: ContainerSpecRequest;
  readonly index: number;
}): string {
  const { script = '' } = request;
  if (!isLong(script)) return script;
  // Sourced, its lines keep their numbers; `eval` is for what one file cannot hold.
  return piecesOf(script).length === 1 ? `. ${folder}/${index}.000` : `eval "$(cat ${folder}/${index}.*)"`;
}

/** Read-only, in a container with a long script. */
export function scriptMounts(request: ContainerSpecRequest): readonly JsonObject[] {
  if (!isLong(request.script ?? '')) return [];
  return [{ name: volumeName, mountPath: folder, readOnly: true }];
}

/** One volume with the files of all of them. */
export function scriptVolumes(build: BuildNames): readonly JsonObject[] {
  const sources = scriptConfigMaps(build, {}).map(({ metadata: { name } }) => ({ configMap: { name } }));
  return sources.length === 0 ? [] : [{ name: volumeName, projected: { sources } }];
}

export function scriptConfigMaps(
  { namespace, podName, containers }: BuildNames,
  labels: Readonly<Record<string, string>>,
): readonly ConfigMapManifest[] {
  return packed(containers).map((data, number) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `${podName}-scripts-${number}`, namespace, labels },
    data,
  }));
}

/** Files in order, as many in each as fit. */
function packed(containers: readonly PlannedContainer[]): readonly Record<string, string>[] {
  const maps: Record<string, string>[] = [];
  let room = 0;
  for (const [index, { request }] of containers.entries()) {
    if (!isLong(request.script ?? '')) continue;
    for (const [piece, text] of piecesOf(request.script ?? '').entries()) {
      const bytes = Buffer.byteLength(text);
      if (bytes > room) {
        maps.push({});
        room = configMapBytes;
      }
      room -= bytes;
      const last = maps.at(-1);
      if (last !== undefined) last[`${index}.${String(piece).padStart(3, '0')}`] = text;
    }
  }
  return maps;
}

/** Cut between characters, each below the limit in UTF-8. */
function piecesOf(script: string): readonly string[] {
  const bytes = Buffer.from(script);
  const pieces: string[] = [];
  for (let start = 0; start < bytes.length; ) {
    let end = Math.min(start + configMapBytes, bytes.length);
    while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
    pieces.push(bytes.toString('utf8', start, end));
    start = end;
  }
  return pieces;
}

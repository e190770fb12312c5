/** What a container is given: variables and volume contents, read from the API server when it is created. */

import type { VolumeContent } from '../backend/backend.ts';
import { type ApiClient, ApiFailure } from '../client.ts';
import { texts } from '../texts.ts';
import type { ApiObject, Container, EnvVar, KeyToPath, PodObject, VolumeSource } from '../types.ts';

/** CreateContainerConfigError: the message is the Event's text after `Error: `. */
export class ConfigFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ConfigFailure';
  }
}

/** FailedMount: the message is what stands after the name of the volume. */
export class MountFailure extends Error {
  readonly volume: string;

  constructor(volume: string, message: string) {
    super(message);
    this.name = 'MountFailure';
    this.volume = volume;
  }
}

type Kind = 'Secret' | 'ConfigMap';

export class EnvironmentReader {
  readonly #client: ApiClient;
  readonly #pod: PodObject;
  readonly #objects = new Map<string, ApiObject | undefined>();

  constructor(client: ApiClient, pod: PodObject) {
    this.#client = client;
    this.#pod = pod;
  }

  /** Rejects with ConfigFailure. */
  async variables(container: Container, podIP: string, hostIP: string): Promise<Record<string, string>> {
    const result: Record<string, string> = {};
    for (const { prefix = '', secretRef, configMapRef } of container.envFrom ?? []) {
      const reference = secretRef ?? configMapRef;
      if (reference === undefined) continue;
      const data = await this.#data(secretRef ? 'Secret' : 'ConfigMap', reference.name, reference.optional);
      for (const [key, value] of data ?? []) result[prefix + key] = Buffer.from(value).toString();
    }
    for (const variable of container.env ?? []) {
      const value = await this.#value(variable, container, { podIP, hostIP });
      if (value !== undefined) result[variable.name] = expand(value, result);
    }
    return result;
  }

  /** Rejects with MountFailure. */
  async volumes(): Promise<Map<string, VolumeContent>> {
    const result = new Map<string, VolumeContent>();
    for (const { name, secret, configMap, projected } of this.#pod.spec.volumes ?? []) {
      const files = new Map<string, Uint8Array>();
      const sources = projected?.sources ?? [
        ...(secret === undefined ? [] : [{ secret: { ...secret, name: secret.secretName } }]),
        ...(configMap === undefined ? [] : [{ configMap }]),
      ];
      for (const source of sources) {
        for (const [path, content] of await this.#source(name, source)) files.set(path, content);
      }
      result.set(name, { files });
    }
    return result;
  }

  /** One Secret or ConfigMap as files; the other kinds of sources have none here. */
  async #source(volume: string, { secret, configMap }: VolumeSource): Promise<ReadonlyMap<string, Uint8Array>> {
    const reference = secret ?? configMap;
    if (reference === undefined) return new Map();
    const kind = secret === undefined ? 'ConfigMap' : 'Secret';
    try {
      const data = await this.#data(kind, reference.name, reference.optional);
      return selected(data, reference.items, (key) => {
        if (reference.optional !== true) throw new MountFailure(volume, texts.noKeyToMount(kind, key));
      });
    } catch (error) {
      throw error instanceof ConfigFailure ? new MountFailure(volume, error.message) : error;
    }
  }

  async #value(
    { value, valueFrom }: EnvVar,
    container: Container,
    addresses: { podIP: string; hostIP: string },
  ): Promise<string | undefined> {
    if (valueFrom === undefined) return value ?? '';
    const { fieldRef, secretKeyRef, configMapKeyRef, resourceFieldRef } = valueFrom;
    if (fieldRef !== undefined) return fieldValue(this.#pod, fieldRef.fieldPath, addresses);
    if (resourceFieldRef !== undefined) return resourceValue(container, resourceFieldRef.resource);
    const reference = secretKeyRef ?? configMapKeyRef;
    if (reference === undefined) return '';
    const kind = secretKeyRef ? 'Secret' : 'ConfigMap';
    const data = await this.#data(kind, reference.name, reference.optional);
    const found = data?.get(reference.key);
    if (found !== undefined) return Buffer.from(found).toString();
    if (reference.optional === true) return undefined;
    const place = `${this.#pod.metadata.namespace}/${reference.name}`;
    throw new ConfigFailure(
      kind === 'Secret' ? texts.noSecretKey(reference.key, place) : texts.noConfigMapKey(reference.key, place),
    );
  }

  async #data(kind: Kind, name: string, optional = false): Promise<Map<string, Uint8Array> | undefined> {
    const object = await this.#object(kind, name);
    if (object === undefined) {
      if (optional) return undefined;
      throw new ConfigFailure(kind === 'Secret' ? texts.secretNotFound(name) : texts.configMapNotFound(name));
    }
    const { ['data']: data = {}, ['binaryData']: binary = {} } = object as { data?: object; binaryData?: object };
    const encoding = kind === 'Secret' ? 'base64' : 'utf8';
    const entries = (from: object, code: BufferEncoding): [string, Uint8Array][] =>
      Object.entries(from).map(([key, value]) => [key, Buffer.from(String(value), code)]);
    return new Map([...entries(data, encoding), ...entries(binary, 'base64')]);
  }

  async #object(kind: Kind, name: string): Promise<ApiObject | undefined> {
    const path = `/api/v1/namespaces/${this.#pod.metadata.namespace}/${kind.toLowerCase()}s/${name}`;
    if (this.#objects.has(path)) return this.#objects.get(path);
    try {
      this.#objects.set(path, await this.#client.get(path));
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.code !== 404) throw error;
      this.#objects.set(path, undefined);
    }
    return this.#objects.get(path);
  }
}

function selected(
  data: ReadonlyMap<string, Uint8Array> | undefined,
  items: readonly KeyToPath[] | undefined,
  onMissing: (key: string) => void,
): ReadonlyMap<string, Uint8Array> {
  if (data === undefined) return new Map();
  if (items === undefined) return data;
  const files = new Map<string, Uint8Array>();
  for (const { key, path } of items) {
    const value = data.get(key);
    if (value === undefined) onMissing(key);
    else files.set(path, value);
  }
  return files;
}

/** `$(NAME)` of variables set before; `$$(NAME)` stays as it is, with one `$`. */
export function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$(\$|\(([^()]*)\))/g, (whole, first: string, name: string | undefined) =>
    first === '$' ? '$' : (variables[name ?? ''] ?? whole),
  );
}

function fieldValue(pod: PodObject, path: string, { podIP, hostIP }: { podIP: string; hostIP: string }): string {
  const { metadata, spec } = pod;
  const keyed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (keyed !== null) return metadata[keyed[1] as 'labels' | 'annotations']?.[keyed[2] ?? ''] ?? '';
  const values: Readonly<Record<string, string | undefined>> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'metadata.uid': metadata.uid,
    'spec.nodeName': spec.nodeName,
    'spec.serviceAccountName': String(spec['serviceAccountName'] ?? ''),
    'status.podIP': podIP,
    'status.podIPs': podIP,
    'status.hostIP': hostIP,
  };
  const value = values[path];
  if (value === undefined) throw new ConfigFailure(`unsupported fieldPath: ${path}`);
  return value;
}

function resourceValue({ resources = {} }: Container, name: string): string {
  const [list, resource = ''] = name.split('.');
  const from = list === 'limits' ? resources.limits : resources.requests;
  return from?.[resource] ?? '0';
}

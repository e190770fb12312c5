/** The values of Secrets that a cluster has: only to hide them in what is shown. */
import { isPodwrightError } from '../errors.ts';
import type { CompiledPipeline } from '../executor/compile.ts';
import type { KubeClient } from '../kube/client.ts';

/** Of the Secrets that the steps refer to. One that may not be read cannot be masked, and that is told. */
export async function referencedSecrets(
  client: KubeClient,
  namespace: string,
  { spec }: CompiledPipeline,
  say: (text: string) => void,
): Promise<readonly string[]> {
  const refs = spec.containers.flatMap((container) => Object.values(container.secretRefs ?? {}));
  const names = [...new Set(refs.map((ref) => ref.secret))];
  const values = await Promise.all(
    names.map(async (name) => {
      const data = await secretValues(client, namespace, name);
      if (data === undefined)
        say(`warning: the Secret "${name}" cannot be read, so that its values are not masked in logs`);
      const keys = refs.filter((ref) => ref.secret === name).map((ref) => ref.key);
      return keys.flatMap((key) => data?.get(key) ?? []);
    }),
  );
  return values.flat();
}

/** By key; undefined when the Secret is not there or may not be read. */
export async function secretValues(
  client: KubeClient,
  namespace: string,
  name: string,
): Promise<ReadonlyMap<string, string> | undefined> {
  try {
    const secret = await client.get<{ readonly data?: Readonly<Record<string, string>> }>({
      resource: 'secrets',
      namespace,
      name,
    });
    const decode = (value: string): string => Buffer.from(value, 'base64').toString('utf8');
    return new Map(Object.entries(secret.data ?? {}).map(([key, value]) => [key, decode(value)]));
  } catch (error) {
    const isHidden =
      isPodwrightError(error, 'ERR_PODWRIGHT_FORBIDDEN') || isPodwrightError(error, 'ERR_PODWRIGHT_NOT_FOUND');
    if (isHidden) return undefined;
    throw error;
  }
}

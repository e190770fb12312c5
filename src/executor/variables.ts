/**
 * The variables of one container: which value wins, what is substituted into what, and which of them are secret.
 *
 * A variable whose value holds a secret is a secret itself: it goes where secrets go and is masked like them.
 */
import { type Lookup, substitute } from './substitute.ts';

/** A secret given to the build: its value, or where the cluster has it. */
export type SecretValue = { readonly value: string } | { readonly secret: string; readonly key: string };

export interface Variables {
  readonly plain: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  /** Values that the cluster has; unknown here. */
  readonly refs: Readonly<Record<string, { readonly secret: string; readonly key: string }>>;
  /** Plain variables only: for what everyone may read. */
  readonly lookup: Lookup;
}

/** Later layers win over earlier ones, secrets over all. Values may use each other; one that uses itself stays as it is. */
export function resolveVariables(
  layers: readonly Readonly<Record<string, string>>[],
  given: ReadonlyMap<string, SecretValue>,
): Variables {
  const written: Record<string, string> = Object.assign({}, ...layers);
  const resolved = new Map<string, { readonly value: string; readonly isSecret: boolean }>();
  const open = new Set<string>();

  const resolve = (name: string): { readonly value: string; readonly isSecret: boolean } | undefined => {
    const secret = given.get(name);
    if (secret !== undefined) return 'value' in secret ? { value: secret.value, isSecret: true } : undefined;
    const known = resolved.get(name);
    if (known !== undefined) return known;
    const raw = Object.hasOwn(written, name) ? written[name] : undefined;
    if (raw === undefined || open.has(name)) return undefined;
    open.add(name);
    let isSecret = false;
    const value = substitute(raw, (other) => {
      const inner = resolve(other);
      isSecret ||= inner?.isSecret === true;
      return inner?.value;
    });
    open.delete(name);
    const result = { value, isSecret };
    resolved.set(name, result);
    return result;
  };

  const plain: Record<string, string> = {};
  const secrets: Record<string, string> = {};
  const refs: Record<string, { secret: string; key: string }> = {};
  for (const [name, secret] of given) {
    if ('value' in secret) secrets[name] = secret.value;
    else refs[name] = secret;
  }
  for (const name of Object.keys(written)) {
    if (given.has(name)) continue;
    const result = resolve(name);
    if (result !== undefined) (result.isSecret ? secrets : plain)[name] = result.value;
  }
  return { plain, secrets, refs, lookup: (name) => (Object.hasOwn(plain, name) ? plain[name] : undefined) };
}

/** Settings of a plugin as variables: lists of plain values are joined, everything nested is JSON. */
export function parameterEnvironment(parameters: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null) variables[`PARAMETER_${name.toUpperCase()}`] = parameterText(value);
  }
  return variables;
}

function parameterText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const isPlainList = Array.isArray(value) && value.every((item) => typeof item !== 'object' || item === null);
  return isPlainList ? value.join(',') : JSON.stringify(value);
}

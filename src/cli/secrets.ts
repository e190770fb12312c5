/** Where the secrets of a build come from: flags, the environment, files, and Secrets that the cluster has already. */
import { PodwrightError } from '../errors.ts';
import type { SecretValue } from '../executor/variables.ts';
import { readUserFile } from './files.ts';
import type { Terminal } from './terminal.ts';

export interface SecretFlags {
  readonly secret?: readonly string[];
  readonly secretFile?: readonly string[];
  readonly secretRef?: readonly string[];
}

/** By the name that steps ask for. Flags win over files. A value never appears in an error. */
export async function readSecrets(
  flags: SecretFlags,
  terminal: Pick<Terminal, 'env'>,
): Promise<ReadonlyMap<string, SecretValue>> {
  const secrets = new Map<string, SecretValue>();
  for (const file of flags.secretFile ?? [])
    for (const [name, value] of await readSecretFile(file)) secrets.set(name, { value });
  for (const text of flags.secretRef ?? []) secrets.set(...parseSecretRef(text));
  for (const text of flags.secret ?? []) {
    const equals = text.indexOf('=');
    if (equals > 0) secrets.set(text.slice(0, equals), { value: text.slice(equals + 1) });
    else secrets.set(text, { value: fromEnvironment(text, terminal.env) });
  }
  return secrets;
}

/** A secret `docker_password` is looked for as `docker_password` and as `DOCKER_PASSWORD`. */
function fromEnvironment(name: string, env: Terminal['env']): string {
  const value = env[name] ?? env[name.toUpperCase()];
  if (value !== undefined) return value;
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `the secret "${name}" has no value`, {
    remedy: `Set the variable ${name.toUpperCase()}, or write --secret ${name}=VALUE.`,
  });
}

async function readSecretFile(file: string): Promise<readonly (readonly [string, string])[]> {
  const remedy = 'Name a file of lines NAME=value: --secret-file FILE.';
  return parseSecretFile(await readUserFile(file, remedy), file);
}

/** Lines `NAME=value`; blank ones and those with `#` at their start are comments. Double quotes take `\n` and `\"`. */
export function parseSecretFile(text: string, file: string): readonly (readonly [string, string])[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    if (/^\s*(#|$)/.test(line)) return [];
    const match = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)=(.*)$/.exec(line);
    if (match === null) {
      throw new PodwrightError('ERR_PODWRIGHT_USAGE', `${file}:${index + 1}: this is no NAME=value`, {
        remedy: 'Write one secret a line: NAME=value. A line break in a value is \\n within double quotes.',
      });
    }
    const [, name = '', value = ''] = match;
    return [[name, unquote(value)] as const];
  });
}

function unquote(value: string): string {
  if (/^'.*'$/.test(value)) return value.slice(1, -1);
  if (!/^".*"$/.test(value)) return value;
  return value.slice(1, -1).replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}

function parseSecretRef(text: string): [string, SecretValue] {
  const match = /^([^=]+)=([a-z0-9.-]+)\/([\w.-]+)$/.exec(text);
  const [, name, secret, key] = match ?? [];
  if (name !== undefined && secret !== undefined && key !== undefined) return [name, { secret, key }];
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${text}" names no key of a Kubernetes Secret`, {
    remedy: 'Write --secret-ref NAME=SECRET/KEY.',
  });
}

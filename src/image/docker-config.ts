/**
 * Credentials for a registry from docker's configuration file, as `docker login`, `podman login` and the tools of the
 * clouds write it.
 *
 * Asks a credential helper only for the registry in question. Never prints or keeps a secret.
 */
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { PodwrightError } from '../errors.ts';

export type Credentials =
  | { readonly kind: 'password'; readonly username: string; readonly password: string }
  /** A refresh token of the registry's token service. */
  | { readonly kind: 'identityToken'; readonly token: string }
  /** A bearer token for the registry itself. */
  | { readonly kind: 'registryToken'; readonly token: string };

/**
 * The credentials that `file` has for the registry; undefined when it has none or is not there. A helper for this
 * registry goes before the general store, and the store before what stands in the file, as in docker.
 * Throws `ERR_PODWRIGHT_CONFIG` when the file cannot be read or understood, or a helper does not work.
 */
export async function registryCredentials(file: string, registry: string): Promise<Credentials | undefined> {
  const config = await readConfig(file);
  const helper = byHost(config.credHelpers, registry) ?? config.credsStore;
  if (helper !== undefined && helper !== '') {
    const credentials = await askHelper(helper, registry, file);
    if (credentials !== undefined) return credentials;
  }
  const entry = byHost(config.auths, registry);
  return entry === undefined ? undefined : fromEntry(entry, file, registry);
}

interface DockerConfig {
  readonly auths?: Readonly<Record<string, AuthEntry>>;
  readonly credHelpers?: Readonly<Record<string, string>>;
  readonly credsStore?: string;
}

interface AuthEntry {
  readonly auth?: string;
  readonly username?: string;
  readonly password?: string;
  readonly identitytoken?: string;
  readonly registrytoken?: string;
}

/** The default registry's name in the file; every other registry goes by its host. */
const defaultRegistryKey = 'https://index.docker.io/v1/';
/** The user name by which a helper says that its secret is an identity token. */
const tokenUser = '<token>';

async function readConfig(file: string): Promise<DockerConfig> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return {};
    throw unusable(file, 'it cannot be read', 'Check its permissions.', error);
  }
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch (error) {
    throw unusable(file, 'it is not JSON', 'Repair it, or log in again.', error);
  }
  if (!isDockerConfig(config)) throw unusable(file, 'auths, credHelpers or credsStore is not as docker writes it');
  return config;
}

function isDockerConfig(value: unknown): value is DockerConfig {
  if (!isRecord(value)) return false;
  const { auths = {}, credHelpers = {}, credsStore = '' } = value;
  return (
    isRecord(auths) &&
    Object.values(auths).every(isAuthEntry) &&
    isRecord(credHelpers) &&
    Object.values(credHelpers).every((name) => typeof name === 'string') &&
    typeof credsStore === 'string'
  );
}

const authFields = ['auth', 'username', 'password', 'identitytoken', 'registrytoken'] as const;

function isAuthEntry(value: unknown): value is AuthEntry {
  return isRecord(value) && authFields.every((field) => ['string', 'undefined'].includes(typeof value[field]));
}

/** The keys are hosts; older files have URLs. The default registry is called by its own name too. */
function byHost<T>(entries: Readonly<Record<string, T>> | undefined, registry: string): T | undefined {
  if (entries === undefined) return undefined;
  const wanted = [hostOf(keyOf(registry)), registry];
  const key = Object.keys(entries).find((one) => wanted.includes(hostOf(one)));
  return key === undefined ? undefined : entries[key];
}

function keyOf(registry: string): string {
  return registry === 'docker.io' ? defaultRegistryKey : registry;
}

function hostOf(key: string): string {
  return key.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
}

function fromEntry(entry: AuthEntry, file: string, registry: string): Credentials | undefined {
  if (entry.registrytoken) return { kind: 'registryToken', token: entry.registrytoken };
  if (entry.identitytoken) return { kind: 'identityToken', token: entry.identitytoken };
  if (entry.username && entry.password) {
    return { kind: 'password', username: entry.username, password: entry.password };
  }
  if (!entry.auth) return undefined;
  const text = Buffer.from(entry.auth, 'base64').toString();
  const colon = text.indexOf(':');
  if (colon < 1) throw unusable(file, `its auth for ${registry} is not user:password in base64`, 'Log in again.');
  // Some writers pad the password with zeros.
  return { kind: 'password', username: text.slice(0, colon), password: text.slice(colon + 1).replace(/\0+$/, '') };
}

async function askHelper(name: string, registry: string, file: string): Promise<Credentials | undefined> {
  if (!/^[\w.-]+$/.test(name)) throw unusable(file, `"${name}" is not the name of a credential helper`);
  const program = `docker-credential-${name}`;
  const { exitCode, stdout, stderr } = await run(program, keyOf(registry), file);
  if (exitCode !== 0) {
    const said = `${stdout}${stderr}`.trim();
    if (/credentials not found/i.test(said)) return undefined;
    throw unusable(file, `${program} failed for ${registry}: ${said || `exit code ${exitCode}`}`, 'Log in again.');
  }
  let answer: unknown;
  try {
    answer = JSON.parse(stdout);
  } catch {
    // No cause: the parser's message quotes the text, which may hold a secret.
    throw unusable(file, `${program} did not answer in JSON`);
  }
  if (!isRecord(answer)) throw unusable(file, `${program} did not answer with an object`);
  const { Username: username, Secret: secret } = answer;
  if (typeof username !== 'string' || typeof secret !== 'string') {
    throw unusable(file, `${program} answered without Username or Secret`);
  }
  if (secret === '') return undefined;
  return username === tokenUser
    ? { kind: 'identityToken', token: secret }
    : { kind: 'password', username, password: secret };
}

interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(program: string, input: string, file: string): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['get'], { stdio: 'pipe' });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
    child.on('error', (error) => {
      reject(unusable(file, `${program} cannot be started`, `Install it, or remove its name from ${file}.`, error));
    });
    child.on('close', (exitCode) => {
      resolve({ exitCode, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() });
    });
    // A helper that ends without reading its input is judged by its exit code.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

function unusable(file: string, what: string, remedy?: string, cause?: unknown): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_CONFIG', `cannot use the docker configuration ${file}: ${what}`, {
    details: { file },
    ...(remedy === undefined ? {} : { remedy }),
    ...(cause === undefined ? {} : { cause }),
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function codeOf(error: unknown): unknown {
  return isRecord(error) ? error['code'] : undefined;
}

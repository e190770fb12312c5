/** A cluster to play scenarios against, the embedded one or a real one, and the kubectls that are at hand. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parse } from 'yaml';
import { startCluster, type TlsFiles } from '../../../src/cluster/index.ts';
import { Kubectl, minorOf } from './kubectl.ts';
import { missingImage } from './manifests.ts';
import { play, type Scenario } from './scenario.ts';

const worker = 'worker';

export interface Stand {
  readonly server: string;
  /** Of a user with all rights. */
  readonly admin: string;
  /** Of the user `worker`, without any rights but those of everyone. */
  readonly worker: string;
  readonly directory: string;
  end(): Promise<void>;
}

const noSuchImage = `rpc error: code = NotFound desc = failed to pull and unpack image "${missingImage}": failed to resolve reference "${missingImage}": ${missingImage}: not found`;

export async function embeddedStand(): Promise<Stand> {
  const directory = await mkdtemp(join(tmpdir(), 'podwright-foreign-'));
  const cluster = await startCluster({
    path: process.env['PATH'] ?? '',
    missingImages: { [missingImage]: noSuchImage },
    tokens: [
      { token: 'admin-token', user: 'admin', groups: ['system:masters'] },
      { token: 'worker-token', user: worker },
    ],
    // kubectl sends no token over plain HTTP.
    tls: await readTls(),
  });
  const paths = await writeKubeConfigs(directory, cluster.url, 'worker-token');
  return {
    server: cluster.url,
    admin: cluster.kubeConfig,
    worker: paths,
    directory,
    end: async () => {
      await cluster.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function readTls(): Promise<TlsFiles> {
  const read = (name: string): Promise<string> =>
    readFile(join(import.meta.dirname, '../../fixtures/tls', name), 'utf8');
  return { key: await read('server.key'), certificate: await read('server.crt'), authority: await read('ca.crt') };
}

/** `admin` and `workerConfig` are kubeconfigs of one cluster. */
export async function realStand(admin: string, workerConfig: string): Promise<Stand> {
  const directory = await mkdtemp(join(tmpdir(), 'podwright-foreign-'));
  const parsed = parse(await readFile(workerConfig, 'utf8')) as {
    clusters: { cluster: { server: string } }[];
    users: { user: { token: string } }[];
  };
  const server = parsed.clusters[0]?.cluster.server ?? '';
  const own = await writeKubeConfigs(directory, server, parsed.users[0]?.user.token ?? '');
  const end = (): Promise<void> => rm(directory, { recursive: true, force: true });
  return { server, admin, worker: own, directory, end };
}

/** Plays it in a namespace of its own. */
export async function playAt(stand: Stand, binary: string, scenario: Scenario): Promise<string> {
  const namespace = `foreign-${scenario.name}-${process.pid}-${Date.now().toString(36)}`;
  const cacheDirectory = join(stand.directory, `cache-${namespace}`);
  await mkdir(cacheDirectory);
  const kubectl = new Kubectl({ binary, kubeConfig: stand.admin, namespace, cacheDirectory });
  await must(kubectl, `create ns ${namespace}`);
  try {
    for (let tries = 0; (await kubectl.run('get sa default')).code !== 0; tries += 1) {
      if (tries > 60) throw new Error(`the namespace ${namespace} never got its service account`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return await play(scenario, {
      kubectl,
      names: { namespace, server: stand.server },
      variables: { NS: namespace, USERNAME: worker, USER: stand.worker, NOBODY: `${stand.worker}-nobody` },
    });
  } finally {
    await must(kubectl, `delete ns ${namespace} --wait=false`);
  }
}

export interface Binary {
  readonly path: string;
  readonly minor: string;
}

/** Those named in KUBECTLS (paths, as in PATH), else the one in PATH. One of each version. */
export async function kubectls(): Promise<readonly Binary[]> {
  const named = (process.env['KUBECTLS'] ?? '').split(delimiter).filter((path) => path !== '');
  const inPath = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'kubectl'));
  const paths = named.length > 0 ? named : inPath.filter((path) => existsSync(path)).slice(0, 1);
  const found = await Promise.all(paths.map(async (path) => ({ path, minor: await minorOf(path) })));
  return found.filter(({ minor }, at) => found.findIndex((other) => other.minor === minor) === at);
}

export function goldenPath(minor: string, scenario: Scenario): string {
  return join(import.meta.dirname, '..', 'golden', `kubectl-${minor}`, `${scenario.name}.txt`);
}

async function must(kubectl: Kubectl, command: string): Promise<void> {
  const { code, stderr } = await kubectl.run(command);
  if (code !== 0) throw new Error(`kubectl ${command}: ${stderr}`);
}

/** The worker's, and beside it that of a user whom nobody knows. */
async function writeKubeConfigs(directory: string, server: string, token: string): Promise<string> {
  const path = join(directory, worker);
  await writeFile(path, kubeConfig(server, token), { mode: 0o600 });
  await writeFile(`${path}-nobody`, kubeConfig(server, 'a-token-of-nobody'), { mode: 0o600 });
  return path;
}

function kubeConfig(server: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'cluster', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: worker, user: { token } }],
    contexts: [{ name: 'context', context: { cluster: 'cluster', user: worker } }],
    'current-context': 'context',
  });
}

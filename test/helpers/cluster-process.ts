/** Starts `serve-cluster.ts` and ends it again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ClusterOptions } from '../../src/cluster/index.ts';

export interface ClusterProcess {
  readonly kubeConfig: string;
  readonly url: string;
  stop(): Promise<void>;
}

export async function startClusterProcess(options: ClusterOptions): Promise<ClusterProcess> {
  const file = fileURLToPath(new URL('serve-cluster.ts', import.meta.url));
  const child = spawn(process.execPath, [file, JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the cluster's process ended with ${code}`))),
  ])) as [string];
  const { kubeConfig, url } = JSON.parse(line) as { kubeConfig: string; url: string };
  return { kubeConfig, url, stop: () => stop(child) };
}

/** Rejects when the cluster has found that it showed what no real one shows. */
async function stop(child: ChildProcess): Promise<void> {
  child.stdin?.end();
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  if (child.exitCode) throw new Error(`the cluster's process ended with ${child.exitCode}`);
}

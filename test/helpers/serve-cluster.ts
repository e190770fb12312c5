/**
 * An embedded cluster in a process of its own: prints `{"kubeConfig":PATH,"url":URL}` and serves until its input ends.
 * Its one argument is JSON: the options of `startCluster`.
 */
import { startCluster } from '../../src/cluster/index.ts';

const cluster = await startCluster(JSON.parse(process.argv[2] ?? '{}'));
console.log(JSON.stringify({ kubeConfig: cluster.kubeConfig, url: cluster.url }));
process.stdin.resume();
process.stdin.once('end', () => void cluster.stop());

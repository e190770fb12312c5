/** `podwright list`, `cancel` and `cleanup`: the builds that are on a cluster. */
import { type Command, Option } from 'commander';
import { systemClock } from '../../clock.ts';
import type { Orphan, RemovalReport, Runtime } from '../../runtime/contract.ts';
import { createRuntime } from '../../runtime/runtime.ts';
import { ageMs, type ClusterBuild, findBuild, listBuilds, table } from '../builds.ts';
import { addConnectionOptions, type ClusterFlags } from '../cluster-flags.ts';
import { type Connection, withCluster } from '../connect.ts';
import { parseDuration } from '../durations.ts';
import { exitCodes } from '../exit-codes.ts';
import { counted, durationText } from '../output/words.ts';
import type { Terminal } from '../terminal.ts';

export function addBuildsCommands(program: Command, terminal: Terminal): void {
  const list = program
    .command('list')
    .description('List the builds on a cluster, whoever runs them.')
    .addOption(new Option('--output <form>', 'what to write').choices(['pretty', 'json']).default('pretty'))
    .addHelpText('after', '\nExample:\n  podwright list --kubeconfig ~/.kube/config --namespace builds\n');
  addConnectionOptions(list).action((flags: ListFlags) =>
    withCluster(flags, (connection) => listCommand(connection, flags, terminal)),
  );

  const cancel = program
    .command('cancel')
    .argument('<build>', 'id of the build, or name of its pod')
    .description('Cancel a build: its pod is deleted, and whoever runs it is told by that.')
    .addHelpText('after', '\nExample:\n  podwright cancel hello-world-1a2b3c4d --namespace builds\n');
  addConnectionOptions(cancel).action((name: string, flags: ClusterFlags) =>
    withCluster(flags, async (connection) => {
      const build = await findBuild(connection.client, connection.namespace, name);
      await removeAll(connection, [build], terminal);
    }),
  );

  const cleanup = program
    .command('cleanup')
    .description('Remove builds that nobody needs: those whose pod has ended, and with --older-than also old ones.')
    .option('--older-than <duration>', 'also those that run, but were created before this time', parseDuration)
    .option('--dry-run', 'only say what would be removed')
    .addHelpText('after', '\nExample:\n  podwright cleanup --namespace builds --older-than 12h --dry-run\n');
  addConnectionOptions(cleanup).action((flags: CleanupFlags) =>
    withCluster(flags, (connection) => cleanupCommand(connection, flags, terminal)),
  );
}

interface ListFlags extends ClusterFlags {
  readonly output: 'pretty' | 'json';
}
interface CleanupFlags extends ClusterFlags {
  readonly olderThan?: number;
  readonly dryRun?: boolean;
}

async function listCommand({ client, namespace }: Connection, flags: ListFlags, terminal: Terminal): Promise<void> {
  const builds = await listBuilds(client, namespace);
  const now = systemClock.now();
  if (flags.output === 'json') {
    for (const build of builds) terminal.out(`${JSON.stringify(buildJson(build))}\n`);
    return;
  }
  if (builds.length === 0) terminal.out(`There are no builds in the namespace "${namespace}".\n`);
  else
    terminal.out(
      table([['BUILD', 'PHASE', 'AGE', 'STEPS', 'NODE', 'OWNER'], ...builds.map((build) => row(build, now))]),
    );
}

function row(build: ClusterBuild, now: number): readonly string[] {
  const { pod, plan, owner, id } = build;
  const phase = pod.metadata.deletionTimestamp === undefined ? (pod.status?.phase ?? 'Unknown') : 'Terminating';
  const node = pod.spec?.nodeName ?? '-';
  return [id, phase, durationText(ageMs(build, now)), String(plan.containers.length), node, owner];
}

function buildJson({ id, owner, pod, plan }: ClusterBuild): object {
  return {
    build: id,
    owner,
    namespace: pod.metadata.namespace,
    pod: pod.metadata.name,
    uid: pod.metadata.uid,
    phase: pod.status?.phase ?? null,
    isTerminating: pod.metadata.deletionTimestamp !== undefined,
    createdAt: pod.metadata.creationTimestamp ?? null,
    node: pod.spec?.nodeName ?? null,
    steps: plan.containers.map(({ name, image, role }) => ({ name, image, role })),
  };
}

async function cleanupCommand(connection: Connection, flags: CleanupFlags, terminal: Terminal): Promise<void> {
  const builds = await listBuilds(connection.client, connection.namespace);
  const now = systemClock.now();
  const chosen = builds.filter(
    (build) => isOver(build) || (flags.olderThan !== undefined && ageMs(build, now) > flags.olderThan),
  );
  if (chosen.length === 0) {
    terminal.out(`Nothing to remove; ${counted(builds.length, 'build')} on the cluster.\n`);
    return;
  }
  if (flags.dryRun !== true) await removeAll(connection, chosen, terminal);
  else for (const build of chosen) terminal.out(`${build.id}: would be removed (${build.pod.metadata.name})\n`);
}

function isOver({ pod }: ClusterBuild): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** Each by its uid, so that a later pod of the same name stays. */
async function removeAll(connection: Connection, builds: readonly ClusterBuild[], terminal: Terminal): Promise<void> {
  const { client, namespace } = connection;
  const runtime = await createRuntime({ client, namespace });
  try {
    const orphans = await runtime.listOrphans();
    for (const build of builds) {
      const orphan = orphans.find((candidate) => candidate.uid === build.pod.metadata.uid);
      if (orphan === undefined) terminal.out(`${build.id}: gone already\n`);
      else if (!(await remove(runtime, orphan, terminal))) process.exitCode = exitCodes.infrastructure;
    }
  } finally {
    await runtime.close();
  }
}

async function remove(runtime: Runtime, orphan: Orphan, terminal: Terminal): Promise<boolean> {
  const report: RemovalReport = await runtime.removeOrphan(orphan);
  terminal.out(`${orphan.buildId}: ${report.gone ? 'removed' : 'not removed'}${report.forced ? ', by force' : ''}\n`);
  for (const what of report.remaining) terminal.out(`  still there: ${what}\n`);
  return report.gone;
}

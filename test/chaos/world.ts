/** Plays one plan from beginning to end in virtual time, and says what was wrong with it. */
import { VirtualClock } from '../../src/clock.ts';
import { type EmbeddedCluster, passTime, passTimeUntil, startCluster } from '../../src/cluster/index.ts';
import { Random } from '../../src/cluster/random.ts';
import { send } from '../cluster/memory-client.ts';
import { type BuildReport, Caller } from './caller.ts';
import { judge, note, type Run } from './oracle.ts';
import { drawPlan, type Plan } from './plan.ts';
import { namespace, Worker } from './worker.ts';

export interface WorldResult {
  readonly plan: Plan;
  readonly reports: readonly BuildReport[];
  readonly runs: readonly Run[];
  readonly wrong: readonly string[];
}

/** Longer than any build of a plan can take, with all that may go wrong. */
const patienceMs = 3 * 3_600_000;
/** For the garbage collector of the cluster, and for forced ends. */
const cleaningMs = 60_000;

export async function playWorld(
  seed: number,
  onStart?: (cluster: EmbeddedCluster, clock: VirtualClock) => void,
): Promise<WorldResult> {
  const plan = drawPlan(seed);
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'));
  const runs = new Map<number, Run>();
  const endChance = seededChance(seed);
  const cluster = await startCluster({
    backend: 'scripted',
    transport: 'memory',
    clock,
    seed,
    profile: plan.profile,
    namespaces: [namespace],
    images: plan.builds.flatMap(({ steps }) => steps.map(({ image, life, pulls }) => ({ image, life, pulls }))),
    faults: plan.faults,
    onPlayed: (played) => note(runs, played),
  });
  const wrong: string[] = [];
  let callers: readonly Caller[] = [];
  onStart?.(cluster, clock);
  try {
    const worker = new Worker(cluster, clock, plan);
    callers = plan.builds.map((build) => new Caller(build, { worker, clock, deletePod: deleterOf(cluster) }));
    for (const death of plan.deathsMs) clock.schedule(death, () => worker.die());
    let left = callers.length;
    for (const caller of callers) void caller.run().finally(() => left--);
    if (!(await passTimeUntil(clock, patienceMs, () => left === 0))) {
      wrong.push(
        ...callers
          .filter(({ report }) => !report.removed)
          .map(({ report }) => `${report.plan.id} hangs: ${report.doing}`),
      );
    }
    cluster.faults.clear();
    await passTime(clock, cleaningMs);
    wrong.push(...callers.flatMap(({ report }) => judge(plan, report, [...runs.values()])));
    wrong.push(...(await leftOn(cluster)));
    let open: number | undefined;
    void worker.end().then((count) => (open = count));
    if (!(await passTimeUntil(clock, cleaningMs, () => open !== undefined))) wrong.push('the runtime does not close');
    if (open !== undefined && open > 0) wrong.push(`${open} requests are left open`);
  } finally {
    let stopped = false;
    cluster
      .stop()
      .catch((error: unknown) => wrong.push(String(error)))
      .finally(() => (stopped = true));
    await passTimeUntil(clock, cleaningMs, () => stopped);
    endChance();
  }
  if (clock.nextAt !== undefined) wrong.push(`a timer is left, due in ${clock.nextAt - clock.now()} ms`);
  return { plan, reports: callers.map(({ report }) => report), runs: [...runs.values()], wrong };
}

async function leftOn(cluster: EmbeddedCluster): Promise<string[]> {
  const left: string[] = [];
  for (const resource of ['pods', 'secrets', 'configmaps']) {
    const { body } = await send(cluster, 'GET', `/api/v1/namespaces/${namespace}/${resource}`);
    for (const { metadata } of body.items) {
      if (metadata.name !== 'kube-root-ca.crt') left.push(`${resource} ${metadata.name} is left`);
    }
  }
  return left;
}

function deleterOf(cluster: EmbeddedCluster): (podName: string) => Promise<boolean> {
  return async (podName) => {
    try {
      const { status } = await send(cluster, 'DELETE', `/api/v1/namespaces/${namespace}/pods/${podName}`);
      return status < 300;
    } catch {
      // The server is down for a moment: then nobody deletes.
      return false;
    }
  };
}

/** Jitter is drawn from Math.random where nobody gives another source. Gives back how to end it. */
function seededChance(seed: number): () => void {
  const { random: original } = Math;
  const random = new Random(seed).fork('jitter');
  Math.random = () => random.next();
  return () => {
    Math.random = original;
  };
}

/** `podwright adopt BUILD`: goes on with a build whose runner is gone, from the step it had come to. */
import { type Command, Option } from 'commander';
import { systemClock } from '../../clock.ts';
import { isPodwrightError, PodwrightError } from '../../errors.ts';
import { execute, planAnnotation } from '../../executor/execute.ts';
import { type Plan, readPlan } from '../../executor/plan.ts';
import type { KubeClient } from '../../kube/client.ts';
import { secretName } from '../../pod/secrets.ts';
import type { BuildView, ContainerView } from '../../runtime/contract.ts';
import { createRuntime } from '../../runtime/runtime.ts';
import { version } from '../../version.ts';
import { type ClusterBuild, findBuild } from '../builds.ts';
import { addConnectionOptions, type ClusterFlags } from '../cluster-flags.ts';
import { type Connection, withCluster } from '../connect.ts';
import { exitCodeOfBuild, exitCodeOfError } from '../exit-codes.ts';
import { listenForInterrupt } from '../interrupt.ts';
import { JsonReporter } from '../output/json.ts';
import { PlainReporter } from '../output/plain.ts';
import type { Reporter } from '../output/reporter.ts';
import { secretValues } from '../secret-values.ts';
import type { Terminal } from '../terminal.ts';
import { helperName } from '../workspace-flags.ts';

interface AdoptFlags extends ClusterFlags {
  readonly output: 'pretty' | 'json';
  readonly keep?: boolean;
}

export function addAdoptCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('adopt')
    .argument('<build>', 'id of the build, or name of its pod')
    .description(
      'Go on with a build whose runner is gone: no step runs twice, and its log is shown from its first line.',
    )
    .addOption(new Option('--output <form>', 'what to write').choices(['pretty', 'json']).default('pretty'))
    .option('--keep', 'leave the pod on the cluster when the build has ended')
    .addHelpText('after', adoptHelp);
  addConnectionOptions(command).action(async (name: string, flags: AdoptFlags) => {
    const json = flags.output === 'json' ? new JsonReporter(terminal) : undefined;
    try {
      process.exitCode = await withCluster(flags, (connection, kubernetes) =>
        adoptBuild(connection, { name, flags, terminal, kubernetes, json }),
      );
    } catch (error) {
      if (json === undefined || !isPodwrightError(error)) throw error;
      json.fail(error, systemClock.now());
      process.exitCode = exitCodeOfError(error);
    }
  });
}

const adoptHelp = `
Only adopt a build whose runner is gone: two runners of one build would both start its steps. Artifacts of its steps
are not brought back.

Example:
  podwright list --namespace builds
  podwright adopt hello-world-1a2b3c4d --namespace builds
`;

interface Adoption {
  readonly name: string;
  readonly flags: AdoptFlags;
  readonly terminal: Terminal;
  readonly kubernetes: string;
  /** For `--output json`. */
  readonly json: JsonReporter | undefined;
}

async function adoptBuild(
  connection: Connection,
  { name, flags, terminal, kubernetes, json }: Adoption,
): Promise<number> {
  const { client, namespace } = connection;
  const found = await findBuild(client, namespace, name);
  const plan = planOf(found);
  const secrets = await secretsOf(client, namespace, found);
  const reporter: Reporter = json ?? new PlainReporter(terminal, { logs: secrets === undefined ? 'none' : 'all' });
  if (secrets === undefined) {
    reporter.notice(
      'The secrets of the build cannot be read, so that nothing could mask them: its logs are not shown.',
    );
  }
  const interrupt = listenForInterrupt({
    onFirst: () => reporter.notice('Canceling the build and removing its pod. Interrupt again to leave at once.'),
    onSecond: () => terminal.err(`\nLeft at once. Still there: pod ${namespace}/${found.pod.metadata.name}\n`),
  });
  const { placeholder } = found.plan;
  const runtime = await createRuntime(
    { client, namespace, owner: found.owner, placeholder },
    { signal: interrupt.signal },
  );
  try {
    const adopted = (await runtime.adopt()).find((build) => build.id === found.id);
    if (adopted === undefined) throw new PodwrightError('ERR_PODWRIGHT_NOT_FOUND', `the build "${found.id}" is gone`);
    requireSources(runtime.inspectBuild(adopted));
    reporter.begin({
      version,
      cluster: connection.cluster,
      isEmbedded: connection.isEmbedded,
      kubernetes,
      namespace,
      placeholder: { image: placeholder.image, restartOn: placeholder.restartOn ?? 0 },
      warnings: [],
      file: `${found.id}, adopted`,
    });
    const result = await execute(
      { plan, spec: { containers: [] }, masked: secrets ?? [] },
      {
        runtime,
        id: found.id,
        adopted,
        signal: interrupt.signal,
        keep: flags.keep === true,
        on: (event) => reporter.event(event),
      },
    );
    return exitCodeOfBuild(result);
  } finally {
    await runtime.close();
    interrupt.stop();
  }
}

function planOf({ pod, id }: ClusterBuild): Plan {
  const text = pod.metadata.annotations?.[planAnnotation];
  const plan = text === undefined ? undefined : readPlan(text);
  if (plan !== undefined) return plan;
  throw new PodwrightError('ERR_PODWRIGHT_POD_INVALID', `the pod of "${id}" does not tell the order of its steps`, {
    remedy: 'It was not started by podwright run; remove it with podwright cancel.',
  });
}

/** Sources are brought in before the first step; whether that was done, only a step that has begun proves. */
function requireSources({ containers, build }: BuildView): void {
  const isHelper = ({ name }: ContainerView): boolean => name.startsWith(helperName);
  const hasBegun = containers.some((container) => !isHelper(container) && container.state !== 'pending');
  if (hasBegun || !containers.some(isHelper)) return;
  throw new PodwrightError('ERR_PODWRIGHT_STATE', `the sources of "${build.id}" may not have been brought in`, {
    remedy: `Its runner had them, and was gone before the first step: podwright cancel ${build.id}, and run it again.`,
  });
}

/** What must be masked; undefined when there are secrets that cannot be read. */
async function secretsOf(
  client: KubeClient,
  namespace: string,
  { pod, plan }: ClusterBuild,
): Promise<readonly string[] | undefined> {
  if (plan.attachments?.some(({ resource }) => resource === 'secrets') !== true) return [];
  const values = await secretValues(client, namespace, secretName(pod.metadata.name));
  return values === undefined ? undefined : [...values.values()];
}

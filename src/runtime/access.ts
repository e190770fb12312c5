/** The rights of the worker, looked at before anything else is done. */
import { PodwrightError } from '../errors.ts';
import { checkAccess, type NeededRight, roleText } from '../kube/access.ts';
import type { Core } from './core.ts';

/** Throws `ERR_PODWRIGHT_FORBIDDEN` with the Role to apply when builds could not run; what else is missing is logged. */
export async function requireAccess(core: Core, signal?: AbortSignal): Promise<void> {
  const { client, namespace, logger } = core;
  const { missing, version } = await checkAccess(client, namespace, signal === undefined ? {} : { signal });
  logger.debug('the server was asked for the own rights', { version: version.gitVersion, missing: missing.length });
  const essential = missing.filter((right) => right.isEssential);
  if (essential.length > 0) {
    throw new PodwrightError(
      'ERR_PODWRIGHT_FORBIDDEN',
      `Builds cannot run in the namespace "${namespace}": ${client.server} does not allow to ${essential.map(tell).join('; to ')}`,
      {
        remedy: `Apply this Role and bind it to the worker (kubectl apply -f -):\n${roleText(namespace)}`,
        details: { namespace, missing: essential.map(nameOf), server: client.server },
      },
    );
  }
  for (const right of missing) logger.info('a right is missing', { right: nameOf(right), neededTo: right.purpose });
}

function tell(right: NeededRight): string {
  return `${nameOf(right)} (needed to ${right.purpose})`;
}

function nameOf({ verb, resource, subresource }: NeededRight): string {
  return `${verb} ${subresource === undefined ? resource : `${resource}/${subresource}`}`;
}

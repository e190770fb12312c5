/** pods/NAME/log: what the API server checks before it asks the node. */

import type { ApiResponse } from '../../transport.ts';
import type { PodObject } from '../../types.ts';
import type { Call, LogOptions } from '../context.ts';
import { integer } from '../options.ts';
import { stored } from '../read.ts';
import { isTrue } from '../request-info.ts';
import { badRequest, type FieldError, failure, fieldError, internalError, invalid } from '../status.ts';

export async function podLog(call: Call): Promise<ApiResponse> {
  const pod = stored(call) as PodObject;
  const options = logOptions(call);
  const container = chosenContainer(pod, call.request.query.get('container') ?? '');
  const { nodeName } = pod.spec;
  if (nodeName === undefined) return { status: 204, headers: {}, body: '' };
  const node = call.context.nodeApi(nodeName);
  if (node === undefined)
    throw internalError(`Get "https://${nodeName}:10250/containerLogs": dial tcp: connect: connection refused`);
  const answer = await node.containerLogs(pod, container, options, call.request.signal);
  switch (answer.kind) {
    case 'refused':
      throw badRequest(answer.message);
    case 'unknownPod':
      throw failure(
        404,
        'NotFound',
        `the server could not find the requested resource ( pods/log ${pod.metadata.name})`,
        {
          name: pod.metadata.name,
          kind: 'pods/log',
        },
      );
    case 'stream':
      return { status: 200, headers: { 'content-type': 'text/plain' }, body: answer.body };
  }
}

function chosenContainer({ metadata, spec }: PodObject, wanted: string): string {
  const names = spec.containers.map(({ name }) => name);
  const all = [...(spec.initContainers ?? []).map(({ name }) => name), ...names];
  if (wanted !== '') {
    if (all.includes(wanted)) return wanted;
    throw badRequest(`container ${wanted} is not valid for pod ${metadata.name}`);
  }
  const [only] = names;
  if (names.length === 1 && only !== undefined) return only;
  const init = (spec.initContainers ?? []).map(({ name }) => name);
  const others = init.length === 0 ? '' : ` or one of the init containers: [${init.join(' ')}]`;
  throw badRequest(
    `a container name must be specified for pod ${metadata.name}, choose one of: [${names.join(' ')}]${others}`,
  );
}

function logOptions({ request: { query }, info }: Call): LogOptions {
  const sinceSeconds = integer(query, 'sinceSeconds');
  const tailLines = integer(query, 'tailLines');
  const limitBytes = integer(query, 'limitBytes');
  const sinceText = query.get('sinceTime') || undefined;
  // Second precision: the fraction is cut off on the way to the node.
  const sinceTime = sinceText === undefined ? undefined : Math.floor(Date.parse(sinceText) / 1000) * 1000;
  if (Number.isNaN(sinceTime))
    throw badRequest(
      `parsing time "${sinceText}" as "2006-01-02T15:04:05Z07:00": cannot parse "${sinceText}" as "2006"`,
    );
  const errors: FieldError[] = [];
  const atLeast = (field: string, value: number | undefined, least: number, text: string): void => {
    if (value !== undefined && value < least) errors.push(fieldError.invalid(field, value, text));
  };
  atLeast('tailLines', tailLines, 0, 'must be greater than or equal to 0');
  atLeast('limitBytes', limitBytes, 1, 'must be greater than 0');
  atLeast('sinceSeconds', sinceSeconds, 1, 'must be greater than 0');
  if (sinceSeconds !== undefined && sinceTime !== undefined) {
    errors.push(fieldError.forbidden('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  }
  if (errors.length > 0) throw invalid('PodLogOptions', '', info.name ?? '', errors);
  return {
    follow: isTrue(query.get('follow')),
    previous: isTrue(query.get('previous')),
    timestamps: isTrue(query.get('timestamps')),
    ...(sinceSeconds !== undefined && { sinceSeconds }),
    ...(sinceTime !== undefined && { sinceTime }),
    ...(tailLines !== undefined && { tailLines }),
    ...(limitBytes !== undefined && { limitBytes }),
  };
}

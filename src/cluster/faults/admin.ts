/**
 * The admin endpoint, for clients that are not in this process: /podwright/faults.
 *
 * GET lists the rules, POST adds one or many, DELETE removes one by name or all; POST to /podwright/strike lets
 * something happen to the cluster now, and answers when it is over.
 */
import { PodwrightError } from '../../errors.ts';
import type { Json } from '../json.ts';
import type { ApiRequest, ApiResponse, Transport } from '../transport.ts';
import type { FaultControl } from './control.ts';
import { type ClusterFault, parseFaultRules } from './rules.ts';

const root = '/podwright/';

/** Other paths go on to `inner`. `mayAdminister` says whether the request shows the right token. */
export function withAdmin(
  inner: Transport,
  faults: () => FaultControl,
  mayAdminister: (authorization: string | undefined) => boolean,
): Transport {
  return async (request) => {
    if (!request.path.startsWith(root)) return inner(request);
    if (!mayAdminister(request.headers['authorization'])) return answer(401, { error: 'Unauthorized' });
    try {
      return await administer(request, faults());
    } catch (error) {
      if (!(error instanceof PodwrightError) && !(error instanceof SyntaxError)) throw error;
      const remedy = error instanceof PodwrightError ? error.remedy : 'Send JSON.';
      return answer(400, { error: error.message, remedy });
    }
  };
}

async function administer({ method, path, body }: ApiRequest, faults: FaultControl): Promise<ApiResponse> {
  const [what = '', name] = path.slice(root.length).split('/');
  const sent = (): Json => JSON.parse(new TextDecoder().decode(body ?? new Uint8Array())) as Json;
  switch (`${method} ${what}`) {
    case 'GET faults':
      return answer(200, { rules: faults.rules });
    case 'POST faults':
      return answer(201, { names: parseFaultRules(sent()).map((rule) => faults.add(rule)) });
    case 'DELETE faults':
      if (name === undefined) {
        faults.clear();
        return answer(200, { rules: [] });
      }
      return faults.remove(name) ? answer(200, { removed: name }) : answer(404, { error: `no fault is named ${name}` });
    case 'POST strike': {
      const [rule] = parseFaultRules({ fault: sent() });
      await faults.strike(rule?.fault as ClusterFault);
      return answer(200, { struck: rule?.fault.kind });
    }
    default:
      return answer(404, { error: `there is no ${method} ${path}`, remedy: 'See /podwright/faults.' });
  }
}

function answer(status: number, body: object): ApiResponse {
  return { status, headers: { 'content-type': 'application/json' }, body: `${JSON.stringify(body)}\n` };
}

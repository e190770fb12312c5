/** How pods are made and changed: defaults, what may change, and when the generation rises. */
import { equal } from '../../json.ts';
import { timestamp } from '../../times.ts';
import type { ApiObject, PodObject } from '../../types.ts';
import type { SelectableFields } from '../selectors.ts';
import type { Strategy } from '../strategy.ts';
import { applyPodDefaults } from './defaults.ts';
import { qosClass } from './qos.ts';
import { validateStatusUpdate } from './status-update.ts';
import { validatePodUpdate } from './update.ts';
import { validatePod } from './validate.ts';

const spec = (object: ApiObject): PodObject['spec'] => (object as PodObject).spec;
const status = (object: ApiObject): PodObject['status'] => (object as PodObject).status;

export const podFields: SelectableFields = {
  'spec.nodeName': (pod) => spec(pod).nodeName ?? '',
  'spec.host': (pod) => spec(pod).nodeName ?? '',
  'spec.restartPolicy': (pod) => spec(pod).restartPolicy,
  'spec.schedulerName': (pod) => spec(pod).schedulerName ?? '',
  'spec.serviceAccountName': (pod) => String(spec(pod)['serviceAccountName'] ?? ''),
  'spec.hostNetwork': (pod) => String(spec(pod).hostNetwork ?? false),
  'status.phase': (pod) => status(pod).phase,
  'status.podIP': (pod) => status(pod).podIP ?? '',
  'status.podIPs': (pod) => status(pod).podIP ?? '',
  'status.nominatedNodeName': (pod) => status(pod).nominatedNodeName ?? '',
};

/** A pod with gates says at once why nobody schedules it. */
function gated({ spec: { schedulingGates = [] } }: PodObject, now: number): Pick<PodObject['status'], 'conditions'> {
  if (schedulingGates.length === 0) return {};
  return {
    conditions: [
      {
        type: 'PodScheduled',
        status: 'False',
        lastProbeTime: null,
        lastTransitionTime: timestamp(now),
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
      },
    ],
  };
}

export const podStrategy: Strategy = {
  prepareCreate(object, context) {
    const pod = object as PodObject;
    if (context.profile.generation) pod.metadata.generation = 1;
    applyPodDefaults(pod, context);
    pod.status = { phase: 'Pending', ...gated(pod, context.clock.now()), qosClass: qosClass(pod.spec) };
  },
  validateCreate: (object) => validatePod(object as PodObject),
  prepareUpdate(next, old, { profile }) {
    next['status'] = old['status'];
    if (!profile.generation) return;
    next.metadata.generation = (old.metadata.generation ?? 1) + (equal(next['spec'], old['spec']) ? 0 : 1);
  },
  validateUpdate: (next, old, { profile }) => validatePodUpdate(next as PodObject, old as PodObject, profile),
  prepareStatus(next, old) {
    // Kubelets drop it when they reject a pod.
    const { qosClass: known } = status(old);
    if (known !== undefined) status(next).qosClass ??= known;
  },
  validateStatus: (next, old) => validateStatusUpdate(next as PodObject, old as PodObject),
};

/** A pod's priority comes from its class, or from the class that is the default (k8s `Priority` admission). */
import type { RevisionStore } from '../../store/revisions.ts';
import type { ApiObject, PodObject } from '../../types.ts';
import type { FieldError } from '../status.ts';
import { fieldError, forbidden } from '../status.ts';
import type { Strategy } from '../strategy.ts';

interface PriorityClass extends ApiObject {
  value?: number;
  globalDefault?: boolean;
  preemptionPolicy?: string;
}

const table = 'priorityclasses.scheduling.k8s.io';
const userPriorityMax = 1_000_000_000;

/** Fills in the priority. Throws 403. */
export function admitPriority({ metadata, spec }: PodObject, store: RevisionStore): void {
  const refuse = (why: string): Error => forbidden({ group: '', resource: 'pods' }, metadata.name ?? '', why);
  const name = spec['priorityClassName'];
  const known = name === undefined || name === '' ? globalDefault(store) : store.get(table, String(name));
  if (known === undefined && name) throw refuse(`no PriorityClass with name ${String(name)} was found`);
  const { value = 0, preemptionPolicy = 'PreemptLowerPriority' } = (known ?? {}) as Partial<PriorityClass>;
  const given = spec['priority'];
  if (given !== undefined && given !== value) {
    throw refuse(
      `the integer value of priority (${String(given)}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
    );
  }
  const policy = spec['preemptionPolicy'];
  if (policy !== undefined && policy !== preemptionPolicy) {
    throw refuse(
      `the string value of PreemptionPolicy (${String(policy)}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
    );
  }
  if (known !== undefined) spec['priorityClassName'] = known.metadata.name;
  spec['priority'] = value;
  spec['preemptionPolicy'] = preemptionPolicy;
}

/** Of several the one of the lowest value. */
function globalDefault(store: RevisionStore): PriorityClass | undefined {
  const all = store.list(table) as PriorityClass[];
  return all.filter((one) => one.globalDefault === true).sort((a, b) => (a.value ?? 0) - (b.value ?? 0))[0];
}

export const priorityClassStrategy: Strategy = {
  prepareCreate(object) {
    object.metadata.generation = 1;
    object['preemptionPolicy'] ??= 'PreemptLowerPriority';
  },
  validateCreate: (object) => valueErrors(object as PriorityClass),
  validateUpdate(next, old) {
    const errors: FieldError[] = [];
    if (next['value'] !== old['value']) errors.push(fieldError.forbidden('value', 'may not be changed in an update.'));
    if (next['preemptionPolicy'] !== old['preemptionPolicy']) {
      errors.push(fieldError.invalid('preemptionPolicy', String(next['preemptionPolicy']), 'field is immutable'));
    }
    return errors;
  },
};

function valueErrors({ value = 0 }: PriorityClass): readonly FieldError[] {
  if (value <= userPriorityMax) return [];
  return [fieldError.forbidden('value', `maximum allowed value of a user defined priority is ${userPriorityMax}`)];
}

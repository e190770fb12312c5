/** How objects of a resource are made and changed: what every resource may decide for itself. */
import type { Clock } from '../../clock.ts';
import type { Profile } from '../profile.ts';
import type { Random } from '../random.ts';
import type { RevisionStore } from '../store/revisions.ts';
import type { ApiObject } from '../types.ts';
import type { FieldError } from './status.ts';

/** What a strategy may look at besides the objects. */
export interface StrategyContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly profile: Profile;
  readonly store: RevisionStore;
}

export interface Strategy {
  /** Fills in what the server decides on create: defaults, status. Changes `object`. */
  readonly prepareCreate?: (object: ApiObject, context: StrategyContext) => void;
  readonly validateCreate?: (object: ApiObject, context: StrategyContext) => readonly FieldError[];
  /** Takes back what may not be changed in this way, raises the generation. Changes `next`. */
  readonly prepareUpdate?: (next: ApiObject, old: ApiObject, context: StrategyContext) => void;
  readonly validateUpdate?: (next: ApiObject, old: ApiObject, context: StrategyContext) => readonly FieldError[];
  /** Of a write through the status subresource. Changes `next`. */
  readonly prepareStatus?: (next: ApiObject, old: ApiObject) => void;
  readonly validateStatus?: (next: ApiObject, old: ApiObject) => readonly FieldError[];
}

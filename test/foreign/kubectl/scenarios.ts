/** All scenarios of kubectl commands. */
import type { Scenario } from './scenario.ts';
import { remove, write } from './scenarios/change.ts';
import { access, discovery } from './scenarios/discovery.ts';
import { follow, logs } from './scenarios/logs.ts';
import { describe, get, pullFailure } from './scenarios/read.ts';
import { refusals } from './scenarios/refusals.ts';
import { waitFor, watch } from './scenarios/wait.ts';

export const scenarios: readonly Scenario[] = [
  get,
  describe,
  pullFailure,
  logs,
  follow,
  write,
  remove,
  waitFor,
  watch,
  refusals,
  discovery,
  access,
];

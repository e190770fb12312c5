/** Assertions stay on in production: a broken invariant must stop the work before it becomes a false verdict. */
import { PodwrightError } from './errors.ts';

/** Throws `ERR_PODWRIGHT_ASSERTION` unless `condition` holds. `message` says what should have been true. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new PodwrightError('ERR_PODWRIGHT_ASSERTION', message);
}

/** For the branch of a closed union that cannot be reached. */
export function assertNever(value: never, what: string): never {
  throw new PodwrightError('ERR_PODWRIGHT_ASSERTION', `unexpected ${what}: ${JSON.stringify(value)}`);
}

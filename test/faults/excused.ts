/** Tests of the runtime's suite that cannot hold under a fault, because what they claim is not claimed there. */

interface Excuse {
  /** Contained in the test's name with its groups. */
  readonly test: string;
  /** Fits the names of the faults. */
  readonly faults: RegExp;
  readonly why: string;
}

/** All sets in which something happens. */
const any = /^(?!none$)/;

const excused: readonly Excuse[] = [{ test: 'costs', faults: any, why: 'counts the requests of the undisturbed case' }];

/** Why the test is not run, or undefined. */
export function excuse(test: string, faults: string): string | undefined {
  return excused.find((one) => test.includes(one.test) && one.faults.test(faults))?.why;
}

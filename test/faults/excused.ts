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
/** Requests may be sent more than once. */
const repeated = /reset|refused|throttled|restarts|dropped|delayed|everything/;
const eventsLost = /^(Events (forbidden|dropped)|everything)$/;

const excused: readonly Excuse[] = [
  { test: 'costs', faults: any, why: 'counts the requests of the undisturbed case' },
  { test: 'called at the same time', faults: repeated, why: 'counts requests' },
  { test: 'a create whose answer is lost > is sent again', faults: repeated, why: 'counts requests' },
  { test: 'a removed container never runs', faults: repeated, why: 'counts requests' },
  { test: 'steps that ran keep their verdicts', faults: repeated, why: 'counts requests' },
  { test: 'has the Events of the pod', faults: eventsLost, why: 'is about Events that do not come' },
  { test: 'a pull that failed before', faults: eventsLost, why: 'waits for the Event of the failed pull' },
  { test: 'an image that is not there', faults: eventsLost, why: 'without restart rules only Events tell the class' },
  {
    test: '1.34 > an image that is not there',
    faults: /^(Events late|the cluster's requests reset$)/,
    why: 'without restart rules only an Event tells the class, and it may be written after causeMs',
  },
  {
    test: 'why a pull failed is known',
    faults: /^(Events (dropped|late)|everything$|the cluster's requests reset$)/,
    why: 'the Event that says why may never be written, or after causeMs',
  },
  {
    test: 'a pod without a node',
    faults: /^(Events forbidden|delayed|lists gone 410|everything)$/,
    why: 'the words of the scheduler are an Event, which does not come within the limit of 300 ms',
  },
  {
    test: 'a pull that takes too long is canceled',
    faults: /^the cluster's requests reset$/,
    why: 'that it was being pulled is an Event, which the kubelet may fail to write in time',
  },
  {
    test: 'a placeholder that cannot be had is told',
    faults: /^(API server restarts|everything)$/,
    why: 'the pod is read once more at the limit, and the server may be away in that moment',
  },
  {
    test: 'a pod that is gone is found to be gone',
    faults: /^compacted and dropped$/,
    why: 'within the limit of 1 s no answer may come, and then it is deleted by force',
  },
  {
    test: 'matrix > pulling, ',
    faults: /^compacted and dropped$/,
    why: 'no list may come through until the kubelet has failed twice, and then it is no longer pulling',
  },
  {
    test: 'health tells of a watch',
    faults: /^(Events forbidden|everything)$/,
    why: 'a watch is not live for long enough to be looked at',
  },
];

/** Why the test is not run, or undefined. */
export function excuse(test: string, faults: string): string | undefined {
  return excused.find((one) => test.includes(one.test) && one.faults.test(faults))?.why;
}

/**
 * Ctrl-C and its kin: the first one asks the command to end in order, the second one leaves at once.
 *
 * While a command listens, the process's own reaction (to die at once) is off.
 */
import { PodwrightError } from '../errors.ts';

export interface Interrupt {
  readonly signal: AbortSignal;
  /** Back to the process's own reaction. */
  stop(): void;
}

/** The reason that everything which is interrupted ends with. */
function interrupted(signal: string): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_STOPPED', `interrupted by ${signal}`, { details: { interrupted: true } });
}

export function isInterrupted(error: PodwrightError): boolean {
  return error.details['interrupted'] === true;
}

/** No person presses twice within this. */
const samePressMs = 100;

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface InterruptHandlers {
  readonly onFirst: () => void;
  /** What to say before the process leaves; it cannot wait for anything. */
  readonly onSecond: () => void;
}

export function listenForInterrupt({ onFirst, onSecond }: InterruptHandlers): Interrupt {
  const controller = new AbortController();
  let firstAt = 0;
  const onSignal = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) {
      // One that was sent to a whole group of processes may come twice: directly, and passed on by a launcher.
      if (performance.now() - firstAt < samePressMs) return;
      onSecond();
      process.exit(130);
    }
    firstAt = performance.now();
    controller.abort(interrupted(name));
    onFirst();
  };
  for (const name of signals) process.on(name, onSignal);
  return {
    signal: controller.signal,
    stop: () => {
      for (const name of signals) process.off(name, onSignal);
    },
  };
}

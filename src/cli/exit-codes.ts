/** What the command's exit code says, and which error means which. */
import type { PodwrightError } from '../errors.ts';
import type { BuildResult } from '../executor/result.ts';
import { isInterrupted } from './interrupt.ts';

export const exitCodes = {
  succeeded: 0,
  /** The build failed by its own doing. */
  failed: 1,
  /** A mistake of the user: a bad file, a bad flag. */
  usage: 2,
  /** The infrastructure failed the build, or could not be reached. */
  infrastructure: 3,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

/** Errors that the user can correct where the command was typed. */
const usageErrors: ReadonlySet<string> = new Set([
  'ERR_PODWRIGHT_USAGE',
  'ERR_PODWRIGHT_PIPELINE_INVALID',
  'ERR_PODWRIGHT_IMAGE_REFERENCE',
  'ERR_PODWRIGHT_CONFIG',
  'ERR_PODWRIGHT_RECORDING_INVALID',
]);

export function exitCodeOfError(error: PodwrightError): number {
  if (isInterrupted(error)) return exitCodes.interrupted;
  return usageErrors.has(error.code) ? exitCodes.usage : exitCodes.infrastructure;
}

export function exitCodeOfBuild(result: BuildResult): number {
  switch (result.outcome) {
    case 'succeeded':
      return exitCodes.succeeded;
    case 'failed':
      return exitCodes.failed;
    case 'canceled':
      return exitCodes.interrupted;
    case 'error':
      return result.error === null ? exitCodes.infrastructure : exitCodeOfError(result.error);
  }
}

/**
 * The errors of podwright: failures of the runtime itself, never the ending of a container.
 *
 * Callers match on `code`, which is stable; messages are for people and may change. Two copies of the package may
 * be loaded in one process, so `instanceof` works across copies.
 */

/** Every code there is. A code is never reused for another meaning. */
export const errorCodes = [
  'ERR_PODWRIGHT_ASSERTION',
  'ERR_PODWRIGHT_USAGE',
  'ERR_PODWRIGHT_PIPELINE_INVALID',
  'ERR_PODWRIGHT_IMAGE_REFERENCE',
  'ERR_PODWRIGHT_CONFIG',
  'ERR_PODWRIGHT_CLUSTER_UNREACHABLE',
  'ERR_PODWRIGHT_UNAUTHORIZED',
  'ERR_PODWRIGHT_FORBIDDEN',
  'ERR_PODWRIGHT_API',
  'ERR_PODWRIGHT_NOT_FOUND',
  'ERR_PODWRIGHT_CONFLICT',
  'ERR_PODWRIGHT_POD_INVALID',
  'ERR_PODWRIGHT_STATE',
  'ERR_PODWRIGHT_TIMEOUT',
  'ERR_PODWRIGHT_STOPPED',
  'ERR_PODWRIGHT_READER_LAGGED',
  'ERR_PODWRIGHT_REMOVE_INCOMPLETE',
  'ERR_PODWRIGHT_RECORDING_INVALID',
  'ERR_PODWRIGHT_PLACEHOLDER',
  'ERR_PODWRIGHT_POD_LOST',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

export interface PodwrightErrorOptions {
  readonly cause?: unknown;
  /** What the user can do about it, one sentence. */
  readonly remedy?: string;
  /** Facts for programs: names, status codes, positions. JSON-able. */
  readonly details?: Readonly<Record<string, unknown>>;
}

const marker = Symbol.for('podwright.error');

/** The base of all errors that podwright throws on purpose. */
export class PodwrightError extends Error {
  readonly code: ErrorCode;
  readonly remedy: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, options: PodwrightErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'PodwrightError';
    this.code = code;
    this.remedy = options.remedy;
    this.details = options.details ?? {};
    Object.defineProperty(this, marker, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && marker in value;
  }
}

/** Whether `error` is one of ours, and (with a code) that one. */
export function isPodwrightError(error: unknown, code?: ErrorCode): error is PodwrightError {
  return error instanceof PodwrightError && (code === undefined || error.code === code);
}

/** What the library writes about itself: a constant message and fields, two levels, to whoever asked for it. */

export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  /** Something an operator should see. The message holds no variable text. */
  info(message: string, fields?: LogFields): void;
  /** For whoever hunts a fault. */
  debug(message: string, fields?: LogFields): void;
}

/** The default: a library is silent. */
export const silentLogger: Logger = {
  info: () => undefined,
  debug: () => undefined,
};

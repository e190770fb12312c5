/** The flags that serve what a command does, the same for every command that has them. */
import type { Command } from 'commander';
import { PodwrightError } from '../errors.ts';

export interface SeeingFlags {
  readonly eventsPort?: number;
  readonly eventsHost?: string;
  readonly eventsAllowedHost?: readonly string[];
  readonly inspect?: boolean;
  readonly linger?: number;
}

/** `PODWRIGHT_EVENTS_TOKEN` holds the token: a flag would show it to everybody who lists processes. */
export const tokenVariable = 'PODWRIGHT_EVENTS_TOKEN';

export function addSeeingOptions(command: Command): Command {
  return command
    .optionsGroup('Watching it:')
    .option('--inspect', 'serve the inspector, a page that shows the build as it runs')
    .option('--events-port <port>', 'serve events, state and metrics on this port; 0 takes one that is free', parsePort)
    .option('--events-host <address>', `address to serve on; other than loopback needs a token in ${tokenVariable}`)
    .option(
      '--events-allowed-host <name>',
      'another name that clients may call the server by; may be repeated',
      collect,
    )
    .option('--linger <seconds>', 'how long events stay served after the end', parseSeconds);
}

export interface DebugFlags {
  readonly debug?: readonly string[];
  readonly debugForward?: boolean;
}

export function addDebugOptions(command: Command): Command {
  return command
    .option(
      '--debug <step=runtime[:port]>',
      'tell what a debugger can attach to when the step runs; may be repeated',
      collect,
    )
    .option('--debug-forward', 'forward a local port to each debug port');
}

export function isServed(flags: SeeingFlags): boolean {
  return flags.inspect === true || flags.eventsPort !== undefined;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw usage(`"${text}" is no port`, 'Give 0 to 65535.');
  return port;
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!Number.isFinite(seconds) || seconds < 0) throw usage(`"${text}" is no number of seconds`, 'Give 0 or more.');
  return seconds;
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

function usage(message: string, remedy: string): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_USAGE', message, { remedy });
}

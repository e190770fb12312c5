/** The file that a recording goes to: each line is there as soon as it was written, so that a crash loses none. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { PodwrightError } from '../errors.ts';
import type { Terminal } from './terminal.ts';

export interface RecordingFile {
  readonly write: (line: string) => void;
  readonly lines: number;
  close(): void;
}

/**
 * Throws `ERR_PODWRIGHT_USAGE` when the file cannot be made. A disk that fills up later ends the recording with one
 * warning, not the work that is recorded.
 */
export function openRecording(file: string, terminal: Terminal): RecordingFile {
  const handle = open(file, terminal);
  let lines = 0;
  let hasFailed = false;
  return {
    write: (line) => {
      if (hasFailed) return;
      try {
        writeSync(handle, line);
        lines++;
      } catch (error) {
        hasFailed = true;
        terminal.err(`warning: the recording ${file} ends here: ${String(error)}\n`);
      }
    },
    get lines() {
      return lines;
    },
    close: () => closeSync(handle),
  };
}

function open(file: string, terminal: Terminal): number {
  try {
    return openSync(resolve(terminal.cwd, file), 'w');
  } catch (cause) {
    throw new PodwrightError('ERR_PODWRIGHT_USAGE', `cannot write ${file}: ${String(cause)}`, {
      cause,
      remedy: 'Name a file in a folder that exists and can be written.',
      details: { file },
    });
  }
}

/**
 * The script of a step: its commands in order, each shown before it runs, the first that fails ends it.
 *
 * For any POSIX shell. What is shown is the command as written, never the value of a variable.
 */
import type { Ulimit } from './pipeline.ts';

export function buildScript(commands: readonly string[], ulimits: readonly Ulimit[] = []): string {
  const limits = ulimits.flatMap(limitLine);
  const lines = commands.flatMap((command) => [`printf '%s\\n' ${quote(`$ ${command.trimEnd()}`)}`, command]);
  return ['set -e', ...limits, ...lines, ''].join('\n');
}

/** The limits that every `/bin/sh` can set, by their letter. Kubernetes has no field for them. */
const letters: Readonly<Record<string, string>> = { nofile: 'n', cpu: 't' };

/** Whether a limit takes effect: the others have no letter, or a unit that differs from shell to shell. */
export function canLimit(ulimit: Ulimit): boolean {
  return Object.hasOwn(letters, ulimit.name);
}

/** The soft one first: a hard limit below the soft one is refused. A limit above what the node allows fails the step. */
function limitLine(ulimit: Ulimit): readonly string[] {
  if (!canLimit(ulimit)) return [];
  const letter = letters[ulimit.name];
  const value = (limit: number): string => (limit < 0 ? 'unlimited' : String(limit));
  return [`ulimit -S -${letter} ${value(ulimit.soft)}`, `ulimit -H -${letter} ${value(ulimit.hard)}`];
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

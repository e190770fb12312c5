// Runs a file with a given Node and passes on its end: exit code, signals, and the terminal's Ctrl-C.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/**
 * @param {string} node
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 */
export function runNode(node, args, env = process.env) {
  const child = spawn(node, args, { stdio: 'inherit', env });
  // The terminal sends SIGINT to the whole group; a signal sent to this process alone must reach the child too.
  const forwarded = ['SIGTERM', 'SIGHUP', 'SIGINT'];
  const forward = (signal) => {
    // With a terminal the child got Ctrl-C already: twice would mean "leave at once".
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    child.kill(signal);
  };
  for (const signal of forwarded) process.on(signal, forward);
  child.on('error', (error) => {
    process.stderr.write(`podwright: cannot start ${node}: ${error.message}\n`);
    process.exitCode = 3;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0);
  });
}

#!/usr/bin/env node
// For the npm scripts: runs a tool of node_modules/.bin, or a file, with a Node that is new enough.
//   node bin/with-node.js [--env NAME=VALUE]… TOOL|FILE [ARGS…]
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNode, needsNewerNode } from './find-node.js';
import { runNode } from './run-node.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const args = process.argv.slice(2);
const env = { ...process.env };
while (args[0] === '--env') {
  const [name, ...value] = (args[1] ?? '').split('=');
  env[name] = value.join('=');
  args.splice(0, 2);
}
const [tool = '', ...rest] = args;
const node = findNode();
if (node === undefined) {
  process.stderr.write(`${needsNewerNode()}\n`);
  process.exitCode = 2;
} else {
  // What the tool starts in its turn gets the same Node.
  env.PATH = `${dirname(node)}${delimiter}${env.PATH ?? ''}`;
  const inBin = join(root, 'node_modules', '.bin', tool);
  const file = existsSync(inBin) ? inBin : tool;
  const isScript = file === tool || readFileSync(file).subarray(0, 64).toString('latin1').includes('node');
  if (isScript) {
    runNode(node, [file, ...rest], env);
  } else {
    runNode(file, rest, env);
  }
}

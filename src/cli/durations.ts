/** Durations as people write them: `90s`, `10m`, `1h30m`; a number alone is seconds. */
import { PodwrightError } from '../errors.ts';

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds. Throws `ERR_PODWRIGHT_USAGE`. */
export function parseDuration(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|$)/g)];
  const isWhole = parts.map(([part]) => part).join('') === text && text !== '';
  const ms = parts.reduce(
    (sum, [, value, unit]) => sum + Number(value) * (units[unit === '' ? 's' : (unit ?? '')] ?? 0),
    0,
  );
  if (isWhole && Number.isFinite(ms)) return Math.round(ms);
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${text}" is no duration`, {
    remedy: 'Write it like 90s, 10m or 1h30m; 0 means no limit.',
  });
}

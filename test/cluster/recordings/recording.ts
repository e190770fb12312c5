/** A recording of a real cluster, as far as it is played again: what was done, and the frames that were seen. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

export interface Frame {
  readonly resource: 'pods' | 'events';
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: the frame is compared as it came, whatever it holds
  readonly object: any;
}

export interface Action {
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly body: { kind?: string; metadata?: { name?: string } } | null;
  readonly contentType: string | null;
  readonly status: number;
}

export type Line =
  | {
      readonly t: number;
      readonly kind: 'meta';
      readonly data: { readonly scenario: string; readonly namespace: string };
    }
  | { readonly t: number; readonly kind: 'watch'; readonly data: Frame }
  | { readonly t: number; readonly kind: 'action'; readonly data: Action }
  | { readonly t: number; readonly kind: 'note'; readonly data: string }
  | { readonly t: number; readonly kind: 'list' | 'logs' | 'watchOpened' | 'watchEnded' | 'watchCut' | 'watchFailed' };

const root = fileURLToPath(new URL('../../traces', import.meta.url));

export const recordingSets = ['1.36.3', '1.36.3-containerd2', '1.34.4', '1.37.2'] as const;

export type RecordingSet = (typeof recordingSets)[number];

export function scenariosOf(set: RecordingSet): readonly string[] {
  return readdirSync(`${root}/${set}`)
    .map((file) => file.replace(/\.jsonl\.gz$/, ''))
    .sort();
}

export function readRecording(set: RecordingSet, scenario: string): readonly Line[] {
  return gunzipSync(readFileSync(`${root}/${set}/${scenario}.jsonl.gz`))
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

/** Frames about the watch itself, not about an object. */
export function isControl({ type }: Frame): boolean {
  return type === 'BOOKMARK' || type === 'ERROR';
}

export function framesOf(lines: readonly Line[]): readonly Frame[] {
  return lines.flatMap((line) => (line.kind === 'watch' && !isControl(line.data) ? [line.data] : []));
}

/**
 * Secrets, taken out of a log before anybody sees it.
 *
 * Found in a line: the secret itself, each line of a secret of many lines, and their JSON, URL and base64 forms, also
 * in the middle of a longer base64 text, and over the border between two pieces of a long line. Not found: secrets
 * that a program printed in parts, or in any other form.
 */
import type { LogLine } from './line.ts';

export const maskText = '***';

/** What is shorter protects nothing, and a JSON secret's `{` would mask every brace (woodpecker#7136). */
export const shortestMasked = 4;
/** `base64` breaks its output at 76 columns, PEM at 64. */
const base64Columns = [76, 64];
const shortestBase64 = 8;

export interface Mask {
  /** Secrets that are too short to be looked for. */
  readonly ignored: number;
  apply(text: string): string;
  /** Where secrets stand, in order, joined where they overlap or touch. */
  find(text: string): readonly Span[];
}

export interface Span {
  readonly start: number;
  readonly end: number;
}

export function createMask(secrets: readonly string[]): Mask {
  const isLongEnough = (text: string): boolean => text.trim().length >= shortestMasked;
  const needles = [...new Set(secrets.filter(isLongEnough).flatMap(formsOf))].sort((a, b) => b.length - a.length);
  // One look tells that most lines hold nothing.
  const any = needles.length === 0 ? null : new RegExp(needles.map(escapeRegExp).join('|'));
  const find = (text: string): readonly Span[] =>
    any?.test(text) ? join(needles.flatMap((needle) => placesOf(needle, text))) : [];
  return {
    ignored: secrets.filter((secret) => !isLongEnough(secret)).length,
    apply: (text) => replace(text, find(text)),
    find,
  };
}

/** Masks lines, and the pieces of long ones as if they were whole: each piece waits for the next one. */
export async function* maskLines(lines: AsyncIterable<LogLine>, mask: Mask): AsyncGenerator<LogLine, void, undefined> {
  let held: LogLine | null = null;
  /** Characters at the beginning of `held` that belong to a secret that began before it. */
  let covered = 0;
  for await (const line of lines) {
    if (held !== null) {
      const next = line.gap === undefined ? line.text : '';
      const spans = mask.find(held.text + next);
      const border: number = held.text.length;
      yield { ...held, text: replace(held.text, clip(spans, border), covered) };
      const over = spans.find(({ start, end }) => start < border && end > border);
      covered = over === undefined ? 0 : over.end - border;
      held = null;
    }
    if (line.partial) held = line;
    else {
      yield { ...line, text: replace(line.text, mask.find(line.text), covered) };
      covered = 0;
    }
  }
  if (held !== null) yield { ...held, text: replace(held.text, mask.find(held.text), covered) };
}

/** All texts that give `secret` away. */
function formsOf(secret: string): string[] {
  const lines = secret.split('\n').map((line) => line.trim());
  const values = [secret, secret.trim(), ...lines].filter((value) => value.length >= shortestMasked);
  return values
    .flatMap((value) => [value, ...escapedForms(value), ...base64Forms(value)])
    .filter((form) => !form.includes('\n'));
}

function escapedForms(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const url = encodeURIComponent(value.toWellFormed());
  const lowerUrl = url.replaceAll(/%[\dA-F]{2}/g, (code) => code.toLowerCase());
  return [json, ...[url, lowerUrl].flatMap((each) => [each, each.replaceAll('%20', '+')])];
}

function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value);
  const whole = bytes.toString('base64');
  const inside = [0, 1, 2].map((offset) => base64Inside(bytes, offset));
  const broken = base64Columns.flatMap((columns) => chunks(whole, columns));
  const forms = [whole, ...inside, ...broken].filter((form) => form.length >= shortestBase64);
  return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')]);
}

/** The characters that are the same whatever stands before and after, `offset` bytes into a group of three. */
function base64Inside(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
}

function chunks(text: string, length: number): string[] {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, index) =>
    text.slice(index * length, (index + 1) * length),
  );
}

function placesOf(needle: string, text: string): Span[] {
  const spans: Span[] = [];
  for (let start = text.indexOf(needle); start !== -1; start = text.indexOf(needle, start + 1)) {
    spans.push({ start, end: start + needle.length });
  }
  return spans;
}

function join(spans: readonly Span[]): Span[] {
  const joined: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    const last = joined.at(-1);
    if (last === undefined || span.start > last.end) joined.push(span);
    else if (span.end > last.end) joined[joined.length - 1] = { start: last.start, end: span.end };
  }
  return joined;
}

function clip(spans: readonly Span[], border: number): Span[] {
  return spans.filter(({ start }) => start < border).map(({ start, end }) => ({ start, end: Math.min(end, border) }));
}

/** The first `covered` characters were told as masked before, and are left out. */
function replace(text: string, spans: readonly Span[], covered = 0): string {
  if (spans.length === 0 && covered === 0) return text;
  let result = '';
  let from = covered;
  for (const { start, end } of spans) {
    if (end <= from) continue;
    result += start <= from && from === covered && covered > 0 ? '' : text.slice(from, start) + maskText;
    from = end;
  }
  return result + text.slice(from);
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}/-]/g, '\\$&');
}

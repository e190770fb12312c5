/**
 * A pipeline file as YAML, with the place of everything in it.
 *
 * Every scalar is kept twice: as the type YAML gives it, and as the text it was written in, because a variable's value
 * `1.10` is a text and not the number 1.1. Reading is bounded: the limits below are refused by name, before anything
 * is expanded.
 */

import type { Alias, Document, Node, Pair, YAMLParseError, YAMLWarning } from 'yaml';
import {
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type YAMLMap,
} from 'yaml';
import type { Problem } from './problems.ts';

/** Keys and indices from the root. */
export type Path = readonly (string | number)[];

export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface PipelineDocument {
  readonly file: string;
  /** Plain JSON with the types of YAML 1.2; aliases and merges are expanded. */
  readonly value: unknown;
  /** The same tree with every scalar as it was written. */
  readonly texts: unknown;
  /** Whether the value at the path carries an anchor, or holds one. */
  hasAnchor(path: Path): boolean;
  /** Where the value stands; for what is missing, the nearest thing around it. */
  valueAt(path: Path): Position;
  /** Where the key of a mapping's entry stands. */
  keyAt(path: Path): Position;
}

/** Bytes of a file, in UTF-8. */
export const fileLimit = 1024 * 1024;
/** Values after the expansion of aliases. */
const nodeLimit = 100_000;

/** The document, or what keeps it from being one. */
export function readDocument(text: string, file: string): PipelineDocument | readonly Problem[] {
  if (Buffer.byteLength(text) > fileLimit) {
    return [
      at(file, { line: 1, column: 1 }, `the file is larger than the limit of ${fileLimit / 1024} KiB`, tooLargeRemedy),
    ];
  }
  try {
    return parse(text, file);
  } catch (error) {
    // The parser is recursive: what it cannot hold on its stack, no person wrote.
    if (!(error instanceof RangeError)) throw error;
    return [at(file, { line: 1, column: 1 }, 'the file is nested too deeply', 'Remove the nested brackets or dashes.')];
  }
}

/** A problem at a place of the document. */
export function problemAt(document: PipelineDocument, place: Position, message: string, remedy: string): Problem {
  return at(document.file, place, message, remedy);
}

function parse(text: string, file: string): PipelineDocument | readonly Problem[] {
  const lines = new LineCounter();
  const options = { merge: true, prettyErrors: false, lineCounter: lines, keepSourceTokens: false } as const;
  const typed = parseDocument(text, { ...options, schema: 'core' });
  const errors = [...typed.errors, ...typed.warnings];
  if (errors.some((error) => error.message.includes('call stack'))) throw new RangeError('nested too deeply');
  if (errors.length > 0) {
    return errors.map((error) => {
      const { message, remedy } = explain(error, text);
      return at(file, position(lines, error.pos[0]), `not valid YAML: ${message}`, remedy);
    });
  }
  const places = new Places(typed, lines);
  const refused = [...places.refusals, ...places.checkExpansion()];
  if (refused.length > 0) return refused.map((refusal) => at(file, refusal.position, refusal.message, refusal.remedy));
  const plain = parseDocument(text, { merge: true, prettyErrors: false, schema: 'failsafe' });
  return {
    file,
    value: typed.toJS({ maxAliasCount: -1 }),
    texts: plain.toJS({ maxAliasCount: -1 }),
    hasAnchor: (path) => places.hasAnchor(path),
    valueAt: (path) => places.valueAt(path),
    keyAt: (path) => places.keyAt(path),
  };
}

const tooLargeRemedy = 'Move long scripts into files of the repository and call them from the commands.';

/** What the parser's codes mean to a person; what is not here has the parser's own words. */
const syntaxHelp: Readonly<Record<string, { readonly message?: string; readonly remedy: string }>> = {
  TAB_AS_INDENT: { message: 'a tab is used to indent', remedy: 'Indent with blanks; YAML allows no tabs there.' },
  BAD_INDENT: { remedy: 'Align the line with its neighbours, with blanks.' },
  DUPLICATE_KEY: { remedy: 'Keep one of the two entries, or rename one.' },
  MULTIPLE_DOCS: {
    message: 'the file holds more than one document',
    remedy: 'Put one pipeline into one file; remove the line "---" in the middle.',
  },
  MISSING_CHAR: { remedy: 'Close the quote or bracket, or put a colon and a blank after the key.' },
  MULTILINE_IMPLICIT_KEY: {
    message: 'a key that is not on one line with its colon',
    remedy: 'Put both on one line, and align the line with its neighbours.',
  },
  BLOCK_AS_IMPLICIT_KEY: {
    message: 'a mapping inside of a mapping on one line',
    remedy: "If it is one text that holds ': ', such as a command, put quotes around all of it.",
  },
  BAD_ALIAS: { remedy: 'Give the anchor or alias a name of letters and digits.' },
  UNEXPECTED_TOKEN: { remedy: 'Quote the text, or correct the indentation.' },
  TAG_RESOLVE_FAILED: { message: 'the format knows no tags (!name)', remedy: 'Remove the tag, or quote the text.' },
};

function explain(error: YAMLParseError | YAMLWarning, text: string): { message: string; remedy: string } {
  const help = syntaxHelp[error.code];
  const remedy = help?.remedy ?? 'Correct the YAML at this place.';
  if (error.code !== 'DUPLICATE_KEY') return { message: help?.message ?? firstLine(error.message), remedy };
  const key = /^[^:\n]*/.exec(text.slice(error.pos[0]))?.[0]?.trim() ?? '';
  return { message: `the key "${key}" stands here for the second time`, remedy };
}

function at(file: string, place: Position, message: string, remedy: string): Problem {
  return { file, line: place.line, column: place.column, message, remedy };
}

function position(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

function firstLine(message: string): string {
  return message.split('\n', 1)[0] ?? '';
}

interface Refusal {
  readonly position: Position;
  readonly message: string;
  readonly remedy: string;
}

/** Finds nodes by path through aliases and merges. */
class Places {
  readonly #document: Document;
  readonly #lines: LineCounter;
  /** What each alias stands for: the last anchor of that name before it. */
  readonly #targets = new Map<Alias, Node>();
  readonly refusals: Refusal[] = [];

  constructor(document: Document, lines: LineCounter) {
    this.#document = document;
    this.#lines = lines;
    this.#resolveAliases(document.contents, new Map());
  }

  valueAt(path: Path): Position {
    let node: unknown = this.#document.contents;
    let place = this.#start(node);
    for (const key of path) {
      const entry = this.#entry(node, key);
      if (entry === undefined) break;
      place = this.#start(entry.value) ?? this.#start(entry.key) ?? place;
      node = entry.value;
    }
    return place ?? { line: 1, column: 1 };
  }

  keyAt(path: Path): Position {
    const last = path.at(-1);
    const parent = path.slice(0, -1);
    const entry = last === undefined ? undefined : this.#entry(this.#node(parent), last);
    return this.#start(entry?.key) ?? this.valueAt(path);
  }

  hasAnchor(path: Path): boolean {
    const visit = (node: unknown): boolean => {
      if (isNode(node) && !isAlias(node) && node.anchor !== undefined) return true;
      if (isPair(node)) return visit(node.key) || visit(node.value);
      return isCollection(node) && node.items.some(visit);
    };
    return visit(this.#node(path));
  }

  /** Refuses aliases that hold themselves and expansions beyond the limit, without expanding anything. */
  checkExpansion(): readonly Refusal[] {
    const sizes = new Map<unknown, number>();
    const open = new Set<unknown>();
    let cycle: Alias | undefined;
    const size = (node: unknown): number => {
      if (isAlias(node)) {
        const target = this.#targets.get(node);
        if (target !== undefined && open.has(target)) cycle ??= node;
        return target === undefined || open.has(target) ? 1 : size(target);
      }
      if (isPair(node)) return size(node.key) + size(node.value);
      if (!isCollection(node)) return 1;
      const known = sizes.get(node);
      if (known !== undefined) return known;
      open.add(node);
      const total = node.items.reduce((sum: number, item) => sum + size(item), 1);
      open.delete(node);
      sizes.set(node, total);
      return total;
    };
    const total = size(this.#document.contents);
    if (cycle !== undefined) {
      const message = `the alias *${cycle.source} stands inside of what it names`;
      return [this.#refusal(cycle, message, 'Write the part out, or move the anchor.')];
    }
    if (total <= nodeLimit) return [];
    const message = `the aliases expand to ${total} values, more than the limit of ${nodeLimit}`;
    return [this.#refusal(undefined, message, 'Use fewer aliases inside of anchors.')];
  }

  #resolveAliases(node: unknown, anchors: Map<string, Node>): void {
    if (isAlias(node)) {
      const target = anchors.get(node.source);
      if (target !== undefined) this.#targets.set(node, target);
      else {
        const message = `the alias *${node.source} has no anchor before it`;
        this.refusals.push(this.#refusal(node, message, `Define it before this place: &${node.source}.`));
      }
      return;
    }
    if (isNode(node) && node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isPair(node)) {
      this.#resolveAliases(node.key, anchors);
      this.#resolveAliases(node.value, anchors);
      if (isCollection(this.#follow(node.key))) {
        const message = 'a mapping or list stands where a name is expected';
        this.refusals.push(this.#refusal(node.key, message, 'Put quotes around a text that has brackets in it.'));
      }
      if (textOf(node.key) === '<<') this.#checkMerge(node);
    } else if (isCollection(node)) {
      for (const item of node.items) this.#resolveAliases(item, anchors);
    }
  }

  #checkMerge(pair: Pair): void {
    const source = this.#follow(pair.value);
    const parts = isSeq(source) ? source.items.map((item) => this.#follow(item)) : [source];
    // An alias without an anchor is told already.
    if (parts.every((part) => part === undefined || isMap(part))) return;
    const remedy = 'Merge a mapping (<<: *name), or a list of mappings.';
    this.refusals.push(this.#refusal(pair.key, '"<<" merges something that is no mapping', remedy));
  }

  #refusal(node: unknown, message: string, remedy: string): Refusal {
    return { position: this.#start(node) ?? { line: 1, column: 1 }, message, remedy };
  }

  #node(path: Path): unknown {
    let node: unknown = this.#document.contents;
    for (const key of path) node = this.#entry(node, key)?.value;
    return node;
  }

  #entry(parent: unknown, key: string | number): { key?: unknown; value: unknown } | undefined {
    const node = this.#follow(parent);
    if (isSeq(node)) {
      const item = node.items[Number(key)];
      return item === undefined ? undefined : { value: item };
    }
    if (!isMap(node)) return undefined;
    const own = node.items.find((pair) => textOf(pair.key) === String(key));
    return own ?? this.#merged(node, key);
  }

  #merged(node: YAMLMap, key: string | number): Pair | undefined {
    for (const pair of node.items) {
      if (textOf(pair.key) !== '<<') continue;
      const source = this.#follow(pair.value);
      for (const part of isSeq(source) ? source.items : [source]) {
        const entry = this.#entry(part, key);
        if (entry !== undefined) return entry as Pair;
      }
    }
    return undefined;
  }

  #follow(node: unknown): unknown {
    return isAlias(node) ? this.#targets.get(node) : node;
  }

  #start(node: unknown): Position | undefined {
    const range = isNode(node) ? node.range : undefined;
    return range === undefined || range === null ? undefined : position(this.#lines, range[0]);
  }
}

function textOf(key: unknown): string {
  if (!isScalar(key)) return '';
  return typeof key.value === 'symbol' ? (key.value.description ?? '') : String(key.value);
}

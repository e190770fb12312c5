/**
 * The schema's verdict on a document, in words for people: one problem for each mistake, at its place.
 *
 * A validator tells every branch of a union that failed; what is kept here is the branch the author meant.
 */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { assert } from '../assert.ts';
import { type Path, type PipelineDocument, problemAt } from './document.ts';
import schema from './pipeline.schema.json' with { type: 'json' };
import { nearest, type Problem } from './problems.ts';

/** The JSON Schema (draft 7) of pipeline files, for editors and other tools. */
export const pipelineSchema: object = schema;

export function checkSchema(document: PipelineDocument): readonly Problem[] {
  const validate = compiled();
  if (validate(document.value)) return [];
  const errors = meant(validate.errors ?? []);
  return errors.flatMap((error) => explain(error, document));
}

/** Where a path leads, for a sentence: `step "build"`, `"pull" of step "build"`. */
export function describe(document: PipelineDocument, path: Path): string {
  const owner = ownerOf(document, path);
  const rest = path.slice(owner.length).filter((part) => typeof part === 'string');
  const field = rest.length === 0 ? '' : `"${rest.join('.')}"`;
  const name = ownerName(document, owner);
  if (field === '') return name === '' ? 'the pipeline' : name;
  return name === '' ? field : `${field} of ${name}`;
}

let validator: ValidateFunction | undefined;

/** Compiled at the first use: commands that read no pipeline do not pay for it. */
function compiled(): ValidateFunction {
  validator ??= new Ajv({ allErrors: true, verbose: true, strict: false }).compile(schema);
  return validator;
}

const unions: ReadonlySet<string> = new Set(['anyOf', 'oneOf']);

/** Without the branches of unions that the author did not mean. */
function meant(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const dropped = new Set<ErrorObject>();
  for (const union of errors.filter((error) => unions.has(error.keyword))) {
    const inside = errors.filter((error) => error !== union && isInside(error.instancePath, union.instancePath));
    const shapes = inside.filter((error) => error.instancePath === union.instancePath && error.keyword === 'type');
    for (const shape of shapes) dropped.add(shape);
    const details = inside.filter((error) => !shapes.includes(error));
    if (isChoiceOfKeys(union)) {
      // Which key is missing is a matter of sense; `check` tells it in one sentence.
      for (const error of [
        union,
        ...details.filter(({ keyword, instancePath }) => keyword === 'required' && instancePath === union.instancePath),
      ])
        dropped.add(error);
      continue;
    }
    const isScalar = typeof union.data !== 'object' || union.data === null;
    if (isScalar || details.length === 0) for (const detail of details) dropped.add(detail);
    else dropped.add(union);
  }
  // The wrapper of propertyNames repeats what its inner error says.
  return errors.filter((error) => !dropped.has(error) && error.keyword !== 'propertyNames');
}

function isChoiceOfKeys({ schema }: ErrorObject): boolean {
  return Array.isArray(schema) && schema.every((branch: object) => 'required' in branch);
}

function isInside(path: string, around: string): boolean {
  return path === around || path.startsWith(`${around}/`);
}

function explain(error: ErrorObject, document: PipelineDocument): readonly Problem[] {
  const path = pathOf(error, document);
  const subject = describe(document, path);
  const at = document.valueAt(path);
  switch (error.keyword) {
    case 'required':
      return missing(error, document, path, subject);
    case 'additionalProperties':
      return unknownKey(error, document, path, subject);
    case 'minItems':
    case 'minProperties':
      return [problemAt(document, at, `${subject} is empty`, 'Add an entry, or remove the key.')];
    case 'minLength':
      return [problemAt(document, at, `${subject} is empty`, 'Give it a value.')];
    case 'enum':
    case 'const':
      return [notOneOf(error, document, path, subject)];
    case 'pattern':
      if (error.propertyName !== undefined) {
        const message = `${JSON.stringify(error.propertyName)} is no name of a variable`;
        return [problemAt(document, document.keyAt([...path, error.propertyName]), message, 'Remove the "=".')];
      }
      break;
    case 'type':
      if (isCommand(path) && typeof error.data === 'object' && error.data !== null)
        return [commandIsMapping(document, path, subject)];
      if (error.data === null) {
        const example = keyExamples.get(String(path.at(-1)));
        const remedy = example === undefined ? remedyFor(error) : `Give it one: ${example}`;
        return [problemAt(document, document.keyAt(path), `${subject} has no value`, remedy)];
      }
      break;
  }
  return [problemAt(document, at, `${subject} is ${kindOf(error.data)}`, remedyFor(error))];
}

/** Where ajv says, with indices as numbers. */
function pathOf(error: ErrorObject, document: PipelineDocument): Path {
  let value = document.value;
  const parts = error.instancePath.split('/').slice(1);
  return parts.map((part) => {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    const isIndex = Array.isArray(value);
    value = (value as Record<string, unknown>)[key];
    return isIndex ? Number(key) : key;
  });
}

function missing(error: ErrorObject, document: PipelineDocument, path: Path, subject: string): readonly Problem[] {
  const key = String(error.params['missingProperty']);
  const example = keyExamples.get(key) ?? `${key}: …`;
  return [problemAt(document, document.valueAt(path), `${subject} has no "${key}"`, `Add it: ${example}`)];
}

/** Maps, because the keys are whatever somebody wrote. */
const keyExamples: ReadonlyMap<string, string> = new Map(
  Object.entries({
    name: 'name: build',
    image: 'image: alpine:3',
    steps: 'a list of steps, each with name, image and commands.',
  }),
);

function unknownKey(error: ErrorObject, document: PipelineDocument, path: Path, subject: string): readonly Problem[] {
  const key = String(error.params['additionalProperty']);
  // At the top, entries that define anchors are how YAML users keep the parts that they use again.
  if (path.length === 0 && document.hasAnchor([key])) return [];
  const known = Object.keys((error.parentSchema?.['properties'] ?? {}) as object);
  const guess = misplaced.get(key) ?? nearest(key, known);
  const remedy = guess === undefined ? `Remove it. Known keys: ${known.join(', ')}.` : `Did you mean "${guess}"?`;
  const where = path.length === 0 ? 'at the top' : `in ${subject}`;
  return [problemAt(document, document.keyAt([...path, key]), `unknown key "${key}" ${where}`, remedy)];
}

/** What other systems call it. */
const misplaced: ReadonlyMap<string, string> = new Map(
  Object.entries({
    env: 'environment',
    variables: 'environment',
    script: 'commands',
    command: 'commands',
    run: 'commands',
    depends_on: 'needs',
    when: 'ruleset',
    settings: 'parameters',
    with: 'parameters',
  }),
);

function notOneOf(error: ErrorObject, document: PipelineDocument, path: Path, subject: string): Problem {
  const allowed: readonly unknown[] = error.params['allowedValues'] ?? [error.params['allowedValue']];
  const guess = typeof error.data === 'string' ? nearest(error.data, allowed.map(String)) : undefined;
  const hint = guess === undefined ? '' : ` Did you mean "${guess}"?`;
  const message = `${subject} is ${JSON.stringify(error.data)}`;
  return problemAt(document, document.valueAt(path), message, `Use one of: ${allowed.join(', ')}.${hint}`);
}

function isCommand(path: Path): boolean {
  return path.includes('commands') || path.includes('entrypoint');
}

function commandIsMapping(document: PipelineDocument, path: Path, subject: string): Problem {
  const message = `a command in ${subject} is read as a mapping, because of its ": "`;
  return problemAt(document, document.valueAt(path), message, "Put quotes around the whole command: - 'echo a: b'");
}

function remedyFor(error: ErrorObject): string {
  const described = error.parentSchema?.['description'];
  const expected = typeof described === 'string' ? lowerFirst(described) : undefined;
  if (error.keyword !== 'type' && expected !== undefined) return `Write ${expected}.`;
  if (error.keyword === 'minimum' || error.keyword === 'maximum') return `It ${error.message ?? 'is out of range'}.`;
  const type: unknown = error.params['type'];
  const isUnion = Array.isArray(type) && expected !== undefined;
  return isUnion ? `Write ${expected}.` : `Write ${kindNames[String(type)] ?? String(type)}.`;
}

function lowerFirst(text: string): string {
  return text.replace(/\.$/, '').replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());
}

const kindNames: Readonly<Record<string, string>> = {
  object: 'a mapping (key: value)',
  array: 'a list (- item)',
  string: 'a text; put quotes around it where YAML reads something else',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
};

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  return `${JSON.stringify(value)}`;
}

/** The longest start of the path that is something with a name of its own. */
function ownerOf(document: PipelineDocument, path: Path): Path {
  for (let length = path.length; length > 0; length--) {
    const candidate = path.slice(0, length);
    if (ownerName(document, candidate) !== '') return candidate;
  }
  return [];
}

function ownerName(document: PipelineDocument, path: Path): string {
  const [top, key, inner, index] = path;
  if (path.length === 2 && top === 'stages') return `stage "${key}"`;
  if (path.length === 4 && top === 'stages' && inner === 'steps') {
    return `${named(document, path, 'step', Number(index))} of stage "${key}"`;
  }
  if (path.length === 3 && top === 'secrets' && inner === 'origin')
    return named(document, path, 'secret plugin', Number(key));
  if (path.length !== 2 || typeof key !== 'number') return '';
  const kind = ownerKinds[String(top)];
  return kind === undefined ? '' : named(document, path, kind, key);
}

const ownerKinds: Readonly<Record<string, string>> = {
  steps: 'step',
  services: 'service',
  secrets: 'secret',
  templates: 'template',
};

function named(document: PipelineDocument, path: Path, kind: string, index: number): string {
  assert(Number.isInteger(index), 'things with a name stand in a list');
  let value = document.value;
  for (const part of path) value = (value as Record<string, unknown> | undefined)?.[part];
  const name = typeof value === 'object' && value !== null && 'name' in value ? value.name : undefined;
  return typeof name === 'string' && name !== '' ? `${kind} "${name}"` : `${kind} ${index + 1}`;
}

// The import directions of ARCHITECTURE.md hold: no folder reaches into one above it, no file is in a cycle, and no
// source file is imported by nobody.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

type Room = string;
interface Rule {
  readonly rooms: readonly Room[];
  readonly packages: readonly string[];
  /** Rooms and packages of which only types may be used. */
  readonly typesOnly?: readonly string[];
}

const basics = ['errors', 'assert', 'clock', 'logger'];
const kubernetes = '@kubernetes/client-node';

// The literal table of ARCHITECTURE.md. A room may always import itself.
const table: Readonly<Record<Room, Rule>> = {
  machines: { rooms: [], packages: ['xstate'] },
  errors: { rooms: [], packages: [] },
  assert: { rooms: ['errors'], packages: [] },
  clock: { rooms: [], packages: [] },
  logger: { rooms: [], packages: [] },
  image: { rooms: basics, packages: ['node:'] },
  kube: { rooms: [...basics, 'version', 'machines'], packages: ['node:', 'undici', 'xstate', kubernetes] },
  pod: { rooms: [...basics, 'image', 'machines'], packages: ['node:'], typesOnly: ['machines', kubernetes] },
  logs: { rooms: [...basics, 'kube'], packages: ['node:'] },
  runtime: { rooms: [...basics, 'machines', 'kube', 'pod', 'image', 'logs'], packages: ['node:', 'xstate'] },
  debug: { rooms: [...basics, 'pod', 'machines'], packages: ['node:'], typesOnly: ['machines'] },
  events: {
    rooms: [...basics, 'version', 'debug', 'machines'],
    packages: ['node:', 'prom-client', '@opentelemetry/api'],
    typesOnly: ['machines'],
  },
  inspect: {
    rooms: [...basics, 'events', 'machines', 'trace', 'logs'],
    packages: ['node:'],
    typesOnly: ['logs'],
  },
  executor: {
    rooms: [...basics, 'runtime', 'events', 'image', 'pod', 'logs', 'machines'],
    packages: ['node:', 'yaml', 'ajv'],
    typesOnly: ['machines'],
  },
  trace: { rooms: [...basics, 'image', 'kube', 'pod', 'runtime', 'machines'], packages: ['node:'] },
  cluster: { rooms: basics, packages: ['node:', 'rfc6902', 'yaml'] },
};
// Words and a predicate, no behaviour: as harmless as a type.
const vocabulary: readonly string[] = ['machines/outcome.ts'];
// The entry points and the command line may import everything.
const top: readonly Room[] = ['cli', 'index', 'version'];

const files = globSync(['machines/**/*.ts', 'src/**/*.ts'], { exclude: ['src/inspect/page/**'] }).sort();

test('each folder imports only what the table allows', () => {
  const wrong = files.flatMap((file) => {
    const room = roomOf(file);
    if (top.includes(room)) return [];
    const rule = table[room];
    if (rule === undefined) return [`${file}: no room called ${room} in the table`];
    return importsOf(file)
      .filter((one) => !isAllowed(room, rule, one))
      .map((one) => `${file}: may not import ${one.typeOnly ? 'types of ' : ''}${one.from}`);
  });
  expect(wrong).toEqual([]);
});

test('no file is in an import cycle', () => {
  const edges = new Map(files.map((file) => [file, importsOf(file).flatMap((one) => one.file ?? [])]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      cycles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      return;
    }
    if (done.has(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(cycles).toEqual([]);
});

test('the command line alone reads process and console', () => {
  const touching = files
    .filter((file) => !file.startsWith('src/cli/'))
    .filter((file) =>
      /(?<![\w.'"`])(process\.(env|argv|exit|stdout|stderr|stdin|on|cwd)\b|console\.)/.test(codeOf(file)),
    );
  expect(touching).toEqual([]);
});

interface Import {
  readonly from: string;
  /** The file of this repository that is imported; absent for packages. */
  readonly file?: string;
  readonly typeOnly: boolean;
}

function isAllowed(room: Room, rule: Rule, one: Import): boolean {
  if (one.file !== undefined) {
    const target = roomOf(one.file);
    if (target === room) return true;
    const typeOnly = one.typeOnly || vocabulary.includes(one.file);
    return rule.rooms.includes(target) && (typeOnly || !rule.typesOnly?.includes(target));
  }
  if (
    rule.packages.some((name) =>
      name === 'node:' ? one.from.startsWith(name) : one.from === name || one.from.startsWith(`${name}/`),
    )
  ) {
    return true;
  }
  return one.typeOnly && (rule.typesOnly?.includes(one.from) ?? false);
}

/** `src/kube/store.ts` → kube, `src/errors.ts` → errors, `machines/pod.ts` → machines. */
function roomOf(file: string): Room {
  const [first = '', second = ''] = file.split('/');
  return first === 'machines' ? first : second.replace(/\.ts$/, '');
}

function importsOf(file: string): readonly Import[] {
  const pattern =
    /(?:^|\n)\s*(?:import|export)\s+(type\s)?[^'";]*?from\s+'([^']+)'|import\('([^']+)'\)|(?:^|\n)import\s+'([^']+)'/g;
  return [...codeOf(file).matchAll(pattern)].map((match) => {
    const from = match[2] ?? match[3] ?? match[4] ?? '';
    const typeOnly = match[1] !== undefined || isTypeImport(codeOf(file), match);
    return from.startsWith('.') ? { from, file: normalize(join(dirname(file), from)), typeOnly } : { from, typeOnly };
  });
}

/** `import('x').Y` in a type position. */
function isTypeImport(code: string, match: RegExpMatchArray): boolean {
  if (match[3] === undefined) return false;
  const before = code.slice(0, match.index).trimEnd();
  return (
    !before.endsWith('await') &&
    !before.endsWith('=>') &&
    code.slice((match.index ?? 0) + match[0].length).startsWith('.')
  );
}

const codes = new Map<string, string>();
/** The file without its comments. */
function codeOf(file: string): string {
  let code = codes.get(file);
  if (code === undefined) {
    code = readFileSync(file, 'utf8')
      .replace(/\/\*[\s\S]*?\*\//g, '')
      .replace(/(^|\s)\/\/.*$/gm, '$1');
    codes.set(file, code);
  }
  return code;
}

/**
 * Settings for every command: `podwright.config.yaml` or `.json` in the working folder, then `PODWRIGHT_…` variables,
 * then flags; the later wins.
 *
 * A setting is a flag without its dashes: `namespace: builds`, `imagePullSecret: [hub]`, and under a command's name for
 * that command alone. As a variable it is `PODWRIGHT_IMAGE_PULL_SECRET`, with commas between several. A flag that has to
 * be typed is no setting.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command, Option } from 'commander';
import { parse } from 'yaml';
import { PodwrightError } from '../errors.ts';
import { nearest } from '../executor/problems.ts';
import type { Terminal } from './terminal.ts';

const configNames = ['podwright.config.yaml', 'podwright.config.yml', 'podwright.config.json'] as const;
const variablePrefix = 'PODWRIGHT_';

/** Reads settings before a command acts. */
export function addConfig(program: Command, terminal: Pick<Terminal, 'cwd' | 'env'>): void {
  program.option('--config <path>', `file of settings (default: ${configNames[0]} in the working folder)`);
  program.hook('preAction', async (root, command) => {
    const named: unknown = root.opts()['config'];
    const path = typeof named === 'string' ? named : terminal.env[`${variablePrefix}CONFIG`];
    const config = await readConfig(terminal.cwd, path);
    checkKeys(config, root);
    applySettings(command, config, terminal.env);
  });
}

interface Config {
  readonly file: string;
  readonly values: Readonly<Record<string, unknown>>;
}

async function readConfig(cwd: string, path: string | undefined): Promise<Config> {
  for (const name of path === undefined ? configNames : [path]) {
    const file = path === undefined ? join(cwd, name) : name;
    const text = await readIfThere(file, path !== undefined);
    if (text !== undefined) return { file, values: parseConfig(text, file) };
  }
  return { file: '', values: {} };
}

async function readIfThere(file: string, mustBe: boolean): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (isMissing && !mustBe) return undefined;
    throw invalid(
      file,
      `cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      'Name a file that can be read.',
    );
  }
}

function parseConfig(text: string, file: string): Config['values'] {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw invalid(
      file,
      `is not valid: ${error instanceof Error ? error.message : String(error)}`,
      'Correct the YAML or JSON.',
    );
  }
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value))
    throw invalid(file, 'holds no mapping', 'Write settings: namespace: builds');
  return value as Config['values'];
}

/** A misspelt setting would be without effect, and nobody would know. */
function checkKeys({ file, values }: Config, root: Command): void {
  const known = new Set(root.commands.flatMap(settingsOf).map((option) => option.attributeName()));
  const commands = root.commands.map((command) => command.name());
  const check = (keys: readonly string[], allowed: readonly string[], where: string): void => {
    for (const key of keys) {
      if (allowed.includes(key)) continue;
      const guess = nearest(key, allowed);
      throw invalid(
        file,
        `has an unknown setting "${key}"${where}`,
        guess === undefined ? 'Remove it.' : `Did you mean "${guess}"?`,
      );
    }
  };
  check(Object.keys(values), [...known, ...commands], '');
  for (const command of root.commands) {
    const section = values[command.name()];
    if (section === undefined || known.has(command.name())) continue;
    const own = settingsOf(command).map((option) => option.attributeName());
    if (typeof section !== 'object' || section === null || Array.isArray(section)) {
      throw invalid(file, `has no mapping under "${command.name()}"`, 'Write the settings of the command there.');
    }
    check(Object.keys(section), own, ` under "${command.name()}"`);
  }
}

/** The command line is looked at for obligatory flags before anything else is known. */
function settingsOf(command: Command): readonly Option[] {
  return command.options.filter((option) => !option.mandatory);
}

function applySettings(command: Command, { file, values }: Config, env: Terminal['env']): void {
  const section = values[command.name()];
  const own = typeof section === 'object' && section !== null ? (section as Config['values']) : {};
  for (const option of settingsOf(command)) {
    const name = option.attributeName();
    const source = command.getOptionValueSource(name);
    if (source !== undefined && source !== 'default') continue;
    const variable = `${variablePrefix}${snake(name)}`;
    const text = env[variable];
    if (text !== undefined)
      set(command, option, isRepeated(option) ? text.split(',') : text, `the variable ${variable}`);
    else if (own[name] !== undefined) set(command, option, own[name], `"${name}" of ${file}`);
    else if (values[name] !== undefined) set(command, option, values[name], `"${name}" of ${file}`);
  }
}

/** As if it had been typed: checked and converted like the flag. */
function set(command: Command, option: Option, value: unknown, where: string): void {
  const name = option.attributeName();
  if (option.isBoolean()) {
    if (!['true', 'false', true, false].includes(value as string | boolean)) {
      throw new PodwrightError('ERR_PODWRIGHT_CONFIG', `${where} is no true or false`, {
        remedy: 'Write true or false.',
      });
    }
    command.setOptionValueWithSource(name, value === true || value === 'true', 'config');
    return;
  }
  const items = Array.isArray(value) ? value : [value];
  let result: unknown;
  for (const item of items) result = convert(option, item, result, where);
  command.setOptionValueWithSource(name, result, 'config');
}

function convert(option: Option, item: unknown, before: unknown, where: string): unknown {
  if (typeof item === 'object') {
    throw new PodwrightError('ERR_PODWRIGHT_CONFIG', `${where} is no plain value`, {
      remedy: 'Write a text or a number.',
    });
  }
  const text = String(item);
  if (option.argChoices !== undefined && !option.argChoices.includes(text)) {
    throw new PodwrightError('ERR_PODWRIGHT_CONFIG', `${where} is "${text}"`, {
      remedy: `Use one of: ${option.argChoices.join(', ')}.`,
    });
  }
  const parseArg = option.parseArg as ((value: string, previous: unknown) => unknown) | undefined;
  if (parseArg !== undefined) return parseArg(text, before);
  return option.variadic ? [...((before as readonly string[] | undefined) ?? []), text] : text;
}

function isRepeated(option: Option): boolean {
  return option.variadic || option.description.includes('may be repeated');
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

function invalid(file: string, what: string, remedy: string): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_CONFIG', `${file} ${what}`, { remedy, details: { file } });
}

import { Command, Option } from 'commander';
import { afterAll, describe, expect, test } from 'vitest';
import { addConfig } from '../../src/cli/config.ts';
import { collect } from '../../src/cli/pipeline-flags.ts';
import { Folder } from './podwright.ts';

const folders: Folder[] = [];
afterAll(() => {
  for (const folder of folders) folder.end();
});

/** The flags that a command gets of a file, an environment and what was typed. */
async function settings(
  args: readonly string[],
  { file, text = '', env = {} }: { file?: string; text?: string; env?: Readonly<Record<string, string>> },
): Promise<Record<string, unknown>> {
  const folder = new Folder();
  folders.push(folder);
  if (file !== undefined) folder.file(file, text);
  let seen: Record<string, unknown> = {};
  const program = new Command().exitOverride();
  program
    .command('run')
    .option('--namespace <name>')
    .option('--image-pull-secret <name>', 'a Secret; may be repeated', collect)
    .option('--keep')
    .option('--platform <platform...>')
    .requiredOption('--out <file>')
    .option('--no-follow')
    .addOption(new Option('--output <form>').choices(['pretty', 'json']).default('pretty'))
    .action((flags: Record<string, unknown>) => {
      seen = flags;
    });
  program.command('list').option('--older <time>');
  addConfig(program, { cwd: folder.path, env });
  const typed = [...args.map((arg) => arg.replace('FOLDER', folder.path)), '--out', 'typed'];
  await program.parseAsync(typed, { from: 'user' });
  return seen;
}

describe('the later wins', () => {
  const file = 'podwright.config.yaml';
  const text = 'namespace: of-file\noutput: json\nrun:\n  imagePullSecret: [one, two]\n';

  test('a file gives what nothing else says', async () => {
    expect(await settings(['run'], { file, text })).toEqual({
      namespace: 'of-file',
      output: 'json',
      imagePullSecret: ['one', 'two'],
      follow: true,
      out: 'typed',
    });
  });

  test('a variable wins over the file', async () => {
    const env = {
      PODWRIGHT_NAMESPACE: 'of-variable',
      PODWRIGHT_IMAGE_PULL_SECRET: 'a,b,c',
      PODWRIGHT_KEEP: 'true',
      PODWRIGHT_PLATFORM: 'linux/amd64,linux/arm64',
    };
    expect(await settings(['run'], { file, text, env })).toMatchObject({
      namespace: 'of-variable',
      imagePullSecret: ['a', 'b', 'c'],
      keep: true,
      platform: ['linux/amd64', 'linux/arm64'],
    });
  });

  test('a flag wins over both, also when it is the default', async () => {
    const env = { PODWRIGHT_OUTPUT: 'json' };
    const args = ['run', '--output', 'pretty', '--namespace', 'of-flag'];
    expect(await settings(args, { file, text, env })).toMatchObject({ namespace: 'of-flag', output: 'pretty' });
  });

  test('what a command says for itself wins over what is said for all', async () => {
    const both = 'namespace: all\nrun: { namespace: own }\n';
    expect(await settings(['run'], { file, text: both })).toMatchObject({ namespace: 'own' });
  });

  test('a file may be JSON, and may be named', async () => {
    expect(await settings(['run'], { file: 'podwright.config.json', text: '{"namespace":"j"}' })).toMatchObject({
      namespace: 'j',
    });
    expect(
      await settings(['--config', 'FOLDER/other.yml', 'run'], { file: 'other.yml', text: 'namespace: n' }),
    ).toMatchObject({
      namespace: 'n',
    });
  });
});

describe('a mistake is told', () => {
  const file = 'podwright.config.yaml';
  test.each([
    ['a misspelt setting', 'namespce: x', 'unknown setting "namespce"', 'Did you mean "namespace"?'],
    [
      'a misspelt setting of a command',
      'run: { keeep: true }',
      'unknown setting "keeep" under "run"',
      'Did you mean "keep"?',
    ],
    ['a flag that has to be typed', 'out: x', 'unknown setting "out"', 'Remove it.'],
    ['a setting of another command', 'run: { older: 1h }', 'unknown setting "older" under "run"', 'Remove it.'],
    ['a value that is no choice', 'output: xml', '"output" of', 'Use one of: pretty, json.'],
    ['a flag that is no true or false', 'keep: maybe', '"keep" of', 'Write true or false.'],
    ['a list of settings', '- a', 'holds no mapping', 'Write settings: namespace: builds'],
    ['a mapping for a value', 'namespace: { a: b }', 'is no plain value', 'Write a text or a number.'],
    ['no YAML', 'a: [', 'is not valid', 'Correct the YAML or JSON.'],
    ['no section', 'run: 3', 'has no mapping under "run"', 'Write the settings of the command there.'],
  ])('%s', async (_, text, message, remedy) => {
    await expect(settings(['run'], { file, text })).rejects.toMatchObject({
      code: 'ERR_PODWRIGHT_CONFIG',
      message: expect.stringContaining(message),
      remedy,
    });
  });

  test('a file that was named and is not there', async () => {
    await expect(settings(['--config', '/no/such', 'run'], {})).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_CONFIG' });
  });
});

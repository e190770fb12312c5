// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the forms are what is tested
import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { hasVariable, substitute, substituteCommand } from '../../src/executor/substitute.ts';

const values: Readonly<Record<string, string>> = {
  VAR: 'example',
  TWICE: 'exampleexample',
  UPPER: 'EXAMPLE',
  EMPTY: '',
  PATHLIKE: 'a/b/c.tar.gz',
  SHA: '7fd1a60b01f91b314f59955a4e4d4e80d8edf11d',
  LINES: 'one\ntwo',
  EVIL: 'it\'s "x" `id` $HOME \\',
};
const lookup = (name: string): string | undefined => values[name];

describe('every form of the format', () => {
  test.each([
    ['${VAR}', 'example'],
    ['a${VAR}b${VAR}', 'aexamplebexample'],
    ['${VAR^}', 'Example'],
    ['${VAR^^}', 'EXAMPLE'],
    ['${UPPER,}', 'eXAMPLE'],
    ['${UPPER,,}', 'example'],
    ['${VAR:1}', 'xample'],
    ['${VAR:2:3}', 'amp'],
    ['${SHA:0:8}', '7fd1a60b'],
    ['${VAR: -3}', 'ple'],
    ['${VAR:0:-2}', 'examp'],
    ['${VAR:9}', ''],
    ['${TWICE#exa}', 'mpleexample'],
    ['${TWICE##*exa}', 'mple'],
    ['${TWICE%mple}', 'exampleexa'],
    ['${TWICE%%mple*}', 'exa'],
    ['${PATHLIKE##*/}', 'c.tar.gz'],
    ['${PATHLIKE%%.*}', 'a/b/c'],
    ['${PATHLIKE%/*}', 'a/b'],
    ['${TWICE/exam/ap}', 'appleexample'],
    ['${TWICE//exam/ap}', 'appleapple'],
    ['${VAR/#exam/ap}', 'apple'],
    ['${VAR/%mple/ctly}', 'exactly'],
    ['${VAR/nothing/x}', 'example'],
    ['${#VAR}', '7'],
    ['${MISSING=default}', 'default'],
    ['${MISSING:=default}', 'default'],
    ['${MISSING:-default}', 'default'],
    ['${MISSING-default}', 'default'],
    ['${MISSING:-${VAR}}', 'example'],
    ['${MISSING:-${ALSO:-deep}}', 'deep'],
    ['${EMPTY:-default}', 'default'],
    ['${EMPTY-default}', ''],
    ['${VAR:-default}', 'example'],
    ['${VAR:+set}', 'set'],
    ['${EMPTY:+set}', ''],
    ['${EMPTY+set}', 'set'],
    ['${LINES}', 'one\ntwo'],
  ])('%s gives %j', (text, expected) => {
    expect(substitute(text, lookup)).toBe(expected);
  });
});

describe('what is no form, or not known, stays', () => {
  test.each([
    ['$VAR'],
    ['$$'],
    ['costs 5$'],
    ['${MISSING}'],
    ['${MISSING:0:8}'],
    ['${MISSING%x}'],
    ['${}'],
    ['${1}'],
    ['${VAR'],
    ['${VAR!}'],
    ['${VAR:x}'],
  ])('%s', (text) => {
    expect(substitute(text, lookup)).toBe(text);
  });

  test.each([
    ['$${VAR}', '${VAR}'],
    ['$${VAR:-${VAR}}', '${VAR:-example}'],
    ['$$$${VAR}', '$$${VAR}'],
    ['$$VAR', '$$VAR'],
  ])('%s is escaped: %s', (text, expected) => {
    expect(substitute(text, lookup)).toBe(expected);
  });
});

describe('a command', () => {
  test.each([
    ['echo ${VAR} "${VAR:-x}" ${#VAR} ${VAR%e}', 'echo ${VAR} "${VAR:-x}" ${#VAR} ${VAR%e}'],
    ['echo ${SHA:0:8}', 'echo 7fd1a60b'],
    ['echo ${UPPER,,}-${TWICE//exam/ap}', 'echo example-appleapple'],
    ["echo '${VAR}'", "echo 'example'"],
    ["echo '${EVIL}'", "echo 'it'\\''s \"x\" `id` $HOME \\'"],
    ['echo $${VAR}', 'echo ${VAR}'],
    ["echo '${MISSING}' ${MISSING:0:3}", "echo '${MISSING}' ${MISSING:0:3}"],
  ])('%s becomes %s', (text, expected) => {
    expect(substituteCommand(text, lookup)).toBe(expected);
  });

  test.each([
    ['unquoted', 'printf %s ${EVIL//z/y}'],
    ['in double quotes', 'printf %s "${EVIL//z/y}"'],
    ['in single quotes', "printf %s '${EVIL//z/y}'"],
    ['left to the shell', 'printf %s "${EVIL}"'],
    ['after an escaped quote', 'printf %s \\"> /dev/null; printf %s "${EVIL//z/y}"'],
  ])('gets a dangerous value as a text: %s', (_, text) => {
    const command = substituteCommand(text, lookup);
    const { stdout } = spawnSync('/bin/sh', ['-c', command], { env: { ...values }, encoding: 'utf8' });
    expect(stdout).toBe(values['EVIL']);
  });

  test('splits an unquoted value into words, as a shell does', () => {
    const { stdout } = spawnSync('/bin/sh', ['-c', substituteCommand('set -- ${FLAGS}; echo $#', () => '-v -race')], {
      env: { FLAGS: '-v -race' },
      encoding: 'utf8',
    });
    expect(stdout).toBe('2\n');
  });
});

test('a variable is seen where one is', () => {
  expect(hasVariable('alpine:${TAG}')).toBe(true);
  expect(hasVariable('alpine:$TAG')).toBe(false);
  expect(hasVariable('$${TAG}')).toBe(false);
});

// The table of the placeholder agrees with the program, and reports are read as they are written.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  entryCodes,
  entryMounts,
  installCommand,
  placeholderImage,
  readEntryReport,
  runCommand,
} from '../../src/image/placeholder.ts';

const source = readFileSync(new URL('../../entry/entry.c', import.meta.url), 'utf8');

test('codes, paths and words of the table are those of the program', () => {
  const codes = Object.fromEntries(
    [...source.matchAll(/CODE_(\w+) = (\d+)/g)].map(([, name, code]) => [name, Number(code)]),
  );
  expect(codes).toMatchObject({
    PLACEHOLDER: entryCodes.placeholder,
    ALREADY_RAN: entryCodes.alreadyRan,
    NO_MARK: entryCodes.noMark,
    USAGE: entryCodes.usage,
    NOT_EXECUTABLE: entryCodes.notExecutable,
    NOT_FOUND: entryCodes.notFound,
  });
  expect(source).toContain(`marker[] = "${placeholderImage.markerPath}"`);
  const words = [...source.matchAll(/(?:LOUD|QUIET), "([a-z-]+): /g)].map(([, word]) => word ?? '');
  expect(words.length).toBeGreaterThan(15);
  for (const word of words) expect(readEntryReport(`podwright-entry: ${word}: text\n`)?.text, word).toBe('text');
});

test('the pod installs the program where its containers start it', () => {
  expect(installCommand()).toEqual(['/podwright-entry', 'install', '/podwright/bin', '--marks', '/podwright/marks']);
  expect(runCommand('clone-1')).toEqual([
    '/podwright/bin/entry',
    'run',
    '--mark',
    '/podwright/marks/clone-1',
    '--linger',
    '60',
    '--',
  ]);
  expect(entryMounts.program).toBe(`${entryMounts.bin}/entry`);
  // A mount inside of a read-only one cannot be made.
  expect(entryMounts.marks.startsWith(`${entryMounts.bin}/`)).toBe(false);
  expect([placeholderImage.entryPath, placeholderImage.markerPath].some((path) => path.startsWith('/podwright/'))).toBe(
    false,
  );
});

test('a message that entry did not write is no report', () => {
  const foreign = [
    undefined,
    '',
    'exit status 1',
    'podwright-entry: ',
    'podwright-entry: unheard-of: text\n',
    ' podwright-entry: usage: text\n',
    'podwright-entry: usage: two\nlines\n',
    'podwright-entry: toString: text\n',
  ];
  for (const message of foreign) expect(readEntryReport(message), message).toBeUndefined();
});

// The debug annotation is read and written in the form that Skaffold uses.
import { expect, test } from 'vitest';
import { parseDebugAnnotation, parseDebugOption, writeDebugAnnotation } from '../../src/debug/annotation.ts';

test('what Skaffold writes is read: ports are called ports', () => {
  const value = '{"web":{"artifact":"skaffold-jib","runtime":"jvm","ports":{"jdwp":5005}},"db":{}}';
  const { containers, problems } = parseDebugAnnotation(value);
  expect(problems).toEqual([]);
  expect([...containers]).toEqual([
    ['web', { artifact: 'skaffold-jib', runtime: 'jvm', workingDir: '', ports: { jdwp: 5005 } }],
    ['db', { artifact: '', runtime: '', workingDir: '', ports: {} }],
  ]);
});

test('what is written is read again, and empty fields are left out', () => {
  const value = '{"web":{"artifact":"skaffold-jib","runtime":"jvm","workingDir":"/app","ports":{"jdwp":5005}},"db":{}}';
  expect(writeDebugAnnotation(parseDebugAnnotation(value).containers)).toBe(value);
});

test.each([
  ['nothing', '', 'is not JSON'],
  ['half an object', '{"web":', 'is not JSON'],
  ['a list', '[]', 'is not a JSON object of containers'],
  ['null', 'null', 'is not a JSON object of containers'],
])('%s is a problem of the whole annotation', (_name, value, message) => {
  const { containers, problems } = parseDebugAnnotation(value);
  expect(containers.size).toBe(0);
  expect(problems).toEqual([{ container: null, message: expect.stringContaining(message) }]);
});

test.each([
  ['{"web":7,"db":{}}', 'not a JSON object'],
  ['{"web":{"ports":{"jdwp":"5005"}},"db":{}}', 'port of jdwp'],
  ['{"web":{"ports":{"jdwp":0}},"db":{}}', 'port of jdwp'],
  ['{"web":{"ports":[5005]},"db":{}}', 'ports is not an object'],
  ['{"web":{"runtime":1},"db":{}}', 'runtime is not a string'],
])('a fault in one container (%s) does not take the others', (value, message) => {
  const { containers, problems } = parseDebugAnnotation(value);
  expect([...containers.keys()]).toEqual(['db']);
  expect(problems).toEqual([{ container: 'web', message: expect.stringContaining(message) }]);
});

test.each([
  ['test=nodejs:9230', 'test', 'nodejs', { devtools: 9230 }],
  ['test=go', 'test', 'go', { dlv: 56_268 }],
  ['a=b=jvm:5005', 'a=b', 'jvm', { jdwp: 5005 }],
  ['run the tests=python', 'run the tests', 'python', { dap: 5678 }],
  ['test=netcore', 'test', 'netcore', {}],
])('the option %s names step, runtime and port', (option, step, runtime, ports) => {
  expect(parseDebugOption(option)).toEqual({ step, config: { artifact: '', workingDir: '', runtime, ports } });
});

test.each([
  '',
  'test',
  '=go',
  'test=',
  'test=cobol',
  'test=constructor',
  'test=go:0',
  'test=go:70000',
  'test=netcore:1',
])('the option %j is refused with the form it should have', (option) => {
  expect(() => parseDebugOption(option)).toThrow(
    expect.objectContaining({ code: 'ERR_PODWRIGHT_USAGE', remedy: expect.stringContaining('STEP=RUNTIME') }),
  );
});

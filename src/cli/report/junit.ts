/** A build as JUnit XML: a test suite for the build, a test case for each step, as CI systems read it. */
import { stripVTControlCharacters } from 'node:util';
import type { StepResult } from '../../executor/result.ts';
import { explainOutcome, statusText } from '../output/words.ts';
import { type BuildRecord, stepKey } from './record.ts';

export function junitXml(record: BuildRecord): string {
  const { result } = record;
  const steps = result.steps.filter((step) => step.kind !== 'service');
  const count = (predicate: (step: StepResult) => boolean): number => steps.filter(predicate).length;
  const isFailure = (step: StepResult): boolean => step.status === 'failed' && !step.continues;
  const attributes = [
    `name=${quoted(record.setup?.file ?? result.id)}`,
    `tests="${steps.length + (result.error === null ? 0 : 1)}"`,
    `failures="${count(isFailure)}"`,
    `errors="${count((step) => step.status === 'error' || step.status === 'canceled') + (result.error === null ? 0 : 1)}"`,
    `skipped="${count((step) => step.status === 'skipped' || step.status === 'detached')}"`,
    `time="${seconds(result.endedAt - result.startedAt)}"`,
    `timestamp="${new Date(result.startedAt).toISOString()}"`,
  ].join(' ');
  const cases = steps.map((step) => testCase(step, record.logs.get(stepKey(step)) ?? [], isFailure(step)));
  const error = result.error === null ? [] : [errorCase(result.error.code, result.error.message)];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites><testsuite ${attributes}>`,
    ...cases,
    ...error,
    '</testsuite></testsuites>',
    '',
  ].join('\n');
}

function testCase(step: StepResult, log: readonly string[], isFailure: boolean): string {
  const time = step.startedAt === null || step.endedAt === null ? 0 : step.endedAt - step.startedAt;
  const classname = step.kind === 'plugin' ? 'secrets' : step.stage === '' ? 'steps' : step.stage;
  const output =
    log.length === 0 ? '' : `<system-out>${escapeXml(log.map(stripVTControlCharacters).join('\n'))}</system-out>`;
  return `<testcase name=${quoted(step.name)} classname=${quoted(classname)} time="${seconds(time)}">${verdict(step, isFailure)}${output}</testcase>`;
}

function verdict(step: StepResult, isFailure: boolean): string {
  const text = statusText(step);
  if (step.status === 'skipped' || step.status === 'detached') return `<skipped message=${quoted(text)}/>`;
  if (step.status === 'succeeded' || step.outcome === null) {
    return step.status === 'canceled' ? `<error message=${quoted(text)} type="canceled"/>` : '';
  }
  // A failure that the pipeline allows is no failure of the build.
  if (step.status === 'failed' && !isFailure) return `<skipped message=${quoted(text)}/>`;
  const { what, said, remedy } = explainOutcome(step.outcome);
  const type = step.outcome.outcome === 'terminated' ? step.outcome.cause : step.outcome.outcome;
  const details = [said, remedy].filter((part) => part !== null).join('\n');
  const element = isFailure ? 'failure' : 'error';
  return `<${element} message=${quoted(what)} type=${quoted(type)}>${escapeXml(details)}</${element}>`;
}

function errorCase(code: string, message: string): string {
  return `<testcase name="build" classname="podwright" time="0"><error message=${quoted(message)} type=${quoted(code)}/></testcase>`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function quoted(text: string): string {
  return `"${escapeXml(text).replaceAll('\n', '&#10;')}"`;
}

function escapeXml(text: string): string {
  const allowed = [...text].map((char) => (isXmlChar(char.codePointAt(0) ?? 0) ? char : '\ufffd')).join('');
  return allowed.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** XML 1.0, production 2: what stands outside cannot even be written as a reference. */
function isXmlChar(code: number): boolean {
  if (code < 0x20) return code === 0x9 || code === 0xa || code === 0xd;
  return (code <= 0xd7ff || code >= 0xe000) && code !== 0xfffe && code !== 0xffff;
}

/**
 * When a step runs: its ruleset against the facts of the build.
 *
 * Everything but the build's status is known before the build starts, so a step is decided there: it never runs, or it
 * runs while the build is well, after it has failed, or in both cases. A step without a rule on the status runs only
 * while the build is well.
 */
import { matchesGlob } from '../image/glob.ts';
import { evaluate } from './expression.ts';
import { type BuildFacts, eventText } from './facts.ts';
import { type RuleName, type Rules, type Ruleset, ruleNames } from './pipeline.ts';

export type RunsOn = 'success' | 'failure' | 'always';

export type RuleDecision =
  | { readonly runs: RunsOn }
  /** `reason` completes "skipped, because …". */
  | { readonly runs: 'never'; readonly reason: string };

export interface RuleInput {
  readonly facts: BuildFacts;
  /** For `eval`. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Throws `ExpressionError` for an `eval` that gives no boolean. */
export function decide(ruleset: Ruleset, input: RuleInput): RuleDecision {
  const onSuccess = matches(ruleset, input, 'success');
  const hasStatus = ruleset.if.patterns.status !== undefined || ruleset.unless.patterns.status !== undefined;
  if (!hasStatus) return onSuccess.matches ? { runs: 'success' } : { runs: 'never', reason: onSuccess.reason };
  const onFailure = matches(ruleset, input, 'failure');
  if (onSuccess.matches) return { runs: onFailure.matches ? 'always' : 'success' };
  return onFailure.matches ? { runs: 'failure' } : { runs: 'never', reason: onFailure.reason };
}

interface Match {
  readonly matches: boolean;
  readonly reason: string;
}

type Status = 'success' | 'failure';

function matches(ruleset: Ruleset, input: RuleInput, status: Status): Match {
  if (!isEmpty(ruleset.unless)) {
    const unless = matchRules(ruleset.unless, input, status);
    if (unless.matches) return { matches: false, reason: `its "unless" holds: ${unless.reason}` };
  }
  return isEmpty(ruleset.if) ? { matches: true, reason: '' } : matchRules(ruleset.if, input, status);
}

function isEmpty(rules: Rules): boolean {
  return rules.eval === undefined && Object.keys(rules.patterns).length === 0;
}

/** The reason is that of the rule that decided. */
function matchRules(rules: Rules, input: RuleInput, status: Status): Match {
  const isOr = rules.operator === 'or';
  let last: Match = { matches: false, reason: '' };
  for (const rule of each(rules, input, status)) {
    if (rule.matches === isOr) return rule;
    last = rule;
  }
  return isOr && last.reason !== '' ? { matches: false, reason: `none of its rules holds: ${last.reason}` } : last;
}

/** One match after the other: what an `eval` would say is not asked when an earlier rule decides. */
function* each(rules: Rules, input: RuleInput, status: Status): Generator<Match> {
  if (rules.eval !== undefined) {
    const holds = evaluate(rules.eval, input.environment);
    yield { matches: holds, reason: `eval ${rules.eval} is ${holds}` };
  }
  for (const name of ruleNames) {
    const patterns = rules.patterns[name];
    if (patterns === undefined) continue;
    const values = valuesOf(name, input.facts, status);
    const holds = patterns.some((pattern) => values.some((value) => matchesPattern(rules.matcher, pattern, value)));
    const found =
      values.length === 0
        ? 'none'
        : values
            .slice(0, 3)
            .map((value) => `"${value}"`)
            .join(', ');
    yield { matches: holds, reason: `${name} is ${found}${holds ? '' : `, not ${patterns.join(' or ')}`}` };
  }
}

function matchesPattern(matcher: Rules['matcher'], pattern: string, value: string): boolean {
  return matcher === 'regexp' ? new RegExp(pattern).test(value) : matchesGlob(pattern, value);
}

function valuesOf(name: RuleName, facts: BuildFacts, status: Status): readonly string[] {
  switch (name) {
    case 'path':
      return facts.paths;
    case 'label':
      return facts.labels;
    case 'event':
      return [eventText(facts)];
    case 'repo':
      return [`${facts.repo.org}/${facts.repo.name}`];
    case 'status':
      return [status];
    case 'branch':
    case 'comment':
    case 'instance':
    case 'sender':
    case 'tag':
    case 'target':
      return [facts[name]];
  }
}

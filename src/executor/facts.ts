/**
 * What a build knows of itself: the event that started it and the repository it builds, and the variables that tell
 * its containers. A server would hand these out; without one they come from flags and from the local repository.
 */

export const eventNames = ['push', 'pull_request', 'tag', 'deployment', 'comment', 'schedule', 'delete'] as const;
export type EventName = (typeof eventNames)[number];

export interface BuildFacts {
  readonly event: EventName;
  /** Such as `opened`; empty for events without actions. */
  readonly action: string;
  readonly branch: string;
  /** Full reference, such as `refs/heads/main`. */
  readonly ref: string;
  readonly commit: string;
  readonly message: string;
  readonly author: string;
  readonly authorEmail: string;
  readonly sender: string;
  readonly tag: string;
  /** Environment that a deployment or schedule is for. */
  readonly target: string;
  readonly comment: string;
  readonly labels: readonly string[];
  /** Files that the event changed, relative to the repository. */
  readonly paths: readonly string[];
  readonly pullRequest: string;
  readonly number: number;
  /** URL of the server; steps may ask for it in rules. */
  readonly instance: string;
  readonly repo: RepoFacts;
}

export interface RepoFacts {
  /** Host of the repository, such as `github.com`. */
  readonly host: string;
  readonly org: string;
  readonly name: string;
  readonly clone: string;
  readonly link: string;
  /** Default branch. */
  readonly branch: string;
}

/** A push to `main` of a repository that only exists here. */
export const defaultFacts: BuildFacts = {
  event: 'push',
  action: '',
  branch: 'main',
  ref: 'refs/heads/main',
  commit: '',
  message: '',
  author: '',
  authorEmail: '',
  sender: '',
  tag: '',
  target: '',
  comment: '',
  labels: [],
  paths: [],
  pullRequest: '',
  number: 1,
  instance: '',
  repo: { host: 'localhost', org: 'local', name: 'workspace', clone: '', link: '', branch: 'main' },
};

const firstActions: Readonly<Partial<Record<EventName, string>>> = {
  pull_request: 'opened',
  comment: 'created',
  deployment: 'created',
  delete: 'branch',
};

/** `pull_request:edited` is an event with an action; an event that needs one has its most frequent one. */
export function parseEvent(text: string): { readonly event: EventName; readonly action: string } | undefined {
  const [name = '', action, ...rest] = text.split(':');
  const event = eventNames.find((candidate) => candidate === name);
  if (event === undefined || rest.length > 0) return undefined;
  return { event, action: action ?? firstActions[event] ?? '' };
}

/** What rules compare with: `push`, `pull_request:opened`. */
export function eventText(facts: BuildFacts): string {
  return facts.action === '' ? facts.event : `${facts.event}:${facts.action}`;
}

/** The folder in every container that holds the sources, as the format names it. */
export function workspacePath(facts: BuildFacts): string {
  return `/vela/src/${facts.repo.host}/${facts.repo.org}/${facts.repo.name}`;
}

/** Variables of every container. Those without a value are left out. */
export function buildEnvironment(facts: BuildFacts): Readonly<Record<string, string>> {
  const workspace = workspacePath(facts);
  const isPullRequest = facts.pullRequest !== '';
  return withoutEmpty({
    CI: 'true',
    VELA: 'true',
    VELA_ADDR: facts.instance,
    VELA_DISTRIBUTION: 'linux',
    VELA_RUNTIME: 'kubernetes',
    VELA_WORKSPACE: workspace,
    VELA_BUILD_AUTHOR: facts.author,
    VELA_BUILD_AUTHOR_EMAIL: facts.authorEmail,
    VELA_BUILD_BRANCH: facts.branch,
    VELA_BUILD_CLONE: facts.repo.clone,
    VELA_BUILD_COMMIT: facts.commit,
    VELA_BUILD_DISTRIBUTION: 'linux',
    VELA_BUILD_EVENT: facts.event,
    VELA_BUILD_EVENT_ACTION: facts.action,
    VELA_BUILD_MESSAGE: facts.message,
    VELA_BUILD_NUMBER: String(facts.number),
    VELA_BUILD_PULL_REQUEST: isPullRequest ? facts.pullRequest : '',
    VELA_PULL_REQUEST: isPullRequest ? facts.pullRequest : '',
    VELA_BUILD_REF: facts.ref,
    VELA_BUILD_RUNTIME: 'kubernetes',
    VELA_BUILD_SENDER: facts.sender,
    VELA_BUILD_STATUS: 'running',
    VELA_BUILD_TAG: facts.tag,
    VELA_BUILD_TARGET: facts.target,
    VELA_DEPLOYMENT: facts.event === 'deployment' ? facts.target : '',
    VELA_BUILD_WORKSPACE: workspace,
    VELA_REPO_BRANCH: facts.repo.branch,
    VELA_REPO_CLONE: facts.repo.clone,
    VELA_REPO_FULL_NAME: `${facts.repo.org}/${facts.repo.name}`,
    VELA_REPO_LINK: facts.repo.link,
    VELA_REPO_NAME: facts.repo.name,
    VELA_REPO_ORG: facts.repo.org,
    VELA_USER_NAME: facts.sender,
  });
}

/** Variables of one step. */
export function stepEnvironment(step: {
  readonly name: string;
  readonly image: string;
  readonly number: number;
  readonly stage: string;
  readonly reportAs: string;
}): Readonly<Record<string, string>> {
  return withoutEmpty({
    VELA_STEP_NAME: step.name,
    VELA_STEP_IMAGE: step.image,
    VELA_STEP_NUMBER: String(step.number),
    VELA_STEP_STAGE: step.stage,
    VELA_STEP_REPORT_AS: step.reportAs,
    VELA_STEP_STATUS: 'running',
  });
}

function withoutEmpty(variables: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''));
}

/** The facts of a build that a local git repository knows. Where there is none, the folder's name is all there is. */
import { execFile } from 'node:child_process';
import { basename, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type BuildFacts, defaultFacts, type RepoFacts } from '../executor/facts.ts';

const run = promisify(execFile);

/** Facts of a push of what is checked out in `folder`. Never fails: what git does not tell keeps its default. */
export async function gitFacts(folder: string): Promise<BuildFacts> {
  const root = resolve(folder);
  const ask = async (...args: readonly string[]): Promise<string> => {
    try {
      const { stdout } = await run('git', ['-C', root, ...args], { encoding: 'utf8' });
      return stdout.trimEnd();
    } catch {
      // No repository, no commit yet, no remote, or no git at all: all the same here.
      return '';
    }
  };
  const [top, branch, log, remote, head, changed] = await Promise.all([
    ask('rev-parse', '--show-toplevel'),
    ask('symbolic-ref', '--quiet', '--short', 'HEAD'),
    ask('log', '-1', '--format=%H%x00%an%x00%ae%x00%B'),
    ask('remote', 'get-url', 'origin'),
    ask('symbolic-ref', '--quiet', '--short', 'refs/remotes/origin/HEAD'),
    ask('diff-tree', '--no-commit-id', '--name-only', '--root', '-r', '-z', 'HEAD'),
  ]);
  const [commit = '', author = '', authorEmail = '', ...message] = log.split('\0');
  const name = branch === '' ? defaultFacts.branch : branch;
  return {
    ...defaultFacts,
    branch: name,
    ref: `refs/heads/${name}`,
    commit,
    author,
    authorEmail,
    sender: author,
    message: message.join('\0').trimEnd(),
    paths: changed.split('\0').filter((path) => path !== ''),
    repo: {
      ...repoOf(remote, top === '' ? root : top),
      branch: head.replace(/^origin\//, '') || defaultFacts.repo.branch,
    },
  };
}

/** `https://HOST/ORG/NAME.git`, `git@HOST:ORG/NAME.git`, `ssh://…`; anything else has the folder's name. */
export function repoOf(remote: string, folder: string): Omit<RepoFacts, 'branch'> {
  const url = /^(?:\w+:\/\/)?(?:[^@/]+@)?([\w.-]+)(?::\d+)?[:/](.+?)(?:\.git)?\/?$/.exec(remote);
  const [, host = '', path = ''] = url ?? [];
  const parts = path.split('/').filter((part) => part !== '');
  const name = parts.pop();
  if (url === null || name === undefined || parts.length === 0) {
    const { host: localHost, org, clone, link } = defaultFacts.repo;
    return { host: localHost, org, name: safeName(basename(folder)), clone, link };
  }
  const org = parts.join('/');
  return { host, org, name, clone: `https://${host}/${org}/${name}.git`, link: `https://${host}/${org}/${name}` };
}

/** A folder's name becomes a part of a path in containers. */
function safeName(name: string): string {
  return name.replace(/[^\w.-]+/g, '-') || defaultFacts.repo.name;
}

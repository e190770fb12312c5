/** The address of what is shown, so that it can be sent to somebody: `#/build/ID/CONTAINER/TAB?at=SEQ&filter=TEXT`. */

export const tabs = ['machines', 'verdict', 'log', 'events'] as const;
export type Tab = (typeof tabs)[number];

export interface Route {
  readonly build: string | null;
  readonly container: string | null;
  readonly tab: Tab;
  /** The event up to which the state is shown; null follows what comes. */
  readonly at: number | null;
  readonly filter: string;
}

export const home: Route = { build: null, container: null, tab: 'machines', at: null, filter: '' };

export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [kind, build, container, tab] = path.split('/').map(decode);
  const query = new URLSearchParams(search);
  const at = Number(query.get('at') ?? Number.NaN);
  return {
    build: kind === 'build' && build !== undefined && build !== '' ? build : null,
    container: container === undefined || container === '' ? null : container,
    tab: tabs.find((one) => one === tab) ?? 'machines',
    at: Number.isInteger(at) ? at : null,
    filter: query.get('filter') ?? '',
  };
}

export function formatRoute({ build, container, tab, at, filter }: Route): string {
  const path = build === null ? '' : `build/${encodeURIComponent(build)}/${encodeURIComponent(container ?? '')}/${tab}`;
  const query = new URLSearchParams();
  if (at !== null) query.set('at', String(at));
  if (filter !== '') query.set('filter', filter);
  const search = query.toString();
  return `#/${path}${search === '' ? '' : `?${search}`}`;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

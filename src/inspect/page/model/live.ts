/** Follows `/v3/events` of the server that the page came from, for as long as the page is open. */
import type { State } from '../../../events/state.ts';
import type { PodwrightEvent } from '../../../events/types.ts';

export type Connection = 'connecting' | 'live' | 'lost' | 'ended' | 'file';

export interface Follower {
  onSnapshot(epoch: string, state: State): void;
  onEvent(event: PodwrightEvent): void;
  onConnection(connection: Connection): void;
}

/** A server that ended, or refuses, is asked again after this. */
const retryMs = 3000;

/** Returns what ends it. */
export function follow(follower: Follower): () => void {
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastId = '';
  // An ended run is asked again now and then: the server may come back with another one.
  let isEnded = false;
  const tell = (connection: Connection): void => {
    if (!isEnded || connection === 'ended') follower.onConnection(connection);
  };
  const receive = (message: MessageEvent<string>): string => {
    lastId = message.lastEventId;
    if (isEnded) {
      isEnded = false;
      tell('live');
    }
    return message.data;
  };
  const open = (): void => {
    source = new EventSource(lastId === '' ? '/v3/events' : `/v3/events?after=${encodeURIComponent(lastId)}`);
    const again = (): void => {
      source?.close();
      clearTimeout(timer);
      timer = setTimeout(open, retryMs);
    };
    source.addEventListener('open', () => tell('live'));
    source.addEventListener('error', () => {
      tell('lost');
      // The browser tries again by itself, except where the server answered with an error.
      if (source?.readyState === EventSource.CLOSED) again();
    });
    source.addEventListener('snapshot', (message: MessageEvent<string>) => {
      const { epoch, state } = JSON.parse(receive(message)) as { epoch: string; state: State };
      follower.onSnapshot(epoch, state);
    });
    source.addEventListener('event', (message: MessageEvent<string>) => {
      follower.onEvent(JSON.parse(receive(message)) as PodwrightEvent);
    });
    source.addEventListener('ended', () => {
      isEnded = true;
      tell('ended');
      again();
    });
    source.addEventListener('dropped', () => {
      tell('lost');
      again();
    });
  };
  tell('connecting');
  open();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}

export interface Line {
  readonly seq: number;
  readonly time: string;
  readonly text: string;
  readonly gap: string | null;
}

/** Follows the log of one container. Returns what ends it. */
export function followLog(
  build: string,
  container: string,
  onLine: (line: Line) => void,
  onEnd: () => void,
): () => void {
  const path = `/v3/builds/${encodeURIComponent(build)}/containers/${encodeURIComponent(container)}/log`;
  const source = new EventSource(path);
  source.addEventListener('line', (message: MessageEvent<string>) => onLine(JSON.parse(message.data) as Line));
  source.addEventListener('ended', () => {
    source.close();
    onEnd();
  });
  return () => source.close();
}

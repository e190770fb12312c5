/** What the keys do. `keys` is the list that the help shows. */
import { tabs } from '../model/route.ts';
import type { Store } from '../model/store.ts';

export const keys: readonly (readonly [string, string])[] = [
  ['j k ↓ ↑', 'next, previous build or container'],
  ['Enter', 'open the build'],
  ['Esc', 'back to the list'],
  ['1 2 3 4', 'machines, verdict, log, events'],
  ['← →', 'previous, next event'],
  ['Home End', 'first event, the present'],
  ['Space', 'play, pause'],
  ['l', 'follow what comes'],
  ['/', 'filter, or search in the log'],
  ['o', 'open a recording'],
  ['t', 'dark, light'],
  ['?', 'these keys'],
];

interface Actions {
  openFile(): void;
  theme(): void;
}

export function onKey(event: KeyboardEvent, store: Store, actions: Actions): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target instanceof HTMLElement ? event.target : null;
  if (event.key === 'Escape') {
    if (store.isHelpOpen) store.isHelpOpen = false;
    else if (target instanceof HTMLInputElement && target.type === 'search') target.blur();
    else store.go({ build: null, container: null });
    store.draw();
    return;
  }
  if (target instanceof HTMLInputElement && target.type !== 'range') return;
  if (target instanceof HTMLSelectElement) return;
  const action = actionOf(event.key, store, actions, target);
  if (action === undefined) return;
  event.preventDefault();
  action();
}

function actionOf(key: string, store: Store, actions: Actions, target: HTMLElement | null): (() => void) | undefined {
  const onButton = target instanceof HTMLButtonElement;
  switch (key) {
    case 'j':
    case 'ArrowDown':
      return () => move(store, 1);
    case 'k':
    case 'ArrowUp':
      return () => move(store, -1);
    case 'ArrowRight':
      return () => store.step(1);
    case 'ArrowLeft':
      return () => store.step(-1);
    case 'Home':
      return () => store.goToTime(store.span[0]);
    case 'End':
    case 'l':
      return () => {
        store.speed = null;
        store.go({ at: null });
      };
    case ' ':
      return onButton ? undefined : () => store.play(store.speed === null ? 1 : null);
    case '/':
      return () => document.querySelector<HTMLInputElement>('input[type=search]')?.focus();
    case 'o':
      return actions.openFile;
    case 't':
      return actions.theme;
    case '?':
      return () => {
        store.isHelpOpen = !store.isHelpOpen;
        store.draw();
      };
    default: {
      const tab = tabs[Number(key) - 1];
      return tab === undefined || store.route.build === null ? undefined : () => store.go({ tab });
    }
  }
}

function move(store: Store, by: number): void {
  if (store.route.build !== null) {
    const names = store.build?.containers.map(({ name }) => name) ?? [];
    const index = names.indexOf(store.route.container ?? names[0] ?? '');
    const next = names[Math.max(0, Math.min(index + by, names.length - 1))];
    if (next !== undefined) store.go({ container: next });
    return;
  }
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  const index = rows.indexOf(document.activeElement as HTMLElement);
  const row = rows[index === -1 ? 0 : Math.max(0, Math.min(index + by, rows.length - 1))];
  row?.focus();
  row?.scrollIntoView({ block: 'nearest' });
}

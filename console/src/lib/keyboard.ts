// Keys: a single one (`/`), or `g` and then a letter. Pages add theirs while they are shown; the dialog of keys lists them all.
import { useEffect } from 'preact/hooks';
import { createStore } from './store.ts';

export interface Shortcut {
  /** As it is typed: '/', 'j', 'g m'. */
  keys: string;
  does: string;
  run(event: KeyboardEvent): void;
}

const SEQUENCE_WITHIN_MS = 1_200;

export const shortcuts = createStore<readonly Shortcut[]>([]);

/** `list` must be stable: a constant, or memoized. */
export function useShortcuts(list: readonly Shortcut[]): void {
  useEffect(() => {
    shortcuts.set([...shortcuts.get(), ...list]);
    return () => shortcuts.set(shortcuts.get().filter((shortcut) => !list.includes(shortcut)));
  }, [list]);
}

/** Letters mean nothing to a box that is ticked. */
const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('textarea, select, input:not([type="checkbox"], [type="radio"])'));

const isFree = (event: KeyboardEvent) =>
  !event.defaultPrevented && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target);

/** Listens for the whole life of the page. */
export function listenForKeys(): void {
  let first: { key: string; at: number } | null = null;
  document.addEventListener('keydown', (event) => {
    // An open dialog has its own keys.
    if (!isFree(event) || document.querySelector('dialog[open]')) return;
    const pending = first && Date.now() - first.at < SEQUENCE_WITHIN_MS ? `${first.key} ` : '';
    first = null;
    const typed = `${pending}${event.key}`;
    // The one added last belongs to what is shown now.
    const shortcut = [...shortcuts.get()].reverse().find(({ keys }) => keys === typed);
    if (shortcut) {
      event.preventDefault();
      shortcut.run(event);
    } else if (shortcuts.get().some(({ keys }) => keys.startsWith(`${event.key} `))) {
      first = { key: event.key, at: Date.now() };
    }
  });
}

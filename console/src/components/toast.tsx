// Short notes on what was done, which go away by themselves.
import { createStore, useStore } from '../lib/store.ts';
import { Button } from './button.tsx';
import { icons } from './icon.tsx';

interface Note {
  id: number;
  text: string;
  isProblem: boolean;
}

const SHOWN_FOR_MS = 6_000;
const notes = createStore<readonly Note[]>([]);
let last = 0;

const drop = (id: number) => notes.set(notes.get().filter((note) => note.id !== id));

export function toast(text: string, isProblem = false): void {
  last += 1;
  const id = last;
  notes.set([...notes.get().slice(-2), { id, text, isProblem }]);
  setTimeout(() => drop(id), isProblem ? SHOWN_FOR_MS * 2 : SHOWN_FOR_MS);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {useStore(notes).map(({ id, text, isProblem }) => (
        <div key={id} class={`toast ${isProblem ? 'bad' : ''}`}>
          <span>{text}</span>
          <Button look="quiet" icon={icons.close} label="Dismiss" onClick={() => drop(id)} />
        </div>
      ))}
    </div>
  );
}

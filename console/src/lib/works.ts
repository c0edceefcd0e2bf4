// Long work, which goes on while its page is left: it lives here and not in a component. The frame of all pages shows what runs.
import { session } from './session.ts';
import { createStore } from './store.ts';

export interface Work {
  /** Of two with the same name only one runs. */
  name: string;
  title: string;
  /** The page that began it. */
  path: string;
  done: number;
  /** Null: how much there is to do is not known. */
  total: number | null;
  /** What is counted, such as 'seals'. */
  unit: string;
  state: 'running' | 'done' | 'failed' | 'stopped';
  /** How it ended, in a sentence. */
  said: string;
}

export type Report = (done: number, total: number | null) => void;
type Task = (report: Report, signal: AbortSignal) => Promise<string>;

export const works = createStore<readonly Work[]>([]);
const stops = new Map<string, AbortController>();

const change = (name: string, changes: Partial<Work>) =>
  works.set(works.get().map((work) => (work.name === name ? { ...work, ...changes } : work)));

export function startWork(about: Pick<Work, 'name' | 'title' | 'path' | 'unit'>, task: Task): void {
  const { name } = about;
  if (stops.has(name)) return;
  const stop = new AbortController();
  stops.set(name, stop);
  const work: Work = { ...about, done: 0, total: null, state: 'running', said: '' };
  works.set([...works.get().filter((one) => one.name !== name), work]);
  if (stops.size === 1) addEventListener('beforeunload', askToStay);
  task((done, total) => change(name, { done, total }), stop.signal)
    .then((said) =>
      change(name, stop.signal.aborted ? { state: 'stopped', said: 'Stopped.' } : { state: 'done', said }),
    )
    .catch((error: Error) =>
      change(
        name,
        stop.signal.aborted ? { state: 'stopped', said: 'Stopped.' } : { state: 'failed', said: error.message },
      ),
    )
    .finally(() => {
      stops.delete(name);
      if (stops.size === 0) removeEventListener('beforeunload', askToStay);
    });
}

export const stopWork = (name: string): void => stops.get(name)?.abort();

/** Closing the tab would end what runs. */
const askToStay = (event: BeforeUnloadEvent) => event.preventDefault();

// What one person began is not for the next one to see.
session.subscribe(() => {
  for (const stop of stops.values()) stop.abort();
  works.set([]);
});

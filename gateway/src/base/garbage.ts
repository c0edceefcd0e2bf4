import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** V8 may let what was made of so many bytes add up to a multiple. */
const LARGE_BYTES = 4 * 1024 * 1024;
export const isLarge = (bytes: number) => bytes > LARGE_BYTES;

type Collect = (options: { type: 'major'; flavor: 'last-resort' | 'regular' }) => void;

let collect: Collect | undefined;

function collectAs(flavor: 'last-resort' | 'regular'): void {
  setFlagsFromString('--expose-gc');
  collect ??= runInNewContext('gc') as Collect;
  collect({ type: 'major', flavor });
}

/** Collects all garbage of this thread and gives the memory back. It takes some tenths of a second: only for idle times. */
export const collectGarbage = () => collectAs('last-resort');

/** Collects the garbage of this thread, in some hundredths of a second: for what is left of something large, such as a session. */
export const collectQuickly = () => collectAs('regular');

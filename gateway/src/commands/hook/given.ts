// Which memories a session was given already, so that a later prompt does not bring them again. It holds ids, never texts.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const KEPT_FOR_MS = 7 * 24 * 60 * 60_000;
const MOST_IDS = 2_000;

export function givenTo(home: string, editor: string, sessionId: string | null) {
  const folder = join(home, 'hook-sessions');
  const name = createHash('sha256').update(`${editor} ${sessionId}`).digest('hex').slice(0, 32);
  const path = join(folder, `${name}.json`);
  return {
    read(): Set<string> {
      if (sessionId === null) return new Set();
      try {
        const ids: unknown = JSON.parse(readFileSync(path, 'utf8'));
        return new Set(Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []);
      } catch {
        return new Set();
      }
    },
    write(ids: Iterable<string>): void {
      if (sessionId === null) return;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const draft = `${path}.${process.pid}`;
      writeFileSync(draft, JSON.stringify([...ids].slice(-MOST_IDS)), { mode: 0o600 });
      renameSync(draft, path);
    },
    /** Forgets sessions of long ago. */
    tidy(now: number): void {
      try {
        for (const file of readdirSync(folder)) {
          const at = join(folder, file);
          if (now - statSync(at).mtimeMs > KEPT_FOR_MS) rmSync(at, { force: true });
        }
      } catch {
        // There are none yet, or another hook is tidying.
      }
    },
  };
}

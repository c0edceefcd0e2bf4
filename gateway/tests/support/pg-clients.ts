import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** The path of psql or pg_dump of version 18, beside the psql that PSQL names or on this machine; null if there is none. */
export async function findClient(program: 'psql' | 'pg_dump'): Promise<string | null> {
  const psql = process.env.PSQL;
  const places = [psql && join(dirname(psql), program), `/usr/lib/postgresql/18/bin/${program}`, program];
  for (const place of places) {
    if (!place || (place.includes('/') && !existsSync(place))) continue;
    const { stdout } = await promisify(execFile)(place, ['--version']).catch(() => ({ stdout: '' }));
    if (/ 18[.b]/.test(stdout)) return place;
  }
  return null;
}

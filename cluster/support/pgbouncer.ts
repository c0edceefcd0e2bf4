// PgBouncer with the settings of docker/pgbouncer/pgbouncer.ini, in front of a server.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, listening, type Workplace } from './programs.ts';

const template = readFileSync(join(import.meta.dirname, '..', '..', 'docker', 'pgbouncer', 'pgbouncer.ini'), 'utf8');

/** Replaces each text, which has to be there. */
export function replaced(text: string, by: Readonly<Record<string, string>>): string {
  return Object.entries(by).reduce((changed, [old, now]) => {
    if (!changed.includes(old)) throw new Error(`the template has no ${old}`);
    return changed.replaceAll(old, now);
  }, text);
}

/** Starts it for the login l9_gateway, and gives its port. */
export async function startPgBouncer(place: Workplace, server: URL, password: string): Promise<number> {
  const port = await freePort();
  place.write('userlist.txt', `"l9_gateway" "${password}"\n`);
  place.write(
    'pgbouncer.ini',
    replaced(template, {
      'host=127.0.0.1 port=5432': `host=${server.hostname} port=${server.port || 5432}`,
      'listen_addr = 0.0.0.0': 'listen_addr = 127.0.0.1',
      'listen_port = 6432': `listen_port = ${port}`,
      '/etc/pgbouncer/userlist.txt': place.inside('userlist.txt'),
    }),
  );
  await listening(port, place.run('pgbouncer', 'pgbouncer', place.inside('pgbouncer.ini')));
  return port;
}

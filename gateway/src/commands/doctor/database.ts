// What `l9-memory doctor` finds in the database, asked as psql would.
import type { Config } from '../../config/config.ts';
import { withConnection } from '../../database/connection.ts';
import { requireLogins } from '../../database/logins.ts';
import { pendingMigrations } from '../../database/migrations.ts';
import { psqlSocket } from '../../database/psql-socket.ts';
import { type Check, tried, well, wrong } from './check.ts';

const EXTENSIONS = `select current_setting('server_version') as version,
  (select jsonb_object_agg(extname, extversion) from pg_extension) as extensions,
  current_setting('pg_textsearch.allow_rls', true) as allow_rls`;

export const ofDatabase = ({ databaseDirectUrl, home }: Config): Promise<Check[]> =>
  withConnection(databaseDirectUrl ?? psqlSocket(home).url, async (database) => {
    const { rows } = await database.query<{
      version: string;
      extensions: Record<string, string>;
      allow_rls: string | null;
    }>(EXTENSIONS);
    const { version, extensions, allow_rls } = rows[0]!;
    const missing = ['vector', 'pg_textsearch'].filter((name) => !(name in extensions));
    return [
      Number.parseInt(version, 10) >= 18
        ? well('engine', `PostgreSQL ${version}${databaseDirectUrl ? '' : ', embedded'}`)
        : wrong('engine', `PostgreSQL ${version}: use 18 or newer`),
      missing.length === 0
        ? well('extensions', `pgvector ${extensions.vector}, pg_textsearch ${extensions.pg_textsearch}`)
        : wrong('extensions', `${missing.join(', ')}: install what is missing, then \`l9-memory db setup\``),
      ...(allow_rls === 'off'
        ? [wrong('extensions', "pg_textsearch.allow_rls is off, so indexes of words can't be made: set it to on")]
        : []),
    ];
  });

/** A database server while no gateway runs: what a start would refuse. */
export async function ofDatabaseServer(config: Config): Promise<Check[]> {
  await requireLogins(config);
  const found = await ofDatabase(config);
  const pending = await tried('migrations', () =>
    withConnection(config.databaseDirectUrl!, async (database) => {
      await database.query('set role l9_worker');
      return pendingMigrations(database);
    }),
  );
  if (!Array.isArray(pending)) return [...found, pending];
  if (pending.length === 0) return [...found, well('migrations', 'ok')];
  return [
    ...found,
    wrong('migrations', `${pending.join(', ')}: start with DATABASE_OWNER_URL, or run \`l9-memory db setup\``),
  ];
}

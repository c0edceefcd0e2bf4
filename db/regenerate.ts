// Commits all chapters of fixtures/ as one clean first migration. Until 1.0 nobody has data to keep, so a chapter is
// changed in place and the first migration made again; from 1.0 on this file goes and `npm run db:commit` is the way.
// Needs ROOT_DATABASE_URL, a superuser's: it makes and drops two databases of its own.
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { commit } from 'graphile-migrate';
import pg from 'pg';

const rootUrl = process.env.ROOT_DATABASE_URL;
if (!rootUrl) throw new Error('ROOT_DATABASE_URL: the URL of a superuser on a PostgreSQL 18 server');

const migrations = join(import.meta.dirname, 'migrations');
const fixtures = join(import.meta.dirname, 'schema');
const current = join(migrations, 'current', '1-current.sql');
const name = `l9_regenerate_${process.pid}`;

const urlOf = (database: string, user?: string) => {
  const url = new URL(rootUrl);
  url.pathname = `/${database}`;
  if (user) url.username = user;
  return url.href;
};

const root = new pg.Client({ connectionString: rootUrl });
await root.connect();

async function makeDatabase(database: string) {
  await root.query(`create database ${database}`);
  const client = new pg.Client({ connectionString: urlOf(database) });
  await client.connect();
  await client.query(readFileSync(join(import.meta.dirname, 'bootstrap.sql'), 'utf8'));
  await client.end();
}

try {
  await makeDatabase(name);
  const chapters = readdirSync(fixtures, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql'))
    .sort();
  for (const file of readdirSync(join(migrations, 'committed'))) {
    if (file.endsWith('.sql')) rmSync(join(migrations, 'committed', file));
  }
  writeFileSync(current, chapters.map((file) => `--! include ${file}`).join('\n'));
  await commit(
    {
      migrationsFolder: migrations,
      connectionString: urlOf(name, 'l9_owner'),
      shadowConnectionString: urlOf(`${name}_shadow`, 'l9_owner'),
      rootConnectionString: rootUrl,
      databaseOwner: 'l9_owner',
      afterReset: ['!../bootstrap.sql'],
      blankMigrationContent: '-- What is changing now: lines of --! include\n',
    },
    'the first schema',
  );
  // Committed read-only by graphile-migrate; git keeps no such mode.
  for (const file of readdirSync(join(migrations, 'committed'))) chmodSync(join(migrations, 'committed', file), 0o644);
} finally {
  writeFileSync(current, '-- What is changing now: lines of --! include\n');
  // graphile-migrate keeps its connections for a while, and ends the process if they are cut.
  const busy = () => root.query('select 1 from pg_stat_activity where datname = any ($1)', [[name, `${name}_shadow`]]);
  for (let tries = 0; tries < 100 && (await busy()).rowCount !== 0; tries++) await setTimeout(200);
  await root.query(`drop database if exists ${name}`);
  await root.query(`drop database if exists ${name}_shadow`);
  await root.end();
}

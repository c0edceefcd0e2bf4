// A database of the first version, with rows in every table, under the program of today.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { calculateHash } from 'graphile-migrate/dist/hash.js';
import { serializeMigration } from 'graphile-migrate/dist/migration.js';
import { pino } from 'pino';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { committedFiles, firstMigrationHash } from '../../../scripts/generate/migration.ts';
import { loadConfig } from '../../src/config/config.ts';
import { openDatabase } from '../../src/database/index.ts';
import { startTestGateway } from '../support/gateway.ts';
import { ALWAYS_EMPTY, contentsOf, fillEveryTable, MODEL } from './fill.ts';
import { createFirstVersion, type FirstVersion, withSessions } from './first-version.ts';

const silent = pino({ level: 'silent' });

/** Rows that are gone or have other values; a column that a migration added is no loss. */
function lossOf(before: Record<string, string[]>, after: Record<string, string[]>): string[] {
  return Object.entries(before).flatMap(([table, rows]) => {
    if (!after[table]) return [`table ${table}`];
    const columns = Object.keys(JSON.parse(rows[0] ?? '{}'));
    const known = (row: string) => {
      const values = JSON.parse(row);
      return JSON.stringify(columns.map((name) => values[name]));
    };
    const left = new Set(after[table].map(known));
    return rows.filter((row) => !left.has(known(row))).map((row) => `${table}: ${row}`);
  });
}

/** What a crash keeps: calls of the current minute are in an unlogged table. */
const logged = ({ 'administration.call_counts': _, ...contents }: Record<string, string[]>) => contents;

describe('a database of the first version', () => {
  let first: FirstVersion;
  let before: Record<string, string[]>;
  beforeAll(async () => {
    first = await createFirstVersion();
    before = await withSessions(first, async (db) => {
      await fillEveryTable(db);
      return contentsOf(db);
    });
  });
  afterAll(() => first?.drop());
  const open = async () => {
    const database = await openDatabase(loadConfig(first.env), silent);
    await database.close();
  };

  it('has a row in every table', () => {
    const empty = Object.keys(before).filter((table) => before[table]!.length === 0);
    // Later migrations add tables.
    expect(empty).toStrictEqual(ALWAYS_EMPTY.filter((table) => table in before));
  });

  it('is as it was if a program was killed in the middle of a migration', async () => {
    const body = `create table public.half (n integer);
      insert into public.half select generate_series(1, 50000);
      alter table public.packet_store add column half integer;
      delete from public.memory_feedback;
      select pg_sleep(120);`;
    const previous = firstMigrationHash();
    const headers = { Previous: previous, Hash: calculateHash(body, previous) };
    writeFileSync(join(first.migrationsFolder, 'committed', '000002.sql'), serializeMigration(body, headers));
    const args = [join(import.meta.dirname, 'migrate-until-killed.ts'), JSON.stringify(first)];
    const program = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    program.stdout.on('data', (text) => {
      said += text;
    });
    await eventually(() => said.includes("Running migration '000002"));
    // The statements before the sleep take a fraction of this.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    program.kill('SIGKILL');
    await once(program, 'close');
    expect(said).not.toContain('it was not killed');
    const after = await withSessions(first, async (db) => {
      // On a server the session of the killed program is still asleep.
      await db.asSuperuser(
        "select pg_terminate_backend(pid) from pg_stat_activity where query ~ 'public[.]half' and pid <> pg_backend_pid()",
      );
      const isOver = async () =>
        (await db.asSuperuser("select to_regclass('public.half') is null as it")).every(({ it }) => it);
      await eventually(isOver);
      return contentsOf(db);
    });
    expect(logged(after)).toStrictEqual(logged(before));
  });

  it('keeps every row when the program of today opens and migrates it', async () => {
    await open();
    const [after, ran] = await withSessions(first, async (db) => [
      await contentsOf(db),
      await db.asSuperuser('select filename from graphile_migrate.migrations'),
    ]);
    // Migrations alone write this list, and change it.
    const { 'derived.derived_tables': _, ...rows } = logged(before);
    expect(lossOf(rows, after)).toStrictEqual([]);
    expect(ran).toHaveLength(committedFiles().length);
  });

  it('is served: memories are found by words and by meaning, seals verify, and no vector was made again', async () => {
    const gateway = await startTestGateway({
      home: { ...first, drop: async () => {} },
      embedder: {
        model: MODEL.name,
        dimensions: MODEL.dimensions,
        embed: async (texts) => texts.map((text) => JSON.parse(MODEL.vectorOf(text)).slice(0, MODEL.dimensions)),
        chunk: async () => [],
        close: async () => {},
      },
    });
    try {
      expect(gateway.instance.servingModel()).toBe(MODEL.name);
      for (const mode of ['lexical', 'semantic', 'hybrid']) {
        const { hits } = await gateway.call('C', 'search_memory', { query: 'deploy cache', mode, project_id: 'l9' });
        const found = hits.map(({ content }: { content: string }) => content);
        expect(found, mode).toContain('The deploy of Monday broke the cache.');
      }
      const [verified] = await gateway.sql('L', 'select v.* from public.verify_audit() v');
      expect(verified).toMatchObject({ ok: true });
      expect(Number(verified.seals)).toBeGreaterThan(0);
      const after = await gateway.asSuperuser('select to_jsonb(e)::text as row from public.memory_embeddings e');
      const left = new Set(after.map(({ row }) => JSON.parse(row).embedding_id));
      expect(
        before['public.memory_embeddings']!.filter((row) => !left.has(JSON.parse(row).embedding_id)),
      ).toStrictEqual([]);
      await gateway.save('C', 'Saved after the upgrade.');
    } finally {
      await gateway.close();
    }
  });

  it('is refused by an older program once a newer one has migrated it, which is named', async () => {
    await withSessions(first, async (db) => {
      await db.asSuperuser(
        "insert into graphile_migrate.migrations (hash, filename) values ('sha1:later', '000099.sql')",
      );
      await db.asSuperuser("insert into administration.program_versions (version) values ('9.1.0')");
    });
    await expect(open()).rejects.toThrow(
      /\(9\.1\.0; this is .*migration 99, .*newer version: install l9-memory 9\.1\.0 or later/,
    );
  });
});

// The cost of the archive, in a separate database: a session of 100 kB stored and opened, against the same bytes written and read
// plainly by a superuser in the same database; and the newest archives of many, against the newest memories.
import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { newPool } from '../db/tests/support/migrations.ts';
import { claimsOf } from '../db/tests/support/sessions.ts';
import { type Archived, createArchive } from '../gateway/src/archive/archive.ts';
import { openStores, type Query } from '../gateway/src/archive/stores/index.ts';
import { loadConfig } from '../gateway/src/config/config.ts';
import { parseMasterKeys } from '../gateway/src/config/master-keys.ts';
import { inOneTrip, type Settings } from '../gateway/src/database/index.ts';
import { createTestHome } from '../gateway/tests/support/home.ts';
import { type Bench, ratio } from './support/bench.ts';
import { inTurn, quantile, ratioOf, timed, warmUpInTurn } from './support/load.ts';
import { memoryText } from './support/texts.ts';

const BYTES = 100_000;
const EACH = 10;
const LIST = 10;

// Archives of sessions whose bytes nobody reads here, with their memories, as a restored dump has them.
const LOAD = `
  with memories as (
    insert into public.packet_store (packet_type, envelope, metadata, project_id, scope, content_hash, identity_hash, tenant_id, "timestamp", language, words, tags)
    select 'session', jsonb_build_object('content', 'Session ' || n), '{"agent": "cursor", "tool_name": "bench", "creator": "Cursor-IDE", "source": "cursor-ide"}',
      'l9', 'developer', sha256(n::text::bytea), sha256(n::text::bytea), (select min(tenant_id::text)::uuid from public.tenants), now() - n * interval '1 minute',
      'english', to_tsvector('pg_catalog.english', 'Session ' || n), case when n % 1000 = 0 then '{bench}' else '{}' end::text[]
    from generate_series(1, $1::integer) as n
    returning packet_id, tenant_id, project_id, scope, content_hash, tags, "timestamp" as at)
  insert into public.session_archives (archive_id, content_hash, size, title, summary, message_count, messages_given, tags, schema_version, connectors, key_id, redacted,
    fingerprint, packet_id, happened_at, stored_at, tenant_id, project_id, scope, creator, created_at, updated_at)
  select uuidv7(), content_hash, 1000, 'Session', 'Session', 2, 2, tags, 1, '{postgres}', 'bench', 0, content_hash, packet_id, at, at, tenant_id, project_id, scope,
    'Cursor-IDE', at, at
  from memories`;

export const archive: Bench = {
  name: 'archive',
  about:
    'sessions of 100 kB archived and opened, and lists of archives, against the same bytes and memories without an archive',
  async run({ serverUrl, seconds, rows }) {
    const home = await createTestHome(serverUrl);
    const root = newPool({ connectionString: home.superuserUrl!, max: 1 });
    // The connections and the transactions of a gateway.
    const connection = { connectionString: home.env.DATABASE_URL!, options: '-c jit=off', pipeline: true };
    const pool = newPool({ ...connection, max: 1 });
    const notWaiting: Settings = { synchronous_commit: 'off' };
    const as =
      (caller: string, settings: Settings = {}): Query =>
      async <Row extends object>(text: string, values: unknown[], durability?: { mayBeLost: boolean }) => {
        const all = { ...claimsOf(caller), ...settings, ...(durability?.mayBeLost ? notWaiting : {}) };
        return (await inOneTrip(pool, all, 'write', (client) => client.query<Row>(text, values))).rows;
      };
    const logger = pino({ level: 'silent' });
    const keys = parseMasterKeys(`bench:${randomBytes(32).toString('base64')}`);
    const stores = openStores(loadConfig({}).archive, logger);
    const sessions = createArchive({ keys: () => keys, stores, logger, onProblem: () => {} });
    const mine = as('C');
    const reading = as('C', notWaiting);
    const rounds = Math.max(2, Math.round(seconds));
    const median = (
      what: string,
      against: string,
      times: { ours: number[][]; theirs: number[][] },
      q: number,
      atMost: number,
    ) =>
      ratio({
        what,
        against,
        ours: quantile(times.ours.flat(), q),
        theirs: quantile(times.theirs.flat(), q),
        figure: ratioOf(times.ours, times.theirs, q),
        unit: 'ms',
        goal: { atMost },
      });

    try {
      await as('L')("select set_archive_settings('{messages}')", []);
      await root.query('create table public.plain (id integer primary key, bytes bytea not null)');
      let serial = 0;
      const sessionOf = (n: number) => {
        let text = '';
        while (text.length < BYTES) text += `${memoryText(n * 1_000 + text.length, n % 200)} `;
        return {
          session_id: `session-${n}`,
          summary: `Session ${n}`,
          messages: [{ role: 'user', text: text.slice(0, BYTES) }],
        };
      };
      const stored: Archived[] = [];
      const plain: number[] = [];
      const repeat = async (work: () => Promise<number>) => {
        const times: number[] = [];
        for (let n = 0; n < EACH; n++) times.push(await work());
        return times;
      };
      const writes = {
        ours: () =>
          repeat(async () => {
            const session = sessionOf(serial++);
            return timed(async () => {
              const answer = await sessions.storeSession(mine, session, { project_id: 'l9' });
              if (answer.status !== 'inserted') throw new Error(`a session was ${answer.status}`);
              stored.push(answer);
            });
          }),
        theirs: () =>
          repeat(async () => {
            const id = serial++;
            const bytes = Buffer.from(JSON.stringify(sessionOf(id)));
            plain.push(id);
            return timed(() => root.query('insert into public.plain (id, bytes) values ($1, $2)', [id, bytes]));
          }),
      };
      await warmUpInTurn(seconds, writes);
      const written = await inTurn(rounds, writes);
      const reads = {
        ours: (round: number) =>
          repeat(() => {
            const { pointer } = stored[(round * EACH + serial++) % stored.length]!;
            return timed(() => sessions.retrieveSession(reading, pointer!));
          }),
        theirs: (round: number) =>
          repeat(() => {
            const id = plain[(round * EACH + serial++) % plain.length];
            return timed(() => root.query('select bytes from public.plain where id = $1', [id]));
          }),
      };
      await warmUpInTurn(seconds, reads);
      const read = await inTurn(rounds, reads);

      await root.query('set session_replication_role = replica');
      await root.query(LOAD, [rows]);
      await root.query('reset session_replication_role');
      await root.query('vacuum analyze public.packet_store, public.session_archives');
      const list = (query: string) => async () => {
        const times: number[] = [];
        for (let n = 0; n < LIST; n++) times.push(await timed(() => reading(query, [])));
        return times;
      };
      const lists = async (ours: string, theirs: string) => {
        const sides = { ours: list(ours), theirs: list(theirs) };
        await warmUpInTurn(seconds, sides);
        return inTurn(rounds, sides);
      };
      const newest = await lists(
        'select pointer, title from query_cascade_memories()',
        "select hits from search_memory(kinds => '{session}', k => 20)",
      );
      const tagged = await lists(
        "select pointer, title from query_cascade_memories(tags => '{bench}')",
        "select hits from search_memory(kinds => '{session}', tags => '{bench}', k => 20)",
      );
      const found = await lists(
        "select pointer, title from query_cascade_memories(query => 'session 7')",
        "select hits from search_memory(query => 'session 7', mode => 'lexical', kinds => '{session}', k => 20)",
      );
      const many = `of ${rows.toLocaleString('en')} archives`;
      const bytes = 'the same bytes, plainly in the same database';
      return [
        median('archive: a session of 100 kB is stored, p50', bytes, written, 0.5, 3),
        median('archive: a session of 100 kB is opened, p50', bytes, read, 0.5, 3),
        median(`archive: the newest 20 ${many}, p95`, 'the newest 20 memories of kind session', newest, 0.95, 1.5),
        median(`archive: the newest 20 with a tag ${many}, p95`, 'the same list of memories', tagged, 0.95, 1.5),
        median(`archive: a search by words ${many}, p95`, 'the same search of memories', found, 0.95, 1.5),
      ];
    } finally {
      await Promise.all([root.end(), pool.end()]);
      await home.drop();
    }
  },
};

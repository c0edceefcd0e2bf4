// Loads the memories as a superuser without triggers, and creates the indexes afterwards, as when a dump is restored.
// The data depend only on the number of rows, so that two machines measure the same.
import type pg from 'pg';
import { type Progress, startProgress } from '../../gateway/src/commands/support/progress.ts';
import { STORED_DIMENSIONS } from '../../gateway/src/embeddings/embedder.ts';
import { below, randomFrom } from './random.ts';
import { scopeOf, type Tenant, tenantsFor } from './tenants.ts';
import { commonQuery, memoryText, queryText, SUBTOPICS, TOPICS } from './texts.ts';

export const MODEL = 'bench-384';
export const DIMENSIONS = 384;
export const QUERIES = 400;
/** Changing this version discards databases that were kept. */
export const DATA_VERSION = 3;

const BATCH = 5_000;
const PROJECTS = 20;
const THREAD = 20;
const KINDS = ['note', 'note', 'note', 'decision', 'section', 'runbook', 'issue', 'change'];
const FROM = Date.UTC(2025, 0, 1);
const TO = Date.UTC(2026, 0, 1);

interface Memory {
  id: string;
  tenant: string;
  kind: string;
  scope: string;
  project: string | null;
  thread: string | null;
  content: string;
  at: string;
  subtopic: number;
}

/** Batches are numbered, so that a batch is the same on every connection. */
function* inBatches(all: Iterable<Memory>): Generator<[number: number, batch: Memory[]]> {
  let number = 0;
  let batch: Memory[] = [];
  for (const memory of all) {
    batch.push(memory);
    if (batch.length < BATCH) continue;
    yield [number++, batch];
    batch = [];
  }
  if (batch.length > 0) yield [number, batch];
}

/** The tenant of each memory, in mixed order. */
function shuffledOwners(tenants: readonly Tenant[], rows: number): Uint8Array {
  const owners = new Uint8Array(rows);
  let next = 0;
  for (const [index, { total }] of tenants.entries()) {
    owners.fill(index, next, next + total);
    next += total;
  }
  const random = randomFrom(7);
  for (let n = rows - 1; n > 0; n--) {
    const other = below(random, n + 1);
    const mine = owners[n]!;
    owners[n] = owners[other]!;
    owners[other] = mine;
  }
  return owners;
}

function* memories(rows: number): Generator<Memory> {
  const tenants = tenantsFor(rows);
  const owners = shuffledOwners(tenants, rows);
  const places = new Uint32Array(tenants.length);
  const random = randomFrom(11);
  const hex = (digits: number) =>
    below(random, 16 ** digits)
      .toString(16)
      .padStart(digits, '0');
  for (let n = 0; n < rows; n++) {
    const owner = owners[n]!;
    const place = places[owner]!++;
    const scope = scopeOf(place);
    const at = FROM + Math.floor(((TO - FROM) * n) / rows);
    const time = at.toString(16).padStart(12, '0');
    const subtopic = below(random, TOPICS * SUBTOPICS);
    const order = (n % 4096).toString(16).padStart(3, '0');
    yield {
      id: `${time.slice(0, 8)}-${time.slice(8)}-7${order}-8${hex(3)}-${hex(6)}${hex(6)}`,
      tenant: tenants[owner]!.id,
      kind: KINDS[below(random, KINDS.length)]!,
      scope,
      project: scope === 'global' ? null : `project-${below(random, PROJECTS)}`,
      // One in five belongs to a conversation.
      thread: Math.floor(place / THREAD) % 5 === 0 ? `thread-${Math.floor(place / THREAD)}` : null,
      content: memoryText(n + 1, Math.floor(subtopic / SUBTOPICS)),
      at: new Date(at).toISOString(),
      subtopic,
    };
  }
}

const ZEROS = `array_fill(0::real, array[${STORED_DIMENSIONS - DIMENSIONS}])::vector`;
const noise = (outer: string) =>
  `(select array_agg(random_normal(0, 0.0255)) from generate_series(1, ${DIMENSIONS}) where ${outer} is not null)::real[]::vector`;

async function makeTopics(client: pg.ClientBase) {
  await client.query(`
    drop schema if exists bench cascade;
    create schema bench;
    set search_path = pg_catalog, extensions;
    select setseed(0.5);
    create table bench.topics as
      select t.topic, (select array_agg(random_normal(0, 0.051)) from generate_series(1, ${DIMENSIONS}) where t.topic is not null)::real[]::vector as center
      from generate_series(0, ${TOPICS - 1}) as t (topic);
    create table bench.subtopics as
      select s.n as subtopic, t.center
        + (select array_agg(random_normal(0, 0.0306)) from generate_series(1, ${DIMENSIONS}) where s.n is not null)::real[]::vector as center
      from generate_series(0, ${TOPICS * SUBTOPICS - 1}) as s (n) join bench.topics t on t.topic = s.n / ${SUBTOPICS};
    alter table bench.subtopics add primary key (subtopic);
    create table bench.queries (kind text, n integer, query text, vector vector(${STORED_DIMENSIONS}), primary key (kind, n));`);
  const random = randomFrom(13);
  const queries = Array.from({ length: QUERIES }, (_, n) => {
    const subtopic = below(random, TOPICS * SUBTOPICS);
    return { n, subtopic, usual: queryText(n + 1, Math.floor(subtopic / SUBTOPICS)), common: commonQuery(n + 1) };
  });
  await client.query(
    `with vectors as materialized (
       select q.n, q.usual, q.common, l2_normalize(s.center + ${noise('q.n')}) || ${ZEROS} as vector
       from jsonb_to_recordset($1) as q (n int, subtopic int, usual text, common text)
       join bench.subtopics s using (subtopic)
     )
     insert into bench.queries
     select 'usual', n, usual, vector from vectors union all select 'common', n, common, vector from vectors`,
    [JSON.stringify(queries)],
  );
}

interface SavedIndex {
  name: string;
  definition: string;
  /** Statistics targets of indexed expressions, which must be restored with the index. */
  targets: { column: number; target: number }[];
}

/** Drops indexes that are faster to create at the end, and returns their definitions. */
export async function dropIndexes(client: pg.ClientBase, tables: readonly string[]): Promise<SavedIndex[]> {
  const { rows } = await client.query<SavedIndex>(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition,
      (select coalesce(jsonb_agg(jsonb_build_object('column', a.attnum, 'target', a.attstattarget)), '[]')
       from pg_attribute a where a.attrelid = i.indexrelid and a.attstattarget >= 0) as targets
    from pg_index i
    where i.indrelid = any ($1::regclass[])
      and not exists (select from pg_constraint c where c.conindid = i.indexrelid)`,
    [tables],
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  return rows;
}

export const isNoGraph = ({ definition }: Pick<SavedIndex, 'definition'>) => !definition.includes(' USING hnsw ');

/** Creates the indexes on all connections in parallel. */
export async function makeIndexes(
  clients: readonly pg.ClientBase[],
  indexes: readonly SavedIndex[],
  report: (line: string) => void,
) {
  const waiting = [...indexes];
  await Promise.all(
    clients.map(async (client) => {
      // Building the HNSW graph takes several times as long if it does not fit in memory.
      await client.query(`set maintenance_work_mem = '4GB'`);
      for (let index = waiting.shift(); index; index = waiting.shift()) {
        const started = performance.now();
        await client.query(index.definition);
        for (const { column, target } of index.targets) {
          await client.query(`alter index ${index.name} alter column ${column} set statistics ${target}`);
        }
        report(`  index ${index.name}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
      }
    }),
  );
}

const unzip = <Key extends keyof Memory>(batch: readonly Memory[], key: Key) => batch.map((memory) => memory[key]);

async function insertBatch(client: pg.ClientBase, batch: readonly Memory[], number: number) {
  await client.query(
    `insert into public.packet_store (packet_id, packet_type, envelope, "timestamp", metadata, thread_id, project_id, scope,
       importance_score, content_hash, identity_hash, tenant_id, created_at, updated_at, language, words)
     select m.id, m.kind, jsonb_build_object('content', m.content), m.at,
       case m.scope when 'l-private' then '{"agent": "l-cto", "tool_name": "saveMemory", "creator": "L-CTO", "source": "l9-kernel"}'::jsonb
         else '{"agent": "cursor", "tool_name": "saveMemory", "creator": "Cursor-IDE", "source": "cursor-ide"}' end,
       m.thread, m.project, m.scope, (m.subtopic % 10)::real / 10, h.hash, h.hash, m.tenant, m.at, m.at,
       'english', words.of_memory(m.content, 'english', m.at, m.kind)
     from unnest($1::uuid[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::uuid[], $9::int[])
       as m (id, kind, content, at, thread, project, scope, tenant, subtopic)
     cross join lateral (select packets.content_hash(m.content) as hash) h`,
    [
      unzip(batch, 'id'),
      unzip(batch, 'kind'),
      unzip(batch, 'content'),
      unzip(batch, 'at'),
      unzip(batch, 'thread'),
      unzip(batch, 'project'),
      unzip(batch, 'scope'),
      unzip(batch, 'tenant'),
      unzip(batch, 'subtopic'),
    ],
  );
  await client.query('select setseed($1)', [(number % 1999) / 2000]);
  await client.query(
    `insert into public.memory_embeddings (packet_id, model, vector, tenant_id, project_id, scope, created_at)
     select m.id, $1, l2_normalize(s.center + ${noise('m.id')}) || ${ZEROS}, m.tenant, m.project, m.scope, m.at
     from unnest($2::uuid[], $3::int[], $4::uuid[], $5::text[], $6::text[], $7::timestamptz[])
       with ordinality as m (id, subtopic, tenant, project, scope, at, place)
     join bench.subtopics s using (subtopic)
     order by m.place`,
    [
      MODEL,
      unzip(batch, 'id'),
      unzip(batch, 'subtopic'),
      unzip(batch, 'tenant'),
      unzip(batch, 'project'),
      unzip(batch, 'scope'),
      unzip(batch, 'at'),
    ],
  );
}

/** Texts together with their predecessors in the thread, as in the embedding job. */
const addContexts = (client: pg.ClientBase) =>
  client.query(
    `with pairs as (
       select p.packet_id, p.tenant_id, p.project_id, p.scope, p."timestamp", p.envelope ->> 'content' as content, e.vector,
         lag(p.packet_id) over thread as predecessor_id, lag(p.envelope ->> 'content') over thread as before,
         lag(e.vector) over thread as vector_before
       from public.packet_store p join public.memory_embeddings e using (packet_id)
       where p.thread_id is not null
       window thread as (partition by p.tenant_id, p.thread_id, p.scope, p.project_id order by p.packet_id)
     ), contexts as (
       insert into public.memory_contexts (packet_id, predecessor_id, context, tenant_id, project_id, scope, created_at)
       select packet_id, predecessor_id, embeddings.context_text(before, content), tenant_id, project_id, scope, "timestamp"
       from pairs where predecessor_id is not null
       returning context_id, packet_id
     )
     insert into public.memory_embeddings
       (packet_id, embedding_type, model, vector, context_id, tenant_id, project_id, scope, created_at)
     select packet_id, 'context', $1, l2_normalize(vector + vector_before), context_id, tenant_id, project_id, scope, "timestamp"
     from pairs join contexts using (packet_id)`,
    [MODEL],
  );

/** Fills a new database on all connections in parallel. `hasGraphs`: whether the vectors get their HNSW indexes. */
export async function loadData(
  clients: readonly pg.ClientBase[],
  rows: number,
  report: (line: string) => void,
  hasGraphs = true,
): Promise<void> {
  report(`loading ${rows.toLocaleString('en')} memories`);
  const client = clients[0]!;
  const onEach = (query: string) => Promise.all(clients.map((each) => each.query(query)));
  await onEach(`set search_path = pg_catalog, extensions; set synchronous_commit = off`);
  await makeTopics(client);
  for (const { id, name } of tenantsFor(rows)) {
    const { rowCount } = await client.query(
      'insert into public.tenants (tenant_id, name) values ($1, $2) on conflict do nothing',
      [id, `bench-${name.replaceAll(/[ ,]/g, '-')}`],
    );
    if (rowCount) await client.query('select identity.seed_tenant($1)', [id]);
  }
  await client.query('select embeddings.adopt_embedding_model($1, $2)', [MODEL, DIMENSIONS]);

  const indexes = await dropIndexes(client, [
    'public.packet_store',
    'public.memory_embeddings',
    'public.memory_contexts',
  ]);
  await onEach('set session_replication_role = replica');
  const progress: Progress = startProgress('  memories', rows);
  const batches = inBatches(memories(rows));
  let done = 0;
  await Promise.all(
    clients.map(async (each) => {
      for (const [number, batch] of batches) {
        await insertBatch(each, batch, number);
        done += batch.length;
        progress.update(done);
      }
    }),
  );
  progress.stop();
  await addContexts(client);
  await onEach('reset session_replication_role');
  await makeIndexes(clients, hasGraphs ? indexes : indexes.filter(isNoGraph), report);
  await client.query('vacuum (analyze) public.packet_store, public.memory_embeddings, public.memory_contexts');
  report('  the words of each audience');
  await client.query('select ranking.count_stale_audiences(1000)');
  await onEach('reset all');
}

// 50,000 memories whose vectors are distributed like real ones: texts of this project are embedded by the real model, and the
// vector of each memory is a mixture of four of them, in parts of 45, 30, 15 and 10 %. A hash of its number selects the four.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { DEFAULT_TENANT } from '../../src/auth/identity.ts';
import {
  createEmbedder,
  embeddingConfig,
  LOCAL_DIMENSIONS,
  LOCAL_MODEL,
  toVectorLiteral,
} from '../../src/embeddings/index.ts';
import type { TestGateway } from '../support/gateway.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const ROWS = 50_000;
const BASES = 320;
const QUERIES = 12;

/** Sentences from this project: comments of the schema, and documentation. */
function realTexts(): string[] {
  const files = globSync(['README.md', 'docs/**/*.md', 'db/schema/**/*.sql'], { cwd: root }).sort();
  const texts = files.flatMap((file) => {
    const content = readFileSync(join(root, file), 'utf8');
    if (file.endsWith('.md')) return content.split(/\n\s*\n/);
    return [
      ...content.matchAll(/^comment on [^']*'((?:[^']|'')+)';/gm),
      ...content.matchAll(/^ {2}\w+: ((?:[^'\n]|'')+)$/gm),
    ].map(([, comment]) => comment!.replaceAll("''", "'"));
  });
  const distinct = [
    ...new Set(texts.map((text) => text.replace(/\s+/g, ' ').trim()).filter((text) => text.length > 60)),
  ];
  // Spread over all pages.
  const step = distinct.length / (BASES + QUERIES);
  return Array.from({ length: BASES + QUERIES }, (_, at) => distinct[Math.floor(at * step)]!.slice(0, 400));
}

export interface Query {
  text: string;
  vector: string;
  /** Project → the distance of the tenth nearest of its memories, by comparing with every one. */
  tenth: Record<string, number>;
}

/** Project → how many of every 2,000 memories are in it. */
export const SHARES = { p60: 1200, p15: 300, p2: 40, p005: 1 };

/** Fills the gateway, and hands out queries: real texts that no memory was made of. */
export async function fillDatabase(gateway: TestGateway): Promise<Query[]> {
  const texts = realTexts();
  const embedder = await createEmbedder(embeddingConfig(gateway.config.embedding), pino({ level: 'silent' }));
  const vectors: number[][] = [];
  for (let at = 0; at < texts.length; at += 50) vectors.push(...(await embedder.embed(texts.slice(at, at + 50))));
  await embedder.close();

  const isQuery = (at: number) => at % Math.floor(texts.length / QUERIES) === 0;
  const queries = texts.flatMap((text, at) => (isQuery(at) ? [{ text, own: vectors[at]! }] : []));
  const bases = texts.flatMap((text, at) => (isQuery(at) ? [] : [{ text, vector: JSON.stringify(vectors[at]) }]));

  return gateway.inSuperuserSession(async (session) => {
    // No triggers: what they do is tested elsewhere, and 50,000 audit rows are not needed here.
    await session.query(`set session_replication_role = replica; set synchronous_commit = off; set maintenance_work_mem = '384MB';
      set search_path = public, extensions;
      drop index packet_store_words_bm25_15;
      create temp table base (n serial, content text, vector vector(384))`);
    await session.query('insert into base (content, vector) select * from unnest($1::text[], $2::text[]::vector[])', [
      bases.map(({ text }) => text),
      bases.map(({ vector }) => vector),
    ]);
    let tenths: Record<string, number>[] = [];
    const part = (weight: number) => `array_fill(${weight}::real, array[384])::vector`;
    const pickOf = (n: string) => `1 + abs(hashint4(${n})::bigint) % ${bases.length}`;
    await session.query(`
      create temp table mixture as
      select i, gen.packet_id, one.content || ' ' || left(other.content, 80) || ' ' || i as content,
        l2_normalize(one.vector * ${part(0.45)} + other.vector * ${part(0.3)} + third.vector * ${part(0.15)}
          + fourth.vector * ${part(0.1)}) as vector,
        case
          when i % 2000 < ${SHARES.p60} then 'p60'
          when i % 2000 < ${SHARES.p60 + SHARES.p15} then 'p15'
          when i % 2000 < ${SHARES.p60 + SHARES.p15 + SHARES.p2} then 'p2'
          when i % 2000 < ${SHARES.p60 + SHARES.p15 + SHARES.p2 + SHARES.p005} then 'p005'
          else 'rest' end as project_id
      from generate_series(1, ${ROWS}) i
      cross join lateral (select uuidv7(make_interval(secs => i - ${ROWS}) / 100) as packet_id) gen
      join base one on one.n = ${pickOf('i')}
      join base other on other.n = ${pickOf('i + 1000000')}
      join base third on third.n = ${pickOf('i + 2000000')}
      join base fourth on fourth.n = ${pickOf('i + 3000000')}`);
    await session.query('create index on mixture (project_id)');
    await session.query(`
      insert into packet_store (packet_id, envelope, tenant_id, project_id, metadata, content_hash, identity_hash, "timestamp", created_at, updated_at, thread_id, language, words)
      select packet_id, jsonb_build_object('content', content), '${DEFAULT_TENANT}', project_id,
        '{"creator": "Cursor-IDE", "source": "cursor-ide"}', hash, hash,
        '2026-01-01'::timestamptz, '2026-01-01'::timestamptz, '2026-01-01'::timestamptz, 't' || i / 10, 'english',
        words.of_memory(content, 'english', '2026-01-01', 'note')
      from mixture cross join lateral (select sha256(convert_to(content, 'UTF8')) as hash) h`);
    // One by one they would take an hour to enter the index of the model.
    const { rows: indexes } = await session.query(
      "select indexname from pg_indexes where indexname like 'hnsw_content_%'",
    );
    for (const { indexname } of indexes) await session.query(`drop index public.${indexname}`);
    await session.query(`
      insert into memory_embeddings (packet_id, model, vector, tenant_id, project_id, scope)
      select packet_id, '${LOCAL_MODEL}', vector || array_fill(0::real, array[${1536 - LOCAL_DIMENSIONS}])::vector,
        '${DEFAULT_TENANT}', project_id, 'developer'
      from mixture`);
    await session.query(
      `create index packet_store_words_bm25_15 on packet_store using bm25 (words.index_text(words))
       with (text_config = 'simple', k1 = 1.2, b = 0) where (uuid_hash(tenant_id) & 15) = 15`,
    );
    await session.query(`select register_embedding_model('${LOCAL_MODEL}', ${LOCAL_DIMENSIONS})`);
    const { rows: nearest } = await session.query(
      `select q.place, p.project_id, (
         select max(d) from (
           select m.vector <=> q.vector as d from mixture m where m.project_id = p.project_id order by d limit 10) n) as distance
       from unnest($1::text[]::vector(384)[]) with ordinality as q (vector, place), unnest($2::text[]) as p (project_id)`,
      [queries.map(({ own }) => JSON.stringify(own)), Object.keys(SHARES)],
    );
    tenths = queries.map((_, at) =>
      Object.fromEntries(
        nearest
          .filter(({ place }) => Number(place) === at + 1)
          .map(({ project_id, distance }) => [project_id, distance]),
      ),
    );
    await session.query('select ranking.count_stale_audiences(100)');
    await session.query('vacuum (analyze) packet_store');
    await session.query('vacuum (analyze) memory_embeddings');
    return queries.map(({ text, own }, at) => ({ text, vector: toVectorLiteral(own), tenth: tenths[at]! }));
  });
}

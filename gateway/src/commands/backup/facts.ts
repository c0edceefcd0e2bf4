// What is written down about a database when it is backed up, and compared when it is restored. The session may read every row.
import { BackupProblem, type Manifest } from './file.ts';

export type Query = <Row extends object>(query: string, values?: unknown[]) => Promise<{ rows: Row[] }>;

export type Facts = Pick<Manifest, 'postgres' | 'migrations' | 'counts' | 'audit_head' | 'archive_keys' | 'roles'>;

const TABLES = `select format('%I.%I', n.nspname, c.relname) as name
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and c.relpersistence = 'p' and n.nspname !~ '^(pg_|information_schema$)'
    and not exists (select from pg_catalog.pg_depend d where d.objid = c.oid and d.deptype = 'e')
  order by 1`;

/** The number of rows of each table. Their views are made from them. */
export async function countRows(query: Query): Promise<Record<string, number>> {
  const { rows: tables } = await query<{ name: string }>(TABLES);
  if (tables.length === 0) return {};
  const counts = tables.map(({ name }, place) => `select ${place} as place, count(*)::text as rows from ${name}`);
  const { rows } = await query<{ place: number; rows: string }>(counts.join(' union all '));
  return Object.fromEntries(rows.map(({ place, rows }) => [tables[place]!.name, Number(rows)]));
}

// Owners that every server has are in no list of dependencies.
const ROLES = `select distinct pg_catalog.pg_get_userbyid(found.role)::text as role from (
    select d.refobjid as role from pg_catalog.pg_shdepend d join pg_catalog.pg_database b on b.oid = d.dbid
    where b.datname = pg_catalog.current_database() and d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass
    union select n.nspowner from pg_catalog.pg_namespace n where n.nspname !~ '^(pg_|information_schema$)'
    union select e.evtowner from pg_catalog.pg_event_trigger e) as found
  order by 1`;

export async function factsOf(query: Query): Promise<Facts> {
  const one = async <Row extends object>(text: string) => (await query<Row>(text)).rows;
  const [version] = await one<{ version: string }>("select current_setting('server_version') as version");
  const run = await one<{ number: number; hash: string }>(
    "select substring(filename from '^\\d+')::integer as number, hash from graphile_migrate.migrations order by 1",
  );
  const [seal] = await one<{ head: string | null }>(
    `select encode(s.seal_hash, 'hex') as head from public.audit_seals s order by s.seal_id desc limit 1`,
  );
  const keys = await one<{ key_id: string }>(
    "select distinct a.key_id from public.session_archives a where a.key_id <> '' order by 1",
  );
  const roles = await one<{ role: string }>(ROLES);
  return {
    postgres: version!.version,
    migrations: Object.fromEntries(run.map(({ number, hash }) => [number, hash])),
    counts: await countRows(query),
    audit_head: seal?.head ?? null,
    archive_keys: keys.map(({ key_id }) => key_id),
    roles: roles.map(({ role }) => role),
  };
}

export const totalOf = (counts: Record<string, number>) => Object.values(counts).reduce((sum, rows) => sum + rows, 0);

/** Throws unless each table has as many rows as were counted when the backup was made. Returns what was found. */
export async function checkCounts(query: Query, { counts }: Pick<Manifest, 'counts'>): Promise<string> {
  const found = await countRows(query);
  const names = [...new Set([...Object.keys(counts), ...Object.keys(found)])].sort();
  const wrong = names.find((name) => counts[name] !== found[name]);
  if (wrong !== undefined) {
    const said = (rows: number | undefined) => (rows === undefined ? 'no such table' : `${rows} rows`);
    throw new BackupProblem(
      `${wrong}: the backup was made of ${said(counts[wrong])}, and ${said(found[wrong])} came back`,
    );
  }
  return `${totalOf(found)} rows in ${names.length} tables, as many as were backed up`;
}

/** Throws unless the audit log is what its seals say, up to the one that was the newest when the backup was made. */
export async function checkSeals(query: Query, { audit_head }: Pick<Manifest, 'audit_head'>): Promise<string> {
  const { rows } = await query<{
    ok: boolean;
    seals: string;
    rows: string;
    unsealed: string | null;
    reason: string | null;
  }>('select v.ok, v.seals::text, v.rows::text, v.unsealed::text, v.reason from public.verify_audit(head => $1) v', [
    audit_head,
  ]);
  const { ok, seals, rows: sealed, unsealed, reason } = rows[0]!;
  if (!ok) throw new BackupProblem(`the audit log of the backup is not what its seals say: ${reason}`);
  return `${seals} seals of ${sealed} audit rows are right, ${unsealed ?? 0} rows are not sealed yet`;
}

// Texts of common words only are found by no word, so several are looked for.
const TRIALS = `select p.tenant_id, a.caller, p.packet_id, left(p.content, 200) as words, e.model
  from public.packet_store p
  join lateral (select a.caller from public.actors a
    where a.tenant_id = p.tenant_id and a.role = 'l9_admin' and a.is_active order by a.caller = 'L' desc, a.caller limit 1) a on true
  left join lateral (select e.model from public.memory_embeddings e
    where e.packet_id = p.packet_id and e.model = embeddings.serving_model() and e.embedding_type = 'content' limit 1) e on true
  where p.review_state is null and p.ttl is null
  order by e.model is null, p.packet_id desc limit 5`;

interface Trial {
  tenant_id: string;
  caller: string;
  packet_id: string;
  words: string;
  model: string | null;
}

/** Looks for some of the newest memories as an administrator of their tenant, by words and by meaning. Throws if none is found. */
export async function checkSearch(query: Query): Promise<string> {
  const { rows: trials } = await query<Trial>(TRIALS);
  if (trials.length === 0) return 'there is no memory to look for';
  const count = async (by: string, some: Trial[], search: string, values: (trial: Trial) => unknown[]) => {
    const hits = await found(query, some, search, values).catch((error: Error) => {
      throw new BackupProblem(`a search by ${by} fails in the restored database: ${error.message}`);
    });
    if (some.length > 0 && hits === 0)
      throw new BackupProblem(`a search by ${by} finds none of the newest memories of the backup`);
    return hits;
  };
  const byWords = await count('words', trials, "query => $2, mode => 'lexical'", ({ words }) => [words]);
  const withVector = trials.filter(({ model }) => model !== null);
  const byMeaning = await count('meaning', withVector, BY_MEANING, ({ model, words }) => [model, words]);
  const vectors = withVector.length === 0 ? '' : `, and ${byMeaning} of ${withVector.length} by meaning`;
  return `a search finds ${byWords} of the ${trials.length} newest memories by words${vectors}`;
}

const BY_MEANING = `query => $3, model => $2, mode => 'semantic', query_vector => (
  select e.vector from public.memory_embeddings e
  where e.packet_id = $1 and e.model = $2 and e.embedding_type = 'content' limit 1)`;

/** In a transaction that is rolled back, so that nothing is recorded of it. */
async function found(
  query: Query,
  trials: Trial[],
  search: string,
  values: (trial: Trial) => unknown[],
): Promise<number> {
  let count = 0;
  for (const trial of trials) {
    await query('begin');
    try {
      await query('set local role l9_admin');
      await query('select public.act_as($1, $2)', [trial.caller, trial.tenant_id]);
      const { rows } = await query<{ found: boolean }>(
        `select exists (select from public.search_memory(k => 100, min_relevance => 0, ${search}) s, unnest(s.hits) h
           where h.packet_id = $1) as found`,
        [trial.packet_id, ...values(trial)],
      );
      if (rows[0]!.found) count += 1;
    } finally {
      await query('rollback');
    }
  }
  return count;
}

// What a session can do in SQL: with the functions, and past them with the table.
import type { TestGateway } from '../../support/gateway.ts';
import { type Answer, type Fields, type Json, type Seen, type SessionApi, statement } from './session-apis.ts';
import { EVERYWHERE } from './vocabulary.ts';
import type { Session } from './world.ts';

const columns = (row: string) =>
  `${row}.packet_id as id, ${row}.envelope ->> 'content' as content, ${row}.scope, ${row}.project_id as project, ${row}.branch,
   ${row}.packet_type as kind, ${row}.metadata ->> 'creator' as creator`;
const fromRow = ({ id, content, scope, project, branch, kind, creator }: Json): Seen => ({
  id,
  content,
  scope,
  project,
  branch,
  kind,
  creator,
});
const read = <Done>(answer: Answer<{ rows: Json[] }>, done: (rows: Json[]) => Done): Answer<Done> =>
  answer.code === null ? { code: null, ...done(answer.rows) } : answer;
const saved = ([row]: Json[]) => ({ status: row.status as string, memory: fromRow(row), ttl: row.ttl as Date | null });

const SOON = "clock_timestamp() + interval '25 milliseconds'";
/** An expression for each field, and the values of its parameters. */
function bind(fields: Fields, from: number) {
  const values: unknown[] = [];
  const bound = Object.entries(fields).map(([name, value]) => {
    if (value === 'soon') return { name, value: SOON };
    values.push(name === 'envelope' || name === 'metadata' ? JSON.stringify(value) : value);
    return { name, value: `$${from + values.length - 1}` };
  });
  return { bound, values };
}

/** The functions, as someone in psql calls them. */
export function functionApi(gateway: TestGateway): SessionApi {
  const ask = (session: Session, text: string, values: unknown[] = []) => statement(gateway, session, text, values);
  const memory = `${columns('(r.memory)')}, (r.memory).ttl`;
  return {
    name: 'SQL functions',
    way: 'function',
    async save(session, fields) {
      const { bound, values } = bind(fields, 1);
      const named = bound.map(({ name, value }) => `${name} => ${value}`);
      return read(await ask(session, `select r.status, ${memory} from public.save_memory(${named}) r`, values), saved);
    },
    async update(session, id, fields) {
      const { bound, values } = bind(fields, 2);
      const named = bound.map(({ name, value }) => `${name} => ${value}`);
      const text = `select r.status, ${memory} from public.update_memory(${['$1', ...named]}) r`;
      return read(await ask(session, text, [id, ...values]), saved);
    },
    remove: async (session, id) =>
      read(await ask(session, 'select public.delete_memory($1) as id', [id]), ([row]) => row),
    get: async (session, id) =>
      read(await ask(session, `select ${columns('r')} from public.get_memory($1) r`, [id]), ([row]) => ({
        memory: fromRow(row),
      })),
    cleanUp: async (session) =>
      read(await ask(session, 'select public.delete_expired_memories() as deleted'), ([{ deleted }]) => ({
        deleted: Number(deleted),
      })),
    async list(session, filter) {
      const answer = await this.search(session, EVERYWHERE, 'lexical', filter);
      return answer.code === null ? { ...answer, count: answer.seen.length } : answer;
    },
    async search(session, text, mode, { scope, project, branch, kind, includesArchived }) {
      const vector = (await gateway.instance.embedder.embed([text]))[0]!;
      const answer = await ask(
        session,
        `select h.packet_id as id, h.content, h.scope, h.project_id as project, h.branch, h.kind, h.creator
         from public.search_memory($1, k => 100, mode => $2, scopes => $3, project_id => $4, kinds => $5,
           query_vector => (($6::real[] || array_fill(0::real, array[1536 - cardinality($6::real[])]))::extensions.vector), model => $7, branch => $8,
           include_archived => $9) r,
           unnest(r.hits) h`,
        [
          text,
          mode,
          scope ? [scope] : null,
          project ?? null,
          kind ? [kind] : null,
          vector,
          gateway.instance.embedder.model,
          branch ?? null,
          includesArchived ?? false,
        ],
      );
      return read(answer, (rows) => ({ seen: rows.map(fromRow) }));
    },
    stats: async (session) =>
      read(await ask(session, 'select to_jsonb(s) as stats from public.get_memory_stats() s'), ([row]) => row),
  };
}

/** Past the functions, straight to the table. */
export function tableApi(gateway: TestGateway): SessionApi {
  const ask = (session: Session, text: string, values: unknown[] = []) => statement(gateway, session, text, values);
  const byId = (rows: Json[]) => (rows[0] ? null : { code: 'L9OWN', text: 'no row' });
  /** The columns that stand for the parameters of the functions. */
  const inColumns = ({ content, kind, importance, envelope, ...fields }: Fields): Fields => ({
    ...(importance === undefined ? {} : { importance_score: importance }),
    ...(content === undefined ? {} : { envelope: { ...(envelope as object), content } }),
    ...(kind === undefined ? {} : { packet_type: kind }),
    ...fields,
  });
  return {
    ...functionApi(gateway),
    name: 'SQL tables',
    way: 'table',
    async save(session, fields) {
      const { bound, values } = bind(inColumns(fields), 1);
      const answer = await ask(
        session,
        `insert into public.packet_store as p (${bound.map(({ name }) => name)}) values (${bound.map(({ value }) => value)})
         returning 'inserted' as status, ${columns('p')}, p.ttl`,
        values,
      );
      return read(answer, saved);
    },
    async update(session, id, fields) {
      const { bound, values } = bind(inColumns(fields), 2);
      const set = bound.map(({ name, value }) => `${name} = ${value}`);
      const answer = await ask(
        session,
        `update public.packet_store as p set ${set} where p.packet_id = $1 returning ${columns('p')}, p.ttl`,
        [id, ...values],
      );
      return (answer.code === null && byId(answer.rows)) || read(answer, saved);
    },
    async remove(session, id) {
      const answer = await ask(
        session,
        'delete from public.packet_store where packet_id = $1 returning packet_id as id',
        [id],
      );
      return (answer.code === null && byId(answer.rows)) || read(answer, ([row]) => row);
    },
    async get(session, id) {
      const answer = await ask(session, `select ${columns('p')} from public.packet_store p where p.packet_id = $1`, [
        id,
      ]);
      return (answer.code === null && byId(answer.rows)) || read(answer, ([row]) => ({ memory: fromRow(row) }));
    },
    async list(session, { scope, project, branch, kind }) {
      const answer = await ask(
        session,
        `select ${columns('p')} from public.packet_store p
         where ($1::text is null or scope = $1) and ($2::text is null or project_id = $2) and ($3::text is null or packet_type = $3)
           and ($4::text is null or branch = $4)`,
        [scope ?? null, project ?? null, kind ?? null, branch ?? null],
      );
      return read(answer, (rows) => ({ seen: rows.map(fromRow), count: rows.length }));
    },
  };
}

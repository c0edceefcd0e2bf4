// Calls memory_store and memory_find through any API, and inserts rows with fields into the table.
import { BY_ITSELF, type Item, type Question, type Suggestion } from '../model.ts';
import type { Turn } from './run.ts';
import { type Answer, askGraphql, askMcp, camel, errorCodes, type Json, statement } from './session-apis.ts';

/** What became of an item: its memory, or an error. */
export interface AnsweredItem {
  index: number;
  status: string | null;
  id: string | null;
  code: string | null;
}

const answered = ({ index, status, packet_id, packetId, sqlstate }: Json): AnsweredItem => ({
  index,
  status: status ?? null,
  id: packet_id ?? packetId ?? null,
  code: sqlstate ? (errorCodes[sqlstate] ?? sqlstate) : null,
});
const both = ({ stored, errors }: Json) => ({ items: [...stored, ...errors].map(answered) });

const asked = ({ kind, data, scope, project, branch, citations, idempotencyKey }: Item) => ({
  kind,
  data,
  scope,
  ...(project === null ? {} : { project_id: project }),
  ...(branch === null ? {} : { branch }),
  ...(citations.length === 0 ? {} : { citations }),
  ...(idempotencyKey === null ? {} : { idempotency_key: idempotencyKey }),
});

export async function callStore(
  { run, session, api }: Turn,
  items: Item[],
  all_or_nothing: boolean,
): Promise<Answer<{ items: AnsweredItem[] }>> {
  const { gateway, apis } = run;
  const given = items.map(asked);
  if (api === apis.mcp)
    return askMcp(gateway)(session, 'memory_store', { items: given, all_or_nothing }, (result) => both(result));
  if (api === apis.graphql) {
    const query = `mutation ($input: MemoryStoreInput!) { memoryStore(input: $input) {
      stored { index status packetId } errors { index sqlstate } } }`;
    const input = { items: given.map(camel), allOrNothing: all_or_nothing };
    return askGraphql(gateway)(session, query, { input }, ({ memoryStore }) => both(memoryStore));
  }
  if (api === apis.sql) {
    const text = 'select index, status, packet_id, sqlstate from public.memory_store($1, $2)';
    const answer = await statement(gateway, session, text, [JSON.stringify(given), all_or_nothing]);
    return answer.code === null ? { code: null, items: answer.rows.map(answered) } : answer;
  }
  const [{ kind, data, scope, project, branch, citations }] = items as [Item];
  const answer = await statement(
    gateway,
    session,
    `insert into public.packet_store as p (packet_type, envelope, scope, project_id, branch, parent_ids)
     values ($1, $2, $3, $4, $5, $6) returning 0 as index, 'inserted' as status, p.packet_id`,
    [kind, JSON.stringify(data), scope, project, branch, citations],
  );
  return answer.code === null ? { code: null, items: answer.rows.map(answered) } : answer;
}

export interface FoundHit {
  id: string;
  kind: string;
  fields: Record<string, unknown>;
  scope: string;
  project: string | null;
  branch: string | null;
  citations: number;
}
export interface Found {
  hits: FoundHit[];
  suggestions: Suggestion[];
  candidates: number;
}

/** Tests give dates; a time of day is what a todo got by itself when it ended. */
const withoutClock = (fields: Record<string, unknown>) =>
  String(fields.closed_at).includes('T') ? { ...fields, closed_at: BY_ITSELF } : fields;

const found = ({ hits, suggestions, searched }: Json): Found => ({
  hits: hits.map((hit: Json) => ({
    id: hit.packet_id ?? hit.packetId,
    kind: hit.kind,
    fields: withoutClock(hit.fields),
    scope: hit.scope,
    project: hit.project_id ?? hit.projectId ?? null,
    branch: hit.branch,
    citations: hit.explanation.citations.agents,
  })),
  suggestions: suggestions.map(({ reason, value, hits }: Json) => ({ reason, value, hits })),
  candidates: searched.candidates,
});

/** By words alone, and all there are. */
export async function callFind({ run, session, api }: Turn, question: Question): Promise<Answer<Found>> {
  const { gateway, apis } = run;
  const { word, kinds, scope, project, branch, includesArchived } = question;
  const given = {
    query: word,
    mode: 'fast',
    k: 100,
    explain: true,
    ...(kinds === null ? {} : { kinds }),
    ...(scope === null ? {} : { scopes: [scope] }),
    ...(project === null ? {} : { project_id: project }),
    ...(branch === null ? {} : { branch }),
    ...(includesArchived ? { include_archived: true } : {}),
  };
  if (api === apis.mcp) return askMcp(gateway)(session, 'memory_find', given, found);
  if (api === apis.graphql) {
    const query = `query ($query: String, $mode: FindMode, $k: Int, $explain: Boolean, $kinds: [String!], $scopes: [String!],
        $projectId: String, $branch: String, $includeArchived: Boolean) {
      memoryFind(query: $query, mode: $mode, k: $k, explain: $explain, kinds: $kinds, scopes: $scopes,
        projectId: $projectId, branch: $branch, includeArchived: $includeArchived) {
        hits { packetId kind fields scope projectId branch explanation } suggestions { reason value hits } searched { candidates } } }`;
    return askGraphql(gateway)(session, query, camel(given), ({ memoryFind }) => found(memoryFind));
  }
  const named = Object.keys(given).map((name, place) => `${name} => $${place + 1}`);
  const answer = await statement(
    gateway,
    session,
    `select to_jsonb(r.hits) as hits, to_jsonb(r.suggestions) as suggestions, r.searched from public.memory_find(${named}) r`,
    Object.values(given),
  );
  return answer.code === null ? { code: null, ...found(answer.rows[0]) } : answer;
}

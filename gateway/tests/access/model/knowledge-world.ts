// Compares the derived rows in the tables, and what each caller can read of them, with what follows from the memories.

import type { Identity, Memory, World } from '../model.ts';
import * as model from '../model.ts';
import type { Row } from './knowledge.ts';
import type { Run } from './run.ts';
import { accepted, askGraphql, type Json, statement } from './session-apis.ts';
import type { Session } from './world.ts';

/** A row as a superuser sees it: visible to callers who may read one of these memories (or all), or its audience. */
interface There {
  id: string;
  any?: string[];
  all?: string[];
  audience?: Pick<Memory, 'tenant' | 'org' | 'user' | 'scope' | 'project' | 'isExpired'>;
}
type Tables = Record<string, There[]>;

// Table → its key, and its field of GraphQL.
const tables: Record<string, { key: string; field: string; id: string }> = {
  knowledge_facts: { key: 'fact_id', field: 'facts', id: 'factId' },
  fact_evidence: { key: 'evidence_id', field: 'factEvidences', id: 'evidenceId' },
  entity_relationships: { key: 'relationship_id', field: 'entityRelationships', id: 'relationshipId' },
  relationship_evidence: { key: 'evidence_id', field: 'relationshipEvidences', id: 'evidenceId' },
  entity_aliases: { key: 'alias_id', field: 'entityAliases', id: 'aliasId' },
  agent_memory_events: { key: 'event_id', field: 'agentMemoryEvents', id: 'eventId' },
  reasoning_traces: { key: 'trace_id', field: 'reasoningTraces', id: 'traceId' },
  world_model_entities: { key: 'entity_row_id', field: 'worldModelEntities', id: 'entityRowId' },
  world_model_updates: { key: 'update_id', field: 'worldModelUpdates', id: 'updateId' },
  world_model_snapshots: { key: 'snapshot_id', field: 'worldModelSnapshots', id: 'snapshotId' },
  reflection_store: { key: 'reflection_id', field: 'reflections', id: 'reflectionId' },
  task_reflections: { key: 'task_reflection_id', field: 'taskReflections', id: 'taskReflectionId' },
  memory_summaries: { key: 'summary_id', field: 'memorySummaries', id: 'summaryId' },
};
const SOURCES = 'memory_summary_sources';

const ofOne = (table: string, source = 'source_packet') =>
  `'${table}', (select coalesce(jsonb_agg(jsonb_build_object('id', ${tables[table]!.key}, 'any', array[${source}])), '[]') from public.${table})`;
const ofEvidence = (table: string, evidence: string, key: string) =>
  `'${table}', (select coalesce(jsonb_agg(jsonb_build_object('id', f.${key}, 'any',
     array(select e.packet_id from public.${evidence} e where e.${key} = f.${key}))), '[]') from public.${table} f)`;

const THERE = `
  select jsonb_build_object(
    ${ofEvidence('knowledge_facts', 'fact_evidence', 'fact_id')}, ${ofOne('fact_evidence', 'packet_id')},
    ${ofEvidence('entity_relationships', 'relationship_evidence', 'relationship_id')}, ${ofOne('relationship_evidence', 'packet_id')},
    ${ofOne('entity_aliases')}, ${ofOne('agent_memory_events', 'packet_id')}, ${ofOne('reasoning_traces', 'packet_id')},
    'world_model_entities', (select coalesce(jsonb_agg(jsonb_build_object('id', entity_row_id, 'audience', jsonb_build_object(
        'tenant', tenant_id, 'org', org_id, 'user', user_id, 'scope', scope, 'project', project_id,
        'isExpired', coalesce(ttl <= now(), false)))), '[]') from public.world_model_entities),
    ${ofOne('world_model_updates')}, ${ofOne('world_model_snapshots')}, ${ofOne('reflection_store')},
    ${ofOne('task_reflections')}, ${ofOne('memory_summaries')},
    '${SOURCES}', (select coalesce(jsonb_agg(jsonb_build_object(
        'id', summary_packet || ' ' || packet_id, 'all', array[summary_packet, packet_id])), '[]') from public.memory_summary_sources)
  ) as tables`;

const says = (table: string, packet: string, words: string, more = '', retracted = 'null') =>
  `select jsonb_build_array('${table}', d.${packet}, to_jsonb(${words}), ${retracted}) from public.${table} d ${more}`;

/** What the rows say, and of which memory. */
const SAID = [
  says(
    'fact_evidence',
    'packet_id',
    'array[f.subject_normalized, f.predicate, f.object_normalized]',
    'join public.knowledge_facts f using (fact_id)',
    'case when f.retracted_at is not null then f.fact_id end',
  ),
  says(
    'relationship_evidence',
    'packet_id',
    'array[r.source_normalized, r.relationship_type, r.target_normalized]',
    'join public.entity_relationships r using (relationship_id)',
  ),
  says('entity_aliases', 'source_packet', 'array[d.alias_normalized, d.entity_normalized]'),
  says(
    'world_model_updates',
    'source_packet',
    `(jsonb_path_query_first(d.entities, '$[0].attributes.keyvalue().key') || jsonb_path_query_array(d.entities, '$[*].entity_id'))`,
  ),
  says('world_model_snapshots', 'source_packet', 'array[d.description]'),
  says('reflection_store', 'source_packet', "'{}'::text[]"),
  says('task_reflections', 'source_packet', 'array[d.task_id]'),
  says('memory_summaries', 'source_packet', 'array[d.scope_value]'),
  says('agent_memory_events', 'packet_id', 'array[d.event_type]'),
  says('reasoning_traces', 'packet_id', "'{}'::text[]"),
].join(' union ');

/** What these memories state, as a superuser sees it. */
export async function rowsOf({ gateway }: Run, packets: string[]): Promise<Row[]> {
  const rows: { row: [Row['table'], string, string[], string | null] }[] = await gateway.asSuperuser(
    `select s.row from (${SAID}) as s (row) where s.row ->> 1 = any ($1)
       and s.row ->> 0 not in ('agent_memory_events', 'reasoning_traces') order by s.row`,
    [packets],
  );
  return rows.map(({ row: [table, packet, says, retracted] }) => ({
    table,
    packet,
    says,
    ...(retracted === null ? {} : { retracted }),
  }));
}

const AUDIENCE = ['tenant_id', 'org_id', 'user_id', 'scope', 'project_id'];
const audienceOf = (row: string) => `(${AUDIENCE.map((column) => `${row}.${column}`)})`;

/** What is not where its memory is, or does not add up to what it rests on. */
const ASTRAY = [
  ...Object.keys(tables).map((table) => {
    const source = /evidence|events|traces/.test(table) ? 'packet_id' : 'source_packet';
    const trace = table === 'reasoning_traces' ? 'packet_trace_id' : 'trace_id';
    return `select '${table}, in another trace', d.${tables[table]!.key} from public.${table} d
      join public.packet_store p on p.packet_id = d.${source} where d.${trace} is distinct from p.trace_id`;
  }),
  ...Object.keys(tables)
    .filter((table) => table !== 'world_model_entities')
    .map((table) => {
      const source = /evidence|events|traces/.test(table) ? 'packet_id' : 'source_packet';
      const owner = table.endsWith('s') && /facts|relationships/.test(table) ? '' : ', d.ttl';
      return `select '${table}', d.${tables[table]!.key} from public.${table} d left join public.packet_store p on p.packet_id = d.${source}
        where p.packet_id is null or (${AUDIENCE.map((column) => `d.${column}`)}${owner}) is distinct from (${AUDIENCE.map((column) => `p.${column}`)}${owner && ', p.ttl'})`;
    }),
  ...[
    { table: 'knowledge_facts', evidence: 'fact_evidence', key: 'fact_id', count: 'supporting_packet_count' },
    {
      table: 'entity_relationships',
      evidence: 'relationship_evidence',
      key: 'relationship_id',
      count: 'mention_count',
    },
  ].map(
    ({ table, evidence, key, count }) => `
      select '${table}, by evidence', d.${key} from public.${table} d left join public.${evidence} e using (${key})
      group by d.${key}
      having count(e.packet_id) = 0 or sum(e.mentions) <> d.${count} or not bool_or(e.packet_id = d.source_packet)
        or bool_or(${audienceOf('e')} is distinct from ${audienceOf('d')})`,
  ),
  `select 'superseded elsewhere', f.fact_id from public.knowledge_facts f join public.knowledge_facts g on g.fact_id = f.superseded_by where f.audience_id <> g.audience_id`,
  `select 'memory_summaries, by sources', s.summary_id from public.memory_summaries s
   where s.packet_count <> (select count(*) from public.memory_summary_sources l where l.summary_packet = s.source_packet)`,
  `select 'world_model_snapshots, by updates', s.snapshot_id from public.world_model_snapshots s
   where s.entity_count > (select count(distinct said ->> 'entity_id') from public.world_model_updates u, jsonb_array_elements(u.entities) said
     where u.audience_id = s.audience_id and u.state_version_after <@ s.snapshot)`,
].join(' union all ');

const audienceKey = (audience: Json) =>
  JSON.stringify([audience.tenant, audience.org, audience.user, audience.scope, audience.project]);

/** What is really there, for a superuser to see. */
export async function compareKnowledge({ gateway, world }: Run): Promise<Tables> {
  const [{ said, astray, entities, sources }] = await gateway.asSuperuser(`
    select
      (select coalesce(jsonb_agg(s.row), '[]') from (${SAID}) as s (row)) as said,
      (select coalesce(jsonb_agg(a), '[]') from (${ASTRAY}) as a (what, id)) as astray,
      (select coalesce(jsonb_agg(jsonb_build_object('tenant', tenant_id, 'org', org_id, 'user', user_id, 'scope', scope,
        'project', project_id, 'name', entity_id, 'isExpired', coalesce(ttl <= now(), false),
        'marks', jsonb_path_query_array(attributes, '$.keyvalue().key'))), '[]') from public.world_model_entities) as entities,
      (select coalesce(jsonb_agg(jsonb_build_array(summary_packet, packet_id)), '[]') from public.memory_summary_sources) as sources`);
  const { rows, summaries } = world.knowledge;
  const fromKind: Record<string, [string, string[]]> = {
    event: ['agent_memory_events', ['tick']],
    reasoning_trace: ['reasoning_traces', []],
  };
  const expected = [
    ...rows.map(({ table, packet, says, retracted }) => [table, packet, says, retracted ?? null]),
    ...[...world.memories.values()].flatMap((memory) => {
      const [table, words] = fromKind[memory.kind] ?? [];
      return table && !model.isWithheld(memory) ? [[table, memory.id, words, null]] : [];
    }),
  ];
  expect(sorted(said), 'what was made of memories, and should be').toStrictEqual(sorted(expected));
  expect(astray, 'what is not where its memory is, or not what it rests on').toStrictEqual([]);
  expect(sorted(sources), 'what summaries rest on').toStrictEqual(
    sorted([...summaries].flatMap(([summary, ids]) => ids.map((id) => [summary, id]))),
  );
  compareEntities(world, entities);
  const [{ tables: there }] = await gateway.asSuperuser(THERE);
  return there;
}

const sorted = (rows: unknown[]) => rows.map((row) => JSON.stringify(row)).sort();

/** The world of a audience is what the updates of its memories say: those that have expired may, but need not, still be in it. */
function compareEntities(world: World, entities: Json[]) {
  const marks = (isIn: (memory: Memory) => boolean) =>
    world.knowledge.rows.flatMap(({ table, packet, says: [mark, ...names] }) => {
      const memory = world.memories.get(packet)!;
      if (table !== 'world_model_updates' || !isIn(memory)) return [];
      return names.map((name) => `${audienceKey(memory)} ${name} ${mark}`);
    });
  const folded = new Set<string>(
    entities.flatMap((one) => one.marks.map((mark: string) => `${audienceKey(one)} ${one.name} ${mark}`)),
  );
  const all = new Set(marks(() => true));
  expect(
    [...folded].filter((mark) => !all.has(mark)),
    'a world holds what no memory says',
  ).toStrictEqual([]);
  // A statement of an agent with an end does not count for an administrator's entity.
  const isForGood = ({ id, isExpired }: Memory) => !isExpired && !world.knowledge.expireLater.has(id);
  expect(
    marks(isForGood).filter((mark) => !folded.has(mark)),
    'a world lacks what a memory says',
  ).toStrictEqual([]);
}

const isSeen = ({ memories }: World, me: Identity | null, { any, all, audience }: There): boolean => {
  const sees = (id: string) => model.maySee(me, memories.get(id)!);
  if (audience) return model.maySee(me, { ...audience } as Memory);
  return any ? any.some(sees) : all!.every(sees);
};

const seenOf = (world: World, me: Identity | null, there: Tables): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(there).map(([table, rows]) => [
      table,
      rows
        .filter((row) => isSeen(world, me, row))
        .map(({ id }) => id)
        .sort(),
    ]),
  );

const IDS = `select jsonb_build_object(${[
  ...Object.entries(tables).map(
    ([table, { key }]) => `'${table}', array(select d.${key}::text from public.${table} d order by 1)`,
  ),
  `'${SOURCES}', array(select d.summary_packet || ' ' || d.packet_id from public.memory_summary_sources d order by 1)`,
]}) as ids`;

/** What a caller sees of it, by SQL under its role. */
export async function compareSeen(run: Run, session: Session, there: Tables): Promise<void> {
  const { rows } = accepted(await statement(run.gateway, session, IDS), session.name);
  const me = model.identityOf(run.world, session.claims);
  const seen = Object.fromEntries(
    Object.entries(rows[0].ids as Record<string, string[]>).map(([table, ids]) => [table, ids.sort()]),
  );
  expect(seen, `${session.name}: the knowledge it sees`).toStrictEqual(seenOf(run.world, me, there));
}

const FIELDS = Object.entries(tables).map(
  ([table, { field, id }]) => `${table}: ${field}(first: 1000) { totalCount nodes { id: ${id} } }`,
);
const QUESTION = `{ ${FIELDS} links: memorySummaries(first: 500) { nodes { sourcePacket sources { nodes { packetId } } } } }`;

/** The same by GraphQL, which counts, too, and shows so many at once. */
export async function compareSeenInGraphql(run: Run, session: Session, there: Tables): Promise<void> {
  const me = model.identityOf(run.world, session.claims);
  const answer = await askGraphql(run.gateway)(session, QUESTION, {}, (data: Json) => ({
    data: data as Record<string, Json>,
  }));
  const { data } = accepted(answer, session.name);
  const expected = seenOf(run.world, me, there);
  const links: string[] = data.links.nodes.flatMap(({ sourcePacket, sources }: Json) =>
    sources.nodes.map(({ packetId }: Json) => `${sourcePacket} ${packetId}`),
  );
  expect(
    links.filter((link) => !expected[SOURCES]!.includes(link)),
    `${session.name}: ${SOURCES}`,
  ).toStrictEqual([]);
  for (const table of Object.keys(tables)) {
    const { totalCount, nodes }: { totalCount: number; nodes: Json[] } = data[table];
    const ids = new Set(expected[table]);
    expect(totalCount, `${session.name}: how many of ${table}`).toBe(ids.size);
    expect(
      nodes.filter(({ id }) => !ids.has(id)),
      `${session.name}: ${table}`,
    ).toStrictEqual([]);
    expect(nodes.length, `${session.name}: shows too few of ${table}`).toBeGreaterThanOrEqual(Math.min(ids.size, 20));
  }
}

// Whose word counts: an agent states something, an administrator states it after it, and whatever the agent does then, through any
// API, the administrator reads what it read before. docs/explanation/trust.md has a row for each of these statements.
import { readFileSync } from 'node:fs';
import { type Fields, kindExamples } from '../../../db/tests/support/kinds.ts';
import { useTestGateway } from '../support/gateway.ts';
import { type Call, callsOf } from './calls.ts';

/** A call by its name and arguments in SQL. */
type Wanted = [operation: string, args: Fields];

interface Statement {
  name: string;
  /** The row of docs/explanation/trust.md. */
  row: string;
  /** The API through which both are stated; psql unless it says otherwise. */
  through?: Call['name'];
  first: Wanted;
  second: Wanted;
  /** What the agent tries besides changing, moving and deleting the memory of its statement. */
  attacks: Wanted[];
  /** What the administrator reads of it, beside the memory itself. */
  reads: string;
}

const project_id = 'authority';
const item = (kind: string, data: Fields): Wanted => ['memory_store', { items: [{ kind, project_id, data }] }];
const fact = (subject: string, object: string, confidence: number): Wanted => [
  'assert_fact',
  { subject, predicate: 'is', object, confidence, scope: 'developer', project_id },
];
const NOTHING_ELSE = 'select 1';
/** The memory that the summaries sum up; its id is known once it is saved. */
const SOURCE = 'the source';
const session = {
  session_id: 'repair-1',
  timestamp: '2026-11-20T09:30:00Z',
  tool_name: 'notes',
  success: true,
  summary: 'Repaired the anchor',
  messages: [{ role: 'user', text: 'Repair the anchor.' }],
};

const ofKinds: Statement[] = kindExamples
  .filter(({ kind, same }) => same && kind !== 'section')
  .map(({ kind, fields, same }) => ({
    name: kind,
    row: kind,
    first: item(kind, fields),
    second: item(kind, { ...fields, ...same }),
    attacks: [item(kind, fields), item(kind, { ...fields, ...(kind === 'document' ? { doc_type: 'taken' } : same) })],
    reads: NOTHING_ELSE,
  }));

const lesson = 'Drain the queue before you restart the worker.';
const statements: Statement[] = [
  ...ofKinds,
  {
    name: 'document with its text',
    row: 'section',
    first: item('document', { title: 'Deploying', source_url: 'a/b.md', body_md: '# Deploying\n\nAsk first.\n' }),
    second: item('document', { title: 'Deploying', source_url: 'a/b.md', body_md: '# Deploying\n\nAsk Ann first.\n' }),
    attacks: [item('document', { title: 'Deploying', source_url: 'a/b.md', body_md: '# Deploying\n\nAsk nobody.\n' })],
    reads: `select string_agg(s.envelope ->> 'body_md', '' order by s.packet_id) from public.packet_store s
      join public.packet_store d on d.packet_id = s.part_of where d.title = 'Deploying' and d.text_creator = 'L-CTO'`,
  },
  {
    name: 'note',
    row: 'note',
    first: ['save_memory', { content: 'The gate closes at nine.', project_id }],
    second: ['save_memory', { content: 'The gate closes at NINE.', project_id }],
    attacks: [
      ['save_memory', { content: 'The gate closes at nine', project_id, on_similar: 'merge', tags: ['taken'] }],
    ],
    reads: NOTHING_ELSE,
  },
  {
    name: 'lesson',
    row: 'lesson',
    first: ['reflect', { content: lesson, project_id, priority: 'low', confidence: 0.5 }],
    second: ['reflect', { content: lesson, project_id, priority: 'high', confidence: 0.8 }],
    attacks: [
      ['reflect', { content: lesson, project_id, priority: 'critical', confidence: 0.99 }],
      ['reflect', { content: 'Do not drain the queue before you restart the worker.', project_id, confidence: 0.99 }],
    ],
    reads: `select p.content, r.priority, r.confidence from public.reflection_store r
      join public.packet_store p on p.packet_id = r.source_packet where p.content = '${lesson}'`,
  },
  {
    name: 'task reflection',
    row: 'task reflection',
    first: ['reflect_on_task', { task_id: 'T-1', description: 'Move the queue', outcome: 'failure', project_id }],
    second: ['reflect_on_task', { task_id: 'T-1', outcome: 'success', project_id }],
    attacks: [['reflect_on_task', { task_id: 'T-1', outcome: 'failure', project_id }]],
    reads: "select outcome, description from public.task_reflections where task_id = 'T-1'",
  },
  {
    name: 'summary',
    row: 'summary',
    first: summary('The queue is slow.'),
    second: summary('The queue was slow until May.'),
    attacks: [summary('The queue is fast.')],
    reads: `select p.content, s.creator from public.memory_summaries s
      join public.packet_store p on p.packet_id = s.source_packet where s.scope_value = 'the queue'`,
  },
  {
    name: 'session archive',
    row: 'session archive',
    through: 'GraphQL',
    first: ['store_session_to_cascade', { session, project_id, scope: 'developer' }],
    second: ['store_session_to_cascade', { session, project_id, scope: 'developer' }],
    attacks: [['store_session_to_cascade', { session, project_id, scope: 'developer' }]],
    reads: "select pointer, title, summary, verified_by from public.session_archives where creator = 'L-CTO'",
  },
  {
    name: 'fact',
    row: 'fact',
    first: fact('billing', 'blue', 0.5),
    second: fact('billing', 'green', 0.9),
    attacks: [
      fact('billing', 'red', 1),
      fact('billing', 'blue', 1),
      ['add_alias', { alias: 'billing', entity: 'something else', scope: 'developer', project_id }],
    ],
    reads: `select f.subject, f.object, f.confidence, f.creator from public.find_facts(subject => 'billing', predicate => 'is', project_id => '${project_id}') f`,
  },
  {
    name: 'fact that both state',
    row: 'fact',
    first: fact('search', 'green', 0.5),
    second: fact('search', 'green', 0.9),
    attacks: [fact('search', 'green', 0.5), fact('search', 'red', 1)],
    reads: `select f.subject, f.object, f.confidence, f.creator from public.find_facts(subject => 'search', predicate => 'is', project_id => '${project_id}') f`,
  },
  {
    name: 'relationship',
    row: 'relationship',
    first: ['relate', { source: 'billing', type: 'depends_on', target: 'ledger', confidence: 0.4, project_id }],
    second: ['relate', { source: 'billing', type: 'depends_on', target: 'ledger', confidence: 0.9, project_id }],
    attacks: [
      ['relate', { source: 'billing', type: 'depends_on', target: 'ledger', confidence: 0.4, project_id }],
      ['add_alias', { alias: 'ledger', entity: 'another ledger', project_id }],
    ],
    reads: `select r.source_entity, r.target_entity, r.confidence from public.entity_relationships r
      where r.source_normalized = 'billing' and r.target_normalized = 'ledger'`,
  },
  {
    name: 'attribute of the world model',
    row: 'attribute of the world model',
    first: ['apply_world_update', { project_id, insight: insightOf('billing is in the east', 'east') }],
    second: ['apply_world_update', { project_id, insight: insightOf('billing is in the west', 'west') }],
    attacks: [
      ['apply_world_update', { project_id, insight: insightOf('billing is in the north', 'north') }],
      [
        'apply_world_update',
        {
          project_id,
          insight: { ...insightOf('billing is gone', ''), entities: [{ entity_id: 'billing', delete: true }] },
        },
      ],
    ],
    reads: `select e.attributes ->> 'region' as region from public.world_model_entities e where e.entity_id = 'billing' and e.project_id = '${project_id}'`,
  },
];

/** Of a memory that is there before: see SOURCE. */
function summary(summary_text: string): Wanted {
  return [
    'save_summary',
    { scope_type: 'topic', scope_value: 'the queue', summary_text, source_packet_ids: [SOURCE], confidence: 0.7 },
  ];
}

function insightOf(content: string, region: string) {
  return { insight_type: 'observation', content, entities: [{ entity_id: 'billing', attributes: { region } }] };
}

describe('a statement by an administrator after an agent', () => {
  const gateway = useTestGateway();

  const memoriesOf = (operation: Wanted) =>
    gateway.sql(
      'L',
      `select packet_id from public.packet_store where project_id = $1 and part_of is null
       and metadata ->> 'creator' = 'Cursor-IDE' and packet_id <> all ($2) and $3 <> '' order by packet_id`,
      [project_id, known, operation[0]],
    );
  let known: string[] = [];
  let source: string;
  beforeAll(async () => {
    await gateway.sql('L', "select public.register_predicate('is')");
    source = await gateway.save('L', 'What is to be summed up.', { project_id });
  });
  /** The call, with the id of the source. */
  const withSource = ([operation, args]: Wanted): Wanted => [
    operation,
    'source_packet_ids' in args ? { ...args, source_packet_ids: [source] } : args,
  ];

  it.each(statements)('stays as it is, whatever the agent does then: $name', async ({
    through = 'psql',
    first,
    second,
    attacks,
    reads,
  }) => {
    const calls: Call[] = callsOf(gateway);
    const stating = calls.find(({ name }) => name === through)!;
    expect(await stating.call('C', ...withSource(first))).toBeNull();
    const ids: string[] = (await memoriesOf(first)).map(({ packet_id }) => packet_id);
    known = [...known, ...ids];
    expect(await stating.call('L', ...withSource(second))).toBeNull();

    const held = await gateway.sql(
      'L',
      'select packet_id from public.packet_store where packet_id = any ($1) and text_creator is not null',
      [ids],
    );
    const read = async () => ({
      own: await gateway.sql('L', reads),
      // The agent's own memory may change where the administrator's statement is another one.
      memories: await gateway.sql(
        'L',
        `select to_jsonb(p) - '{access_count,last_accessed,words,updated_at,importance_score}'::text[] as row
         from public.packet_store p where p.packet_id = any ($1) order by p.packet_id`,
        [held.map(({ packet_id }) => packet_id)],
      ),
    });
    const before = await read();
    expect(before.own.length + before.memories.length, 'there is something to read').toBeGreaterThan(0);

    for (const { name, call } of calls) {
      for (const attack of [...attacks, ...ids.flatMap((packet_id) => onMemory(packet_id))]) {
        // Operations that psql does not have, such as encrypting an archive, are tried through the others.
        if (name === 'psql' && attack[0] === 'store_session_to_cascade') continue;
        const refusal = await call('C', ...withSource(attack));
        if (refusal) expect(refusal, `${name}: ${attack[0]}`).toMatch(/^L9(OWN|VAL|IMM)$/);
        expect(await read(), `${name}: ${JSON.stringify(attack)}`).toStrictEqual(before);
      }
    }
  });

  const onMemory = (packet_id: string): Wanted[] => [
    ['update_memory', { packet_id, content: 'Taken.' }],
    ['update_memory', { packet_id, envelope: { note: 'taken' } }],
    ['update_memory', { packet_id, tags: ['taken'] }],
    ['update_memory', { packet_id, ttl: '2099-01-01T00:00:00Z' }],
    ['update_memory', { packet_id, project_id: 'elsewhere' }],
    ['delete_memory', { packet_id }],
  ];

  it('is explained in a table with a row for each statement', () => {
    const page = readFileSync('docs/explanation/trust.md', 'utf8');
    const firstCells = page.split('\n').flatMap((line) => line.match(/^\| ([^|]+) \|/)?.[1] ?? []);
    for (const { row } of statements)
      expect(
        firstCells.some((cell) => cell.includes(row)),
        row,
      ).toBe(true);
  });
});

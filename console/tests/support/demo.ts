// What the screenshots show: a small team of agents after some weeks. Nothing in it is real.
import type { TestGateway } from '../../../gateway/tests/support/gateway.ts';

const SAVE = `mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { status memory { packetId } } }`;
const STORE = `mutation ($items: [MemoryStoreItem!]!) { memoryStore(input: { items: $items }) { stored { memory { packetId } } errors { message } } }`;
const UPDATE = `mutation ($input: UpdateMemoryInput!) { updateMemory(input: $input) { memory { packetId } } }`;

const RELATE = `mutation ($input: RelateInput!) { relate(input: $input) { clientMutationId } }`;
const ASSERT = `mutation ($input: AssertFactInput!) { assertFact(input: $input) { clientMutationId } }`;
const SINGLE_VALUED = `mutation { admin {
  first: registerPredicate(predicate: "attempts at most", isSingleValued: true) { predicate }
  second: registerPredicate(predicate: "longest delay", isSingleValued: true) { predicate }
} }`;

type Fields = Record<string, unknown>;

const notes: readonly [caller: string, daysAgo: number, content: string, fields?: Fields][] = [
  ['C', 41, 'Releases go out on Tuesdays after the stand-up, never on Fridays.', { kind: 'rule', tags: ['release'] }],
  [
    'C',
    40,
    'The staging database is rebuilt every night at 02:00 UTC; nothing that must last belongs there.',
    { tags: ['staging', 'database'] },
  ],
  [
    'C',
    36,
    'The import of customers fails when a name has more than 120 characters. The limit is in the old schema, not in the API.',
    { kind: 'bug', tags: ['import'] },
  ],
  [
    'L',
    33,
    'Billing moves to the new ledger in March. Until then both are written, and the old one decides.',
    { tags: ['billing', 'ledger'] },
  ],
  [
    'L',
    30,
    'The budget for external models is 400 EUR a month; ask before a job that may cost more than 20.',
    { scope: 'l-private', tags: ['budget'] },
  ],
  [
    'C',
    27,
    'Retries of the payment worker start at 2 s and double up to five minutes; more than eight attempts page somebody.',
    { tags: ['payments', 'retry'] },
  ],
  [
    'C',
    22,
    'Integration tests need Docker; without it they are skipped, which CI treats as a failure.',
    { kind: 'rule', tags: ['tests', 'ci'] },
  ],
  [
    'C',
    20,
    'The search index was out of date for six hours because the job queue was full of retries. A limit of attempts would have prevented it.',
    { kind: 'lesson', tags: ['search', 'incident'] },
  ],
  [
    'L',
    16,
    'Anna owns the ledger, Ben the payment worker; questions about both go to Anna first.',
    { tags: ['people', 'ledger'] },
  ],
  [
    'C',
    12,
    'Use `pnpm -r build` before `pnpm test`: packages import the built files of each other.',
    { tags: ['build'] },
  ],
  [
    'C',
    9,
    'Time zones: everything is stored in UTC, and shown in the zone of the account.',
    { scope: 'global', kind: 'rule' },
  ],
  [
    'C',
    5,
    'The flag new-checkout is on for 20 % of accounts. Conversion is 1.4 points higher so far, with 3,100 sessions.',
    { tags: ['checkout', 'experiment'] },
  ],
  [
    'L',
    3,
    'Interview notes: two of five users looked for the export under Settings.',
    { scope: 'l-private', tags: ['research'] },
  ],
  [
    'C',
    2,
    'The payment worker retries for up to five minutes, starting at two seconds, and pages after eight attempts.',
    { tags: ['payments'] },
  ],
  [
    'C',
    1,
    'Docker images are built for arm64 as well since last week; the base image changed to Debian 13.',
    { tags: ['build', 'docker'] },
  ],
];

const items = [
  {
    kind: 'decision',
    projectId: 'shop',
    tags: ['queue'],
    data: {
      title: 'One queue for all jobs',
      status: 'accepted',
      rationale: 'Two queues starved each other whenever the import ran.',
    },
  },
  {
    kind: 'todo',
    projectId: 'shop',
    data: { text: 'Raise the limit of customer names to 250 characters', status: 'open' },
  },
  { kind: 'todo', projectId: 'shop', data: { text: 'Delete the old ledger tables after March', status: 'blocked' } },
];

/** Each rests on the note of this number. */
const relations: readonly [source: string, type: string, target: string, note: number][] = [
  ['payment worker', 'owned_by', 'Ben', 8],
  ['ledger', 'owned_by', 'Anna', 8],
  ['payment worker', 'writes_to', 'ledger', 3],
  ['billing', 'moves_to', 'ledger', 3],
  ['payment worker', 'pages', 'Ben', 5],
  ['search index', 'waits_for', 'job queue', 7],
  ['payment worker', 'retries_in', 'job queue', 7],
];

/** Of the payment worker. */
const facts: readonly [predicate: string, object: unknown, daysAgo: number, note: number][] = [
  ['attempts at most', 20, 60, 7],
  ['attempts at most', 8, 27, 5],
  ['longest delay', '10 minutes', 50, 7],
  ['longest delay', '5 minutes', 27, 5],
  ['owned by', 'Ben', 45, 8],
];

const daysBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

/** Memories that pictures are taken of, by id. */
export interface Demo {
  withHistory: string;
  /** From C. */
  hidden: string;
}

/** Saves the memories, and waits for their vectors. */
export async function fillWithDemo(gateway: TestGateway): Promise<Demo> {
  const ids: string[] = [];
  for (const [caller, days, content, fields = {}] of notes) {
    const input = {
      content,
      timestamp: daysBefore(days),
      ...(fields.scope === 'global' ? {} : { projectId: 'shop' }),
      ...fields,
    };
    ids.push((await gateway.query(caller, SAVE, { input })).saveMemory.memory.packetId);
  }
  const { memoryStore } = await gateway.query('C', STORE, { items });
  if (memoryStore.errors.length > 0) throw new Error(JSON.stringify(memoryStore.errors));
  const [first] = ids;
  const edit = (caller: string, input: Fields) =>
    gateway.query(caller, UPDATE, { input: { packetId: first, ...input } });
  await edit('C', { content: 'Releases go out on Tuesdays and Thursdays after the stand-up, never on Fridays.' });
  await edit('C', { tags: ['release', 'rule-of-the-house'] });
  await edit('L', {
    content: 'Releases go out on Tuesdays and Thursdays after 10:00, never on Fridays or before a holiday.',
  });
  for (const [source, type, target, note] of relations) {
    const input = { source, type, target, sourcePacket: ids[note] };
    await gateway.query('L', RELATE, { input });
  }
  await gateway.query('L', SINGLE_VALUED);
  for (const [predicate, object, daysAgo, note] of facts) {
    const input = {
      subject: 'payment worker',
      predicate,
      object,
      validFrom: daysBefore(daysAgo),
      sourcePacket: ids[note],
    };
    await gateway.query('L', ASSERT, { input });
  }
  await gateway.embedded();
  return { withHistory: first!, hidden: ids[4]! };
}

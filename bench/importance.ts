// Measures whether importance learns from feedback: `npm run bench:importance`, over GraphQL with the real embedder, on the
// embedded engine or the server of TEST_DATABASE_URL (superuser). There are 200 memories and 40 recurring questions: 30 have
// five equally relevant answers, one of which is marked useful, and 10 have one answer. 20 rounds of searches and votes
// follow, each with a roll-up: ten by two agents, then ten by four more, because each agent has one voice however often it votes. The questions with one answer must not get worse, and neither must 30 control questions,
// one for each praised memory, which only another of its five answers.
import { startTestGateway } from '../gateway/tests/support/gateway.ts';

/** Who searches and votes, in turns, ten rounds each. */
const AGENTS = [
  ['C', 'L'],
  ['D', 'E', 'F', 'G'],
];
const ROUNDS = 10;
const TO_REACH = 0.15;
const k = 10;

const subjects = [
  ...['billing', 'checkout', 'search', 'login', 'export', 'import', 'mail', 'report', 'invoice', 'catalogue'],
  ...['upload', 'backup', 'archive', 'console', 'metrics', 'payment', 'shipping', 'profile', 'session', 'message'],
  ...['calendar', 'ticket', 'survey', 'coupon', 'warehouse', 'tax', 'refund', 'address', 'contract', 'translation'],
];
// Five equally relevant answers: each names another cause, and only the asker knows which one applies.
const causes = ['connection pool', 'job queue', 'page cache', 'table index', 'nightly job'];
const answers = (subject: string) =>
  causes.map((cause) => `The ${subject} service was slow because of a problem with its ${cause}.`);
const alone = [
  ['Who wrote the melody of the company anthem?', 'The company anthem has a melody by Clara, from accounting.'],
  ['Where is the spare key of the bicycle cellar?', 'The spare key of the bicycle cellar hangs behind the fuse box.'],
  ['Which colour has the logo on dark backgrounds?', 'On dark backgrounds the logo is printed in pale yellow.'],
  ['How do we pronounce the name of the product?', 'The name of the product is pronounced with a long first vowel.'],
  [
    'What does the penguin poster in the kitchen mean?',
    'The penguin poster in the kitchen is a souvenir of the first release.',
  ],
  ['When does the gym of the building open?', 'The gym of the building opens at half past six in the morning.'],
  ['Which airline do we book for conferences?', 'For conferences we book the airline that flies by night.'],
  ['Who waters the plants in summer?', 'In summer the plants are watered by the interns, on Mondays.'],
  ['What is the maximum weight of the lift?', 'The lift carries at most six hundred kilograms.'],
  ['Where do parcels for the office arrive?', 'Parcels for the office arrive at the reception of the east wing.'],
] as const;
const filler = Array.from(
  { length: 40 },
  (_, n) => `Minutes of meeting ${n}: attendance, apologies, and the date of meeting ${n + 1}.`,
);

interface Question {
  query: string;
  /** The memory that the question is about. */
  wanted: string;
  sort: 'equals' | 'alone' | 'rival';
}

const gateway = await startTestGateway();
try {
  for (const caller of AGENTS[1]!) await gateway.sql('L', 'select public.register_actor($1)', [caller]);
  const save = async (content: string) => {
    const { result, isError, text } = await gateway.tool('C', 'save_memory', { content, project_id: 'l9' });
    if (isError) throw new Error(text);
    return result.memory.packet_id as string;
  };
  const questions: Question[] = [];
  for (const [n, subject] of subjects.entries()) {
    const ids: string[] = [];
    for (const content of answers(subject)) ids.push(await save(content));
    // Each of the five wordings is the wanted one equally often.
    questions.push({ query: `Why is the ${subject} service slow?`, wanted: ids[n % ids.length]!, sort: 'equals' });
    const other = (n + 1) % ids.length;
    questions.push({
      query: `Was the ${subject} service slow because of its ${causes[other]}?`,
      wanted: ids[other]!,
      sort: 'rival',
    });
  }
  for (const [query, content] of alone) questions.push({ query, wanted: await save(content), sort: 'alone' });
  for (const content of filler) await save(content);
  await gateway.embedded();

  const search = async (caller: string, query: string) => {
    const { data, errors } = await gateway.graphql(
      caller,
      'query ($q: String!, $k: Int!) { searchMemory(query: $q, k: $k) { hits { packetId accessId } } }',
      { q: query, k },
    );
    if (errors) throw new Error(errors[0]!.message);
    return data.searchMemory.hits as { packetId: string; accessId: string }[];
  };
  const rollUp = async () => {
    const { workerPool } = gateway.instance.database;
    for (;;) {
      const { rows } = await workerPool.query('select facts.roll_up_accesses() as counted');
      if (Number(rows[0].counted) === 0) return;
    }
  };
  const reciprocals = async () => {
    const list: number[] = [];
    for (const { query, wanted } of questions) {
      const place = (await search('C', query)).findIndex(({ packetId }) => packetId === wanted);
      list.push(place < 0 ? 0 : 1 / (place + 1));
    }
    return list;
  };
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const part = (values: number[], ...sorts: Question['sort'][]) =>
    values.filter((_, n) => sorts.includes(questions[n]!.sort));

  const measured = [await reciprocals()];
  const round = async (caller: string) => {
    for (const { query, wanted, sort } of questions) {
      if (sort === 'rival') continue;
      const hits = await search(caller, query);
      const hit = hits.find(({ packetId }) => packetId === wanted);
      if (sort === 'alone' || !hit) continue;
      const { errors } = await gateway.graphql(
        caller,
        'mutation ($a: UUID!) { recordFeedback(input: { accessId: $a, wasUseful: true }) { feedback { packetId } } }',
        { a: hit.accessId },
      );
      if (errors) throw new Error(errors[0]!.message);
    }
    await rollUp();
  };
  for (const agents of AGENTS) {
    for (let n = 0; n < ROUNDS; n++) await round(agents[n % agents.length]!);
    measured.push(await reciprocals());
  }
  const [before, , after] = measured as [number[], number[], number[]];
  const fallen = questions.filter(({ sort }, n) => sort !== 'equals' && after[n]! < before[n]!);

  const row = (name: string, ...sorts: Question['sort'][]) =>
    console.log(`| ${[name, ...measured.map((values) => mean(part(values, ...sorts)).toFixed(3))].join(' | ')} |`);
  console.log(
    `| MRR@${k} | before | after ${ROUNDS} rounds by 2 agents | and ${ROUNDS} by 4 more |\n|---|---|---|---|`,
  );
  row('the 40 questions', 'equals', 'alone');
  row('30 with five equal answers, one marked useful', 'equals');
  row('10 with one answer alone', 'alone');
  row('30 that a rival of a praised memory alone answers', 'rival');
  console.log(`Questions with one answer that got worse: ${fallen.length}.`);
  for (const { query } of fallen) console.log(`  ${query}`);
  const gained = mean(part(after, 'equals', 'alone')) - mean(part(before, 'equals', 'alone'));
  if (gained < TO_REACH || fallen.length > 0) process.exitCode = 1;
} finally {
  await gateway.close();
}

// What a reader asks: generated questions, each put to one probe. A new function that answers from memories is one more line here.
import { serverUrl } from '../../support/engine.ts';
import { named } from '../../support/named.ts';
import { CANARY, DECOY, ENTITIES, type Random, sentence, UNSEEN, word } from './texts.ts';
import { model, PROJECT, type World } from './world.ts';

interface Question {
  query: string;
  k: number;
  filters: object;
  /** Near what: a memory that every reader can read. */
  memory: { id: string; content: string };
  entity: string;
  random: Random;
}

interface Call {
  statement: string;
  values: unknown[];
}

export interface Asked extends Call {
  probe: string;
  about: string;
}

type Probe = (question: Question) => Call;

/** Calls a function, and gives all that it returns. */
const call = (name: string, args: object, columns = 'to_jsonb(r)'): Call => ({
  statement: `select coalesce(jsonb_agg(${columns}), '[]')::text as answer from ${name}(${named(args)}) r`,
  values: Object.values(args),
});

const meaning = (text: string) => ({ query_vector: model.vectorOf(text), model: model.name });
const saved = "jsonb_build_object('status', r.status, 'similar', to_jsonb(r.\"similar\"))";

/** These run several searches each: in WebAssembly they alone would take a quarter of an hour. */
const onServer = (probes: Record<string, Probe>): Record<string, Probe> => (serverUrl ? probes : {});

const byWords: Record<string, Probe> = {
  'search by words': ({ query, k }) => call('public.search_memory', { query, k, mode: 'lexical', explain: true }),
  'search by words, filtered': ({ query, k, filters }) =>
    call('public.search_memory', { query, k, mode: 'lexical', explain: true, ...filters }),
  'search by words of a memory': ({ memory, k }) =>
    call('public.search_memory', { packet_id: memory.id, k, mode: 'lexical', explain: true }),
  'search without a vector': ({ query, k }) => call('public.search_memory', { query, k, explain: true }),
  'search within a budget': ({ query }) =>
    call('public.search_memory', { query, k: 20, mode: 'lexical', max_tokens: 600 }),
  'search as of a time': ({ query, k }) =>
    call('public.search_memory', { query, k, mode: 'lexical', explain: true, as_of: new Date().toISOString() }),
  'fast find': ({ query, k }) => call('public.memory_find', { query, k, mode: 'fast', explain: true }),
  // Most of the words are in no memory.
  'fast find that nothing answers': ({ query, k }) =>
    call('public.memory_find', {
      query: `${UNSEEN} quixotic zeppelins carburettors fenders ${query}`,
      k,
      mode: 'fast',
    }),
  'fast find of a branch': ({ query, k }) =>
    call('public.memory_find', { query, k, mode: 'fast', project_id: PROJECT, branch: 'main', explain: true }),
  ...onServer({
    'find without a vector': ({ query, k }) => call('public.memory_find', { query, k, explain: true }),
    // No memory is of this kind, so that others are suggested.
    'suggestions of other kinds': ({ query }) =>
      call('public.memory_find', { query, mode: 'fast', kinds: ['runbook'] }),
    'suggestions of other words': ({ query }) =>
      call('public.memory_find', {
        query: `${query} ledgre merher zxq81`,
        mode: 'fast',
        until: '1900-01-01T00:00:30Z',
      }),
  }),
};

const byMeaning: Record<string, Probe> = {
  ...onServer({
    'deep find': ({ query, k }) =>
      call('public.memory_find', { query, k, mode: 'deep', explain: true, ...meaning(query) }),
  }),
  'hybrid search': ({ query, k }) => call('public.search_memory', { query, k, explain: true, ...meaning(query) }),
  'hybrid search, filtered': ({ query, k, filters }) =>
    call('public.search_memory', { query, k, explain: true, ...meaning(query), ...filters }),
  'search by meaning': ({ query, k }) =>
    call('public.search_memory', { query, k, mode: 'semantic', explain: true, ...meaning(query) }),
  // Hardly anything is as relevant as that, so that the nearest are shown.
  'search that nothing answers': ({ query, k, filters }) =>
    call('public.search_memory', {
      query: `${UNSEEN} ${query}`,
      k,
      min_relevance: 0.99,
      ...meaning(query),
      ...filters,
    }),
  'lessons that nothing answers': ({ query, k }) =>
    call('public.recall_lessons', { query: `${UNSEEN} ${query}`, k, min_relevance: 0.99, ...meaning(query) }),
  'search within a distance': ({ query, k }) =>
    call('public.search_memory', { query, k, threshold: 0.3, explain: true, ...meaning(query) }),
  'search like a memory': ({ memory, k }) => call('public.search_memory', { packet_id: memory.id, k, explain: true }),
  'lessons by meaning': ({ query, k }) => call('public.recall_lessons', { query, k, ...meaning(query) }),
  'near duplicates by meaning': ({ memory }) =>
    call('duplicates.find_similar', {
      ...placed(memory.content),
      content_vector: model.vectorOf(memory.content),
      model: model.name,
    }),
};

const ofAnyKind: Record<string, Probe> = {
  'newest memories': ({ k, filters }) => call('public.search_memory', { since: '1900-01-01T00:00:00Z', k, ...filters }),
  'search by relations': ({ entity, query, k }) =>
    call('public.search_memory', { query: `${entity} ${query}`, k, mode: 'graph', explain: true }),
  ...onServer({
    'find by relations': ({ entity, query, k }) =>
      call('public.memory_find', { query: `what depends on ${entity} ${query}`, k, explain: true }),
  }),
  'lessons of a branch': ({ query, k }) => call('public.recall_lessons', { query, k, branch: 'main' }),
  lessons: ({ query, k }) => call('public.recall_lessons', { query, k }),
  'newest lessons': ({ k }) => call('public.recall_lessons', { k }),
  'near duplicates': ({ memory }) => call('duplicates.find_similar', placed(memory.content)),
  'near duplicates of a memory': ({ memory }) => ({
    statement: 'select to_jsonb(duplicates.similar_to_memory($1))::text as answer',
    values: [memory.id],
  }),
  'a save that keeps': ({ memory, random }) =>
    call(
      'public.save_memory',
      { content: `${memory.content} ${word(random)}`, project_id: PROJECT, on_similar: 'keep' },
      saved,
    ),
  'a save that skips': ({ memory, random }) =>
    call(
      'public.save_memory',
      { content: `${memory.content} ${word(random)}`, project_id: PROJECT, on_similar: 'skip' },
      saved,
    ),
  'a reflection': ({ memory }) =>
    call('public.reflect', { content: memory.content, project_id: PROJECT }, "jsonb_build_object('status', r.status)"),
  counts: () => call('public.get_memory_stats', {}),
  'counts of a project': () => call('public.get_memory_stats', { project_id: PROJECT }),
  'counts of a branch': () => call('public.get_memory_stats', { project_id: PROJECT, branch: 'main' }),
  facts: ({ entity }) => call('public.find_facts', { subject: entity }),
  relations: ({ entity }) => call('public.explore_graph', { entity }),
  'a memory': ({ memory }) => call('public.get_memory', { packet_id: memory.id }),
};

const placed = (content: string) => ({
  content,
  scope: 'developer',
  project_id: PROJECT,
  branch: null,
  kind: 'note',
  org_id: null,
  user_id: null,
});

/** Half of the questions are about words, of which the statistics are; meaning is asked only where it is compared exactly. */
export function questionsFor(world: World, random: Random, count: number, asksMeaning: boolean): Asked[] {
  const kinds = [byWords, byWords, ofAnyKind, asksMeaning ? byMeaning : byWords].map((kind) => Object.entries(kind));
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const turns = new Map<unknown, number>();
  return Array.from({ length: count }, (_, n) => {
    const kind = kinds[n % kinds.length]!;
    const turn = turns.get(kind) ?? 0;
    turns.set(kind, turn + 1);
    const [probe, ask] = kind[turn % kind.length]!;
    const attacked = [CANARY, DECOY, `${CANARY} ${DECOY}`, `pad ${CANARY} ${UNSEEN}`, `${UNSEEN} ${DECOY}`];
    const query = [...(n % 3 ? [pick(attacked)] : []), sentence(random, 1 + Math.floor(random() * 4))].join(' ');
    const question: Question = {
      // Nothing else is as telling as the two words by themselves.
      query: n % 5 === 0 ? `${CANARY} ${DECOY}` : query,
      k: pick([1, 10, 10, 100]),
      filters: pick([
        { project_id: PROJECT },
        { project_id: PROJECT, branch: 'main' },
        { tags: ['red'] },
        { kinds: ['note', 'finding'] },
        { scopes: ['developer'] },
        { until: '1900-01-01T01:00:00Z' },
        { thread_id: 'thread 0' },
        { creator: 'Cursor-IDE' },
      ]),
      memory: pick(world.visible),
      entity: pick(ENTITIES),
      random,
    };
    const { filters, memory, k } = question;
    return { probe, about: JSON.stringify({ query: question.query, k, filters, memory }), ...ask(question) };
  });
}

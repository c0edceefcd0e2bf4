// What memory_find by words finds, and what it suggests instead where that is little.
import type { Identity } from './identity.ts';
import { isArchived } from './kinds.ts';
import { counting, type Memory, maySee, type World } from './memories.ts';

export interface Question {
  /** One word, which may be misspelt. */
  word: string;
  kinds: string[] | null;
  scope: string | null;
  project: string | null;
  branch: string | null;
  includesArchived: boolean;
}

export interface Suggestion {
  reason: string;
  value: string;
  hits: number;
}

const FEW = 3;
const MOST_OF_A_REASON = 3;

/** In a project also what belongs to no project, and in a branch what holds for every branch. */
const isAsked = (memory: Memory, { scope, project, branch }: Pick<Question, 'scope' | 'project' | 'branch'>) =>
  (scope === null || memory.scope === scope) &&
  (project === null || memory.project === null || memory.project === project) &&
  (branch === null || memory.branch === null || memory.branch === branch);

const matches = (world: World, me: Identity, question: Question): Memory[] =>
  counting(world, me).filter(
    (memory) =>
      isAsked(memory, question) &&
      (question.kinds === null || question.kinds.includes(memory.kind)) &&
      (question.includesArchived || !isArchived(memory)) &&
      memory.content.toLowerCase().split(/\W+/).includes(question.word),
  );

export function find(world: World, me: Identity, question: Question) {
  const hits = matches(world, me, question);
  return {
    hits,
    suggestions: hits.length < FEW ? suggest(world, me, question) : [],
  };
}

function suggest(world: World, me: Identity, question: Question): Suggestion[] {
  const { kinds, branch, includesArchived } = question;
  const suggestions: Suggestion[] = [];
  const word = correct(world, me, question);
  const hits = word === undefined ? 0 : matches(world, me, { ...question, word }).length;
  if (hits > 0) suggestions.push({ reason: 'spelling', value: word!, hits });
  if (kinds !== null) {
    const others = matches(world, me, { ...question, kinds: null }).filter(({ kind }) => !kinds.includes(kind));
    suggestions.push(
      ...most(
        'kind',
        others.map(({ kind }) => kind),
      ),
    );
  }
  if (branch !== null) {
    const others = matches(world, me, { ...question, branch: null }).flatMap((one) => one.branch ?? []);
    suggestions.push(
      ...most(
        'branch',
        others.filter((other) => other !== branch),
      ),
    );
  }
  if (!includesArchived) {
    const archived = matches(world, me, { ...question, includesArchived: true }).filter(isArchived).length;
    if (archived > 0) suggestions.push({ reason: 'archived', value: '', hits: archived });
  }
  return suggestions;
}

function most(reason: string, values: string[]): Suggestion[] {
  return [...new Set(values)]
    .map((value) => ({ reason, value, hits: values.filter((other) => other === value).length }))
    .sort((a, b) => b.hits - a.hits || (a.value < b.value ? -1 : 1))
    .slice(0, MOST_OF_A_REASON);
}

/** A word is corrected to one that is known from titles, texts and things that are related. */
function correct(world: World, me: Identity, { word, scope, project }: Question): string | undefined {
  const isThere = counting(world, me).some(
    (memory) => isAsked(memory, { scope, project, branch: null }) && memory.content.toLowerCase().includes(word),
  );
  if (isThere) return undefined;
  const titles = counting(world, me)
    .filter((memory) => isAsked(memory, { scope, project, branch: null }))
    .map(({ fields, content }) => `${fields?.title ?? ''} ${content}`);
  const things = world.knowledge.rows.flatMap(({ table, packet, says }) => {
    const memory = world.memories.get(packet)!;
    return table === 'relationship_evidence' && memory.tenant === me.tenant && maySee(me, memory)
      ? [says[0]!, says[2]!]
      : [];
  });
  const known = new Set([...titles, ...things].flatMap((text) => text.toLowerCase().split(/\W+/)));
  const candidate = misspelt(word);
  return known.has(candidate) && !known.has(word) ? candidate : undefined;
}

/** Misspelt words have a letter too many; none is like another. */
const misspelt = (word: string) => word.replace(/x$/, '');

// What a session is told, by hooks and by the prompts and resources of MCP: at its start the rules, decisions, open todos, lessons and the last session of its project, and with a prompt
// what the prompt is about.
import { blockOf, MOST_OF_A_TEXT, type Recollection, type Section } from './block.ts';

/** A call of an operation. */
export interface Call {
  tool: string;
  arguments: Record<string, unknown>;
}

/** Makes calls and returns their structured answers, in the order of the calls; null for one that was refused. */
export type CallTools = (calls: readonly Call[]) => Promise<(Record<string, unknown> | null)[]>;

/** The budgets of an answer, in tokens. */
export const BUDGET = { start: 1_200, prompt: 400 } as const;

/** How many calls a recall makes at most. */
export const CALLS = { start: 5, prompt: 1 } as const;

const MOST_OF_A_KIND = 20;
const MOST_LESSONS = 10;
const MOST_HITS = 10;
const MOST_OF_A_PROMPT = 4_000;
const DAY_MS = 24 * 60 * 60_000;
/** After so long, being new counts half. */
const HALF_LIFE_DAYS = 30;

type Row = Record<string, unknown>;

const rowsOf = (answer: Row | null | undefined, field: string): Row[] =>
  Array.isArray(answer?.[field]) ? (answer[field] as Row[]) : [];
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Who saved it, and the administrator whose words it holds by now. */
const writersOf = ({ creator, text_creator: textCreator }: Row): string =>
  textCreator && textCreator !== creator ? `${text(creator)}, text by ${text(textCreator)}` : text(creator);

/** Nothing for what something newer has superseded. */
function recollectionOf(row: Row, id: unknown, content: unknown, at: unknown): Recollection[] {
  if (row.superseded_by && !row.is_partly_superseded) return [];
  return [{ id: text(id), text: text(content), at: text(at), creator: writersOf(row) }];
}

/** The newest and most important first. */
function byWorth(rows: Row[], now: number): Row[] {
  const worth = ({ importance, timestamp }: Row) => {
    const days = Math.max(0, now - Date.parse(text(timestamp))) / DAY_MS;
    return (
      (typeof importance === 'number' ? importance : 0) +
      0.5 ** (1 + (Number.isNaN(days) ? 1e6 : days) / HALF_LIFE_DAYS)
    );
  };
  return [...rows].sort((a, b) => worth(b) - worth(a));
}

const ofKinds = (kinds: string[], where: Row, place: Row): Call => ({
  tool: 'search_memory',
  arguments: { kinds, k: MOST_OF_A_KIND, ...(Object.keys(where).length > 0 && { where }), ...place },
});

export interface Recalling {
  budget: number;
  /** The ids of what the session was told before. */
  given: ReadonlySet<string>;
  /** Outside of any project only what is for everyone is recalled. */
  isInProject: boolean;
  /** The project, where the working copy of the caller does not say it. */
  project?: string;
}

/** Where it looks. */
const placeOf = ({ isInProject, project }: Recalling): Row =>
  isInProject ? { ...(project !== undefined && { project_id: project }) } : { scopes: ['global'] };

/** What a session of this project needs to know, within a budget. */
export async function recallForStart(
  callTools: CallTools,
  { now, ...recalling }: Recalling & { now: number },
): Promise<{ text: string; ids: string[] } | null> {
  const { budget, given, isInProject } = recalling;
  const place = placeOf(recalling);
  const [rules, decisions, todos, lessons, sessions] = await callTools([
    ofKinds(['rule', 'preference'], {}, place),
    ofKinds(['decision'], { status: 'accepted' }, place),
    ofKinds(['todo'], { status: ['open', 'in_progress', 'blocked'] }, place),
    { tool: 'recall_lessons', arguments: { k: MOST_LESSONS, ...place } },
    ...(isInProject ? [{ tool: 'query_cascade_memories', arguments: { limit: 1, ...place } }] : []),
  ]);
  const hitsOf = (answer: Row | null | undefined): Recollection[] =>
    byWorth(rowsOf(answer, 'hits'), now).flatMap((hit) =>
      recollectionOf(hit, hit.packet_id, hit.content, hit.timestamp),
    );
  const sections: Section[] = [
    { title: 'Rules', items: hitsOf(rules) },
    { title: 'Decisions', items: hitsOf(decisions) },
    { title: 'Open todos', items: hitsOf(todos) },
    {
      title: 'Lessons',
      items: rowsOf(lessons, 'lessons').flatMap((one) =>
        recollectionOf(one, one.packet_id, one.content, one.last_seen),
      ),
    },
    {
      title: 'The last session',
      items: rowsOf(sessions, 'sessions').flatMap((one) =>
        recollectionOf(one, one.packet_id, one.summary, one.happened_at),
      ),
    },
  ];
  return blockOf(withoutGiven(sections, given), budget);
}

/** What a prompt is about, as far as it is relevant by itself and not given yet. */
export async function recallForPrompt(
  callTools: CallTools,
  prompt: string,
  recalling: Recalling,
): Promise<{ text: string; ids: string[] } | null> {
  const query = [...prompt].slice(0, MOST_OF_A_PROMPT).join('');
  const [found] = await callTools([
    { tool: 'search_memory', arguments: { query, k: MOST_HITS, ...placeOf(recalling) } },
  ]);
  const floor = (found?.searched as Row | undefined)?.min_relevance;
  const isRelevant = ({ relevance }: Row) =>
    typeof relevance !== 'number' || typeof floor !== 'number' || relevance >= floor;
  const items = rowsOf(found, 'hits')
    .filter(isRelevant)
    .flatMap((hit) => recollectionOf(hit, hit.packet_id, bestPartOf(hit), hit.timestamp));
  const { budget, given } = recalling;
  return blockOf(withoutGiven([{ title: 'About this prompt', items }], given), budget);
}

/** The part that matched, of a text that is too long to be told whole. In a part the words of the question are marked. */
const bestPartOf = ({ content, snippet }: Row): string =>
  text(content).length <= MOST_OF_A_TEXT ? text(content) : text(snippet);

const withoutGiven = (sections: Section[], given: ReadonlySet<string>): Section[] =>
  sections.map(({ title, items }) => ({ title, items: items.filter(({ id }) => !given.has(id)) }));

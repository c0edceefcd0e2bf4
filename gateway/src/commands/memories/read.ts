// `l9-memory search`, `list`, `show` and `facts`, through the GraphQL API and with the rights of a caller.
import {
  answered,
  jsonLines,
  LEAST_ROOM,
  minuteOf,
  type OutputOptions,
  preview,
  roomBeside,
  styled,
  table,
  visible,
  widest,
} from '../support/output.ts';
import {
  FACT,
  type Fact,
  MEMORY,
  type Memory,
  numberOf,
  objectOf,
  type PlaceOptions,
  placeOf,
  projectFor,
  read,
  sentenceOf,
  stateOf,
} from './shared.ts';

const HIT =
  'packetId kind content snippet scope projectId creator timestamp score relevance supersededBy reviewState isOwn';

interface Hit {
  packetId: string;
  kind: string;
  snippet: string;
  scope: string;
  projectId: string | null;
  creator: string;
  timestamp: string;
  relevance: number | null;
  supersededBy: string | null;
  reviewState: string | null;
}

export interface SearchOptions extends PlaceOptions {
  limit: string;
  kinds?: string[];
  tags?: string[];
  since?: string;
  until?: string;
  mode?: string;
}

const SEARCH = `query ($query: String!, $k: Int, $mode: SearchMode, $projectId: String, $scopes: [String!], $kinds: [String!],
  $tags: [String!], $since: Datetime, $until: Datetime) {
  searchMemory(query: $query, k: $k, mode: $mode, projectId: $projectId, scopes: $scopes, kinds: $kinds, tags: $tags, since: $since,
    until: $until) {
    hits { ${HIT} } nearest { packetId kind snippet scope projectId relevance } searched { notice }
  }
}`;

/** Prints the memories that answer a question, the best first. */
export const search = (env: NodeJS.ProcessEnv, words: string[], options: SearchOptions) =>
  answered(env, options, async (client) => {
    const { scope, kinds, tags, since, until, mode } = options;
    const { searchMemory } = await client.request<{
      searchMemory: { hits: Hit[]; nearest: Nearest[]; searched: { notice: string | null } };
    }>(SEARCH, {
      ...{ query: words.join(' '), k: numberOf('--limit', options.limit, 100), mode: mode ?? 'hybrid' },
      ...{ kinds, tags, since, until, projectId: options.allProjects ? '*' : projectFor(env, options) },
      scopes: scope === undefined ? undefined : [scope],
    });
    const { hits, nearest, searched } = searchMemory;
    if (options.json) {
      if (searched.notice) process.stderr.write(`${searched.notice}\n`);
      return jsonLines([...hits, ...nearest.map((one) => ({ ...one, isNearest: true }))]);
    }
    const found = hits.map((hit) => `${headOf(hit)}\n  ${preview(hit.snippet, twoLines())}\n`);
    const notice = searched.notice ?? (hits.length === 0 ? 'Nothing was found.' : null);
    const near = nearest.map(
      (one) => `\n${headOfNearest(one)}\n  ${styled('dim', preview(one.snippet, twoLines()))}\n`,
    );
    return `${found.join('\n')}${notice ? `${found.length > 0 ? '\n' : ''}${notice}\n` : ''}${near.join('')}`;
  });

/** What comes closest where nothing matched well: it may have nothing to do with the question. */
type Nearest = Pick<Hit, 'packetId' | 'kind' | 'snippet' | 'scope' | 'projectId' | 'relevance'>;

const twoLines = () => 2 * Math.max(LEAST_ROOM, roomBeside(4));

const headOfNearest = (one: Nearest) =>
  [
    styled('dim', 'nearest:'),
    `${one.kind} in ${placeOf(one)}`,
    ...(one.relevance === null ? [] : [`relevance ${one.relevance.toFixed(2)}`]),
    styled('dim', one.packetId),
  ].join('  ');

const headOf = (hit: Hit) =>
  [
    `${styled('bold', hit.kind)} in ${placeOf(hit)} by ${hit.creator}, ${minuteOf(hit.timestamp)}`,
    ...(hit.relevance === null ? [] : [`relevance ${hit.relevance.toFixed(2)}`]),
    ...(hit.supersededBy ? [styled('yellow', 'superseded')] : []),
    ...(hit.reviewState === 'pending' ? [styled('yellow', 'waits for a review')] : []),
    styled('dim', hit.packetId),
  ].join('  ');

export interface ListOptions extends PlaceOptions {
  limit: string;
  kind?: string;
}

const PAGE = 100;
const LIST = `query ($filter: MemoryFilter, $first: Int!, $after: Cursor) {
  memories(filter: $filter, first: $first, after: $after, orderBy: [CREATED_AT_DESC]) {
    nodes { ${MEMORY} } pageInfo { hasNextPage endCursor }
  }
}`;

/** Prints the newest memories. */
export const list = (env: NodeJS.ProcessEnv, options: ListOptions) =>
  answered(env, options, async (client) => {
    const most = numberOf('--limit', options.limit, 100_000);
    const project = projectFor(env, options);
    const filter = {
      ...(project === undefined ? {} : { projectId: { equalTo: project } }),
      ...(options.scope === undefined ? {} : { scope: { equalTo: options.scope } }),
      ...(options.kind === undefined ? {} : { kind: { equalTo: options.kind } }),
    };
    const found: Memory[] = [];
    for (let after: string | null = null; found.length < most; ) {
      const first = Math.min(PAGE, most - found.length);
      const { memories }: ListPage = await client.request<ListPage>(LIST, {
        ...(Object.keys(filter).length > 0 ? { filter } : {}),
        ...{ first, after },
      });
      found.push(...memories.nodes);
      if (!memories.pageInfo.hasNextPage) break;
      after = memories.pageInfo.endCursor;
    }
    if (options.json) return jsonLines(found);
    if (found.length === 0) {
      const { scope, kind } = options;
      const such = [kind && ` of kind ${kind}`, scope && ` in scope ${scope}`, project && ` in project ${project}`];
      return `There are no memories${such.filter(Boolean).join('')}.\n`;
    }
    return listed(found);
  });

const COLUMNS: [string, (one: Memory) => string][] = [
  ['time', (one) => minuteOf(one.timestamp)],
  ['id', (one) => one.packetId],
  ['kind', (one) => one.kind],
  ['in', placeOf],
];

/** A table of a line for each. Where the terminal is narrow, it goes without the times and the places; other commands take the ids. */
function listed(memories: Memory[]): string {
  const room = (columns: typeof COLUMNS) =>
    roomBeside(columns.reduce((sum, [name, of]) => sum + widest([name, ...memories.map(of)]) + 2, 0));
  let columns = COLUMNS;
  for (const dropped of ['time', 'in'])
    if (room(columns) < LEAST_ROOM) columns = columns.filter(([name]) => name !== dropped);
  const length = Math.max(LEAST_ROOM, room(columns));
  return table(
    [...columns.map(([name]) => name), 'text'],
    memories.map((one) => [...columns.map(([, of]) => of(one)), preview(one.title ?? one.content, length)]),
  );
}

interface ListPage {
  memories: { nodes: Memory[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } };
}

/** Prints a memory whole. */
export const show = (env: NodeJS.ProcessEnv, packetId: string, options: OutputOptions) =>
  answered(env, options, async (client) => {
    const memory = await read(client, packetId);
    if (options.json) return jsonLines([memory]);
    const { title: _, content: __, ...fields } = memory.envelope;
    const lines: [string, string | null | undefined][] = [
      ['id', memory.packetId],
      ['kind', `${memory.kind} in ${placeOf(memory)}${memory.branch ? `, branch ${memory.branch}` : ''}`],
      ['by', [memory.metadata.creator, memory.speaker && `said by ${memory.speaker}`].filter(Boolean).join(', ')],
      ['title', memory.title],
      ['time', `${minuteOf(memory.timestamp)} UTC, changed ${minuteOf(memory.updatedAt)}`],
      ['tags', memory.tags.join(', ')],
      ['thread', memory.threadId],
      ['review', [memory.reviewState, memory.reviewReason].filter(Boolean).join(': ')],
      ['superseded', memory.supersededBy && `by ${memory.supersededBy}`],
      ...Object.entries(fields).map(([name, value]): [string, string] => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
      ...memory.facts.nodes.map((fact): [string, string] => ['fact', sentenceOf(fact)]),
    ];
    const head = lines.flatMap(([name, value]) =>
      value ? [`${styled('dim', visible(name).padEnd(10))} ${visible(value)}\n`] : [],
    );
    return `${head.join('')}\n${visible(memory.content)}\n`;
  });

export interface FactsOptions extends PlaceOptions {
  limit: string;
  predicate?: string;
  history?: boolean;
}

const FACTS = `query ($subject: String, $predicate: String, $k: Int, $includeHistory: Boolean, $projectId: String, $scope: String) {
  findFacts(subject: $subject, predicate: $predicate, k: $k, includeHistory: $includeHistory, projectId: $projectId, scope: $scope) { ${FACT} }
}`;

/** Prints what is known of a subject, or everything, the most certain first. */
export const facts = (env: NodeJS.ProcessEnv, subject: string | undefined, options: FactsOptions) =>
  answered(env, options, async (client) => {
    const { predicate, scope, history: includeHistory = false } = options;
    const variables = {
      ...{ subject, predicate, scope, includeHistory, k: numberOf('--limit', options.limit, 100) },
      projectId: options.project,
    };
    const { findFacts } = await client.request<{ findFacts: Fact[] }>(FACTS, variables);
    if (options.json) return jsonLines(findFacts);
    if (findFacts.length === 0) return 'No facts were found.\n';
    return table(
      ['subject', 'predicate', 'object', 'confidence', 'since', ''],
      findFacts.map((fact) => [
        preview(fact.subject, 40),
        preview(fact.predicate, 30),
        preview(objectOf(fact), 60),
        fact.confidence.toFixed(2),
        minuteOf(fact.validFrom),
        stateOf(fact),
      ]),
    );
  });

// A run of the model-based test: its state, the turn of one caller, and the comparisons with the model.

import { eventually } from '../../../../db/tests/support/eventually.ts';
import type { TestGateway } from '../../support/gateway.ts';
import type { Identity, Memory, Wanted, World } from '../model.ts';
import * as model from '../model.ts';
import { graphqlApi, mcpApi } from './gateway-apis.ts';
import { type Answer, type Apis, accepted, type Filter, type Seen, type SessionApi } from './session-apis.ts';
import { functionApi, tableApi } from './sql-apis.ts';
import type { Session } from './world.ts';

export const createApis = (gateway: TestGateway): Apis => ({
  graphql: graphqlApi(gateway),
  mcp: mcpApi(gateway),
  sql: functionApi(gateway),
  table: tableApi(gateway),
});

export interface Run {
  gateway: TestGateway;
  world: World;
  sessions: Session[];
  apis: Apis;
  /** Ids of deleted memories. */
  gone: string[];
  updates: number;
  /** The last save of each session that had an idempotency key. */
  keyed: Map<Session, Wanted>;
}

/** One operation of one caller. */
export interface Turn {
  run: Run;
  session: Session;
  me: Identity | null;
  api: SessionApi;
  /** The request, for failure messages. */
  asked: object;
}

export const turnOf = (run: Run, session: Session, api: SessionApi): Turn => {
  return { run, session, api, asked: {}, me: model.identityOf(run.world, session.claims) };
};

/** The APIs that a session can use. */
export const apisOf = ({ apis }: Run, { apiKey }: Session): SessionApi[] => [
  apis.table,
  apis.sql,
  apis.graphql,
  ...(apiKey ? [apis.mcp] : []),
];

export const pick = <T>(list: readonly T[], n: number): T => list[n % list.length] as T;

// The outcome.

export const done = { refused: null };

/** Checks that the outcome is the expected one, and returns the error code, or null without one. */
export function refusal<Done>(expected: { refused: model.Code[] | null }, answer: Answer<Done>): string | null {
  if (expected.refused) {
    expect(answer.code, `it was done, but should be refused with ${expected.refused.join(' or ')}`).not.toBeNull();
    expect(
      expected.refused as (string | null)[],
      `it was refused with ${answer.code}, but should be with ${expected.refused.join(' or ')}`,
    ).toContain(answer.code);
  } else {
    expect(
      answer.code,
      `it was refused with ${answer.code} (${'text' in answer && answer.text}), but is allowed`,
    ).toBeNull();
  }
  return answer.code;
}

/** Takes over whose text these memories are, where the model can't tell. */
export async function learnTextCreators({ gateway, world }: Run, ids: string[]): Promise<void> {
  const rows = await gateway.asSuperuser(
    'select packet_id as id, text_creator as "textCreator" from public.packet_store where packet_id = any ($1)',
    [ids],
  );
  for (const { id, textCreator } of rows) world.memories.set(id, { ...world.memories.get(id)!, textCreator });
}

export const asSeen = ({ id, content, scope, project, branch, kind, creator }: Memory): Seen => ({
  id,
  content,
  scope,
  project,
  branch,
  kind,
  creator,
});

/** The same memories, each with the same in it. */
export function same(seen: readonly Seen[], expected: readonly Memory[], where: string): void {
  const is = new Map(seen.map((memory) => [memory.id, memory]));
  expect(is.size, `${where}: a memory is there twice`).toBe(seen.length);
  for (const memory of expected)
    expect(is.get(memory.id), `${where}: memory ${memory.id} is, and should be`).toStrictEqual(asSeen(memory));
  const allowed = new Set(expected.map(({ id }) => id));
  expect(
    seen.filter(({ id }) => !allowed.has(id)),
    `${where}: shows what is not to be seen`,
  ).toStrictEqual([]);
}

/** Nobody is shown nothing: either as an error, or as there being none. */
export function nothing(answer: Answer<{ seen: Seen[] }>): string {
  if (answer.code === null) {
    expect(answer.seen).toStrictEqual([]);
    return 'found nothing';
  }
  expect(answer.code).toBe('L9AUT');
  return answer.code;
}

/** The gateway hears of changes a moment later: what it turned out at once, it lets in again when it has heard. */
export async function heardOf({ world, apis }: Run, session: Session): Promise<void> {
  if (!model.identityOf(world, session.claims)) return;
  await eventually(async () => (await apis.graphql.list(session, {})).code === null);
}

/** What has been archived is in lists and searches only where it is asked for. The table shows it always. */
export const isListed = ({ api, run }: Turn, { includesArchived }: Filter, memory: Memory): boolean =>
  api === run.apis.table ||
  ((includesArchived === true || !model.isArchived(memory)) &&
    // Lists of GraphQL mark what waits for a review; searches leave it out.
    (api === run.apis.graphql || !model.isWithheld(memory)));

/** A memory of exactly this place and kind. */
export const fits = (
  { scope, project, branch, kind }: Memory,
  filter: { [Name in keyof Filter]: Filter[Name] | undefined },
) =>
  (filter.scope === undefined || scope === filter.scope) &&
  (filter.project === undefined || project === filter.project) &&
  (filter.branch === undefined || branch === filter.branch) &&
  (filter.kind === undefined || kind === filter.kind);

/** All that the caller sees, listed, and counted where the API counts. */
export async function compareList(turn: Turn, filter: Filter = {}): Promise<string> {
  const { run, session, me, api } = turn;
  const answer = await api.list(session, filter);
  if (!me) return nothing(answer);
  const { seen, count } = accepted(answer);
  const expected = model.visible(run.world, me).filter((memory) => isListed(turn, filter, memory));
  same(seen, expected, `all that the caller sees through ${api.name}`);
  expect(count, 'how many there are').toBe(expected.length);
  return 'found';
}

const countBy = (memories: readonly Memory[], name: (memory: Memory) => string | null) => {
  const counts: Record<string, number> = {};
  for (const memory of memories) {
    const key = name(memory);
    if (key !== null) counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
};

export async function compareStats({ run, session, me, api }: Turn): Promise<string> {
  const answer = await api.stats(session);
  const refused = refusal(me ? done : { refused: ['L9AUT', 'L9SCP'] }, answer);
  if (answer.code !== null) return refused!;
  const memories = model.counting(run.world, me);
  const { total, by_kind, by_scope, by_project, by_creator, embedded, awaiting_embedding } = answer.stats;
  expect(
    { total, by_kind, by_scope, by_project, by_creator, with_and_without_vectors: embedded + awaiting_embedding },
    `counts through ${api.name}`,
  ).toStrictEqual({
    total: memories.length,
    by_kind: countBy(memories, ({ kind }) => kind),
    by_scope: countBy(memories, ({ scope }) => scope),
    by_project: countBy(memories, ({ project }) => project),
    by_creator: countBy(memories, ({ creator }) => creator),
    with_and_without_vectors: memories.length,
  });
  return 'counted';
}

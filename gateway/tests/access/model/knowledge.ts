// Derived rows as plain values: a row is deleted and moved with its memory, and has the same readers.
import type { Code, Identity, Memory, Wanted, World } from '../model.ts';
import { forget, isForTheSame, isWithheld, mayRestOn, maySee } from '../model.ts';

/** Tables with rows that are each of one memory. */
export type Table =
  | 'fact_evidence'
  | 'relationship_evidence'
  | 'entity_aliases'
  | 'world_model_updates'
  | 'world_model_snapshots'
  | 'reflection_store'
  | 'task_reflections'
  | 'memory_summaries';

/** What a memory says there. */
export interface Row {
  table: Table;
  packet: string;
  says: readonly string[];
  /** For the memory that asserts a fact: the id of the fact, once it is retracted. */
  retracted?: string;
}

export type Says = Pick<Row, 'table' | 'says'>;

export interface Knowledge {
  rows: Row[];
  /** Summary → what it rests on. */
  summaries: Map<string, string[]>;
  /** What has an expiry, in 2099. */
  expireLater: Set<string>;
  /** Numbers for what must be said but once. */
  counter: number;
}

export const nothingKnown = (): Knowledge => ({
  rows: [],
  summaries: new Map(),
  expireLater: new Set(),
  counter: 0,
});

const keyOf = ({ table, packet, says, retracted }: Row) => JSON.stringify([table, packet, says, retracted ?? null]);

/** Said again, it is the same. */
export function addRow({ knowledge }: World, row: Row): void {
  if (!knowledge.rows.some((other) => keyOf(other) === keyOf(row))) knowledge.rows.push(row);
}

/** Whether the caller may make something of a memory: it sees it, and may write where it is. */
export function mayDerive(me: Identity | null, memory: Memory | undefined): Code[] {
  if (!me) return ['L9AUT', 'L9OWN', 'L9SCP'];
  if (me.role === 'l9_platform_admin') return ['L9SCP'];
  if (!memory || !maySee(me, memory)) return ['L9OWN'];
  if (isWithheld(memory)) return ['L9OWN', 'L9IMM'];
  return me.writes.includes(memory.scope) ? [] : ['L9SCP'];
}

/** What goes with a memory: the summaries that rest on it, and on those. */
export function goesWith(world: World, id: string): Set<string> {
  const gone = new Set([id]);
  for (const one of gone) {
    for (const [summary, sources] of world.knowledge.summaries) if (sources.includes(one)) gone.add(summary);
  }
  return gone;
}

export function forgetDerived(world: World, id: string): void {
  const { knowledge } = world;
  knowledge.rows = knowledge.rows.filter(({ packet }) => packet !== id);
  knowledge.expireLater.delete(id);
  knowledge.summaries.delete(id);
  forgetSummariesOf(world, id);
}

function forgetSummariesOf(world: World, id: string): void {
  for (const [summary, sources] of [...world.knowledge.summaries]) if (sources.includes(id)) forget(world, summary);
}

const livesOtherwise = ({ knowledge }: World, id: string, expiry: Wanted['expiry'] | undefined) =>
  expiry === 'soon' || (expiry === 'later' && !knowledge.expireLater.has(id));

/** A summary goes nowhere where what it rests on could not be read, nor where one of the same subject is. */
export function mayFollow(world: World, me: Identity, next: Memory, was: Memory, expiry?: Wanted['expiry']): Code[] {
  const { summaries } = world.knowledge;
  const sources = summaries.get(next.id);
  const moves = !isForTheSame(next, was);
  if (!sources || !(moves || livesOtherwise(world, next.id, expiry))) return [];
  const codes: Code[] = sources.every((id) => mayRestOn(world, me, next, world.memories.get(id)))
    ? []
    : ['L9VAL', 'L9OWN'];
  const former = summaryOf(world, next, subjectOf(world, next.id), next.id);
  const isTaken = former !== undefined && !former.isExpired;
  return moves && isTaken ? [...codes, 'L9VAL'] : codes;
}

/** What was derived moves where its memory has moved. */
export function follow(world: World, next: Memory, was: Memory, expiry?: Wanted['expiry']): void {
  const { knowledge } = world;
  const moves = !isForTheSame(next, was);
  if (moves) {
    const former = knowledge.summaries.has(next.id) && summaryOf(world, next, subjectOf(world, next.id), next.id);
    if (former) forget(world, former.id);
    knowledge.rows = knowledge.rows.filter((row) => row.packet !== next.id || !staysBehind(world, row));
  }
  if (moves || livesOtherwise(world, next.id, expiry)) forgetSummariesOf(world, next.id);
  if (expiry === 'later') knowledge.expireLater.add(next.id);
  if (expiry === 'soon') knowledge.expireLater.delete(next.id);
}

/** A snapshot is of the world that it was made of; and a fact that was retracted stays with the others that say so. */
const staysBehind = ({ knowledge }: World, { table, packet, retracted }: Row) =>
  table === 'world_model_snapshots' ||
  (retracted !== undefined && knowledge.rows.some((other) => other.retracted === retracted && other.packet !== packet));

export const subjectOf = ({ knowledge }: World, id: string) =>
  knowledge.rows.find(({ table, packet }) => table === 'memory_summaries' && packet === id)?.says[0];

/** The summary of a subject that is there, for the same readers. */
export const summaryOf = (
  world: World,
  audience: Memory,
  subject: string | undefined,
  except?: string,
): Memory | undefined =>
  [...world.knowledge.summaries.keys()]
    .map((id) => world.memories.get(id)!)
    .find((other) => other.id !== except && isForTheSame(other, audience) && subjectOf(world, other.id) === subject);

/** What is erased with a memory: summaries, and facts that rest on nothing else. */
export function erasedWith(world: World, id: string): Set<string> {
  const gone = new Set([id]);
  for (let before = 0; before < gone.size; ) {
    before = gone.size;
    for (const one of world.memories.values()) {
      const { kind, parents } = one;
      if (!['summary', 'fact', 'reflection'].includes(kind) || parents.length === 0) continue;
      const restsOnIt = world.knowledge.summaries.get(one.id)?.some((source) => gone.has(source));
      const isLeft = parents.some((parent) => world.memories.has(parent) && !gone.has(parent));
      if (restsOnIt || (parents.some((parent) => gone.has(parent)) && !isLeft)) gone.add(one.id);
    }
  }
  return gone;
}

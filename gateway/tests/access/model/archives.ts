// Archived sessions: each belongs to a memory of kind session, is visible like it, and goes with it.
import { draftOf, faultsOfPlace, ownerOf } from './changes.ts';
import type { Identity } from './identity.ts';
import { type Expected, forget, type Memory, maySee, refuse, type World } from './memories.ts';
import { needsReview } from './reviews.ts';

export interface SessionToStore {
  /** Its id and its summary, which are the whole session. */
  session: string;
  summary: string;
  scope: string;
  project: string | null;
}

export function storeSession(
  world: World,
  me: Identity | null,
  wanted: SessionToStore,
): Expected<
  | { status: 'inserted'; commit(id: string, pointer: string): void }
  | { status: 'skipped_dedupe'; memory: Memory; pointer: string }
> {
  if (!me) return refuse('L9AUT', 'L9SCP');
  if (me.role === 'l9_platform_admin') return refuse('L9SCP');
  const { session, summary } = wanted;
  const draft = draftOf(
    world,
    me,
    { ...wanted, content: summary, branch: null, kind: 'session', parents: [] },
    'function',
  );
  const wrong = faultsOfPlace(world, me, draft);
  if (wrong.length > 0) return refuse(...wrong);
  if (needsReview(world, me, draft)) return refuse('L9IMM');
  const document = JSON.stringify([session, summary]);
  const [twin] = sameSessions(world, draft, document);
  if (twin && !twin.isExpired)
    return { refused: null, status: 'skipped_dedupe', memory: twin, pointer: world.archives.get(twin.id)!.pointer };
  return {
    refused: null,
    status: 'inserted',
    commit(id, pointer) {
      if (twin) forget(world, twin.id);
      world.archives.set(id, { pointer, document });
      world.memories.set(id, { ...draft, id, content: `${summary}\nSession ${session}, archived as ${pointer}` });
    },
  };
}

/** The memories of the same session, archived by the same writer for the same owner, scope and project. */
const sameSessions = (world: World, memory: Memory, document: string): Memory[] =>
  [...world.memories.values()].filter(
    (other) =>
      other.id !== memory.id &&
      world.archives.get(other.id)?.document === document &&
      other.creator === memory.creator &&
      ownerOf(other) === ownerOf(memory),
  );

/** The memory of the same session at the place that an archive would move to with its memory. */
export const archivedTwinOf = (world: World, next: Memory): Memory | undefined => {
  const archive = world.archives.get(next.id);
  return archive && sameSessions(world, next, archive.document)[0];
};

/** What is archived that the caller can read. */
export const visibleArchives = (world: World, me: Identity | null): Memory[] =>
  [...world.memories.values()].filter((memory) => world.archives.has(memory.id) && maySee(me, memory));

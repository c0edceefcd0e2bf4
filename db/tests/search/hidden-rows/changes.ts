// What happens to memories that a reader can't read, between two answers to it.
import { embedPending } from '../../support/embeddings.ts';
import type { TestDatabase } from '../../support/test-database.ts';
import { CANARY, DECOY, type Random, sentence, UNSEEN, word } from './texts.ts';
import { addKnowledge, type Draft, freezeTimes, model, type Place, saveAll, type World } from './world.ts';

export interface Change {
  name: string;
  make(): Promise<unknown>;
}

/** Changes in these places, each of which begins with what the one before has left. */
export function changesIn({ db, visible }: World, places: readonly Place[], random: Random): Change[] {
  const ids = new Map<Place, string[]>(places.map((place) => [place, []]));
  const write = async (count: number, draft: (n: number) => Draft) => {
    for (const [place, drafts] of dealt(
      places,
      Array.from({ length: count }, (_, n) => draft(n)),
    )) {
      ids.get(place)!.push(...(await saveAll(db, place, drafts)));
    }
    await freezeTimes(db);
  };
  let written = 0;
  const canary = async (count: number) => {
    await write(count - written, (n) => ({
      content: `${UNSEEN} ${CANARY} ${n % 3 ? `pad ${CANARY}` : 'of two firms'} ${word(random)} number ${written + n}`,
    }));
    written = count;
  };
  const part = Math.ceil(visible.length * 0.3);

  return [
    {
      name: '30 % more memories',
      async make() {
        await write(Math.min(part, 300), (n) => ({
          // Every other one says nearly what a readable one says.
          content: n % 2 ? sentence(random) : `${visible[(n * 7) % visible.length]!.content} ${word(random)}`,
          kind: ['note', 'finding', 'errand'][n % 3]!,
          tags: [['red'], ['blue'], []][n % 3]!,
          ...(n % 3 === 0 && { thread_id: `thread ${n % 5}` }),
        }));
        for (const [n, place] of places.entries()) if (!place.expires) await addKnowledge(db, place, random, n);
        await freezeTimes(db);
        await embedPending(db, model);
      },
    },
    { name: 'a word once', make: () => canary(1) },
    { name: 'a word 3 times', make: () => canary(3) },
    { name: 'a word 10 times', make: () => canary(10) },
    { name: 'a word 1,000 times', make: () => canary(1000) },
    {
      name: 'changed and deleted memories',
      async make() {
        for (const [place, all] of ids) {
          if (place.expires) continue;
          await db.sql(
            place.caller,
            `update public.packet_store p set envelope = jsonb_build_object('content', '${DECOY} ' || (p.envelope ->> 'content'))
             where p.packet_id = any ($1)`,
            [all.filter((_, n) => n % 5 === 0)],
            place.claims,
          );
          await remove(
            db,
            place,
            all.filter((_, n) => n % 3 === 1),
          );
        }
      },
    },
    { name: 'a tidied index', make: () => tidyIndexes(db) },
    {
      name: 'none of them any more',
      async make() {
        for (const [place, all] of ids) await remove(db, place, all);
        await tidyIndexes(db);
      },
    },
  ];
}

/** The drafts, given to the places in turn. */
const dealt = (places: readonly Place[], drafts: readonly Draft[]) =>
  places.map((place, turn) => [place, drafts.filter((_, n) => n % places.length === turn)] as const);

const remove = (db: TestDatabase, { caller, claims, expires }: Place, ids: readonly string[]) =>
  expires
    ? db.asSuperuser('delete from public.packet_store where packet_id = any ($1)', [ids])
    : db.sql(caller, 'delete from public.packet_store where packet_id = any ($1)', [ids], claims);

/** What jobs do from time to time with what all memories hold. */
export const runJobs = (db: TestDatabase) => db.asWorker('select ranking.count_stale_audiences(100)');

/** What the engine does by itself sooner or later: it moves words from memory to the index, merges segments and counts rows. */
async function tidyIndexes(db: TestDatabase): Promise<void> {
  const indexes = await db.asSuperuser(
    `select c.oid::regclass::text as name from pg_class c join pg_am a on a.oid = c.relam where a.amname = 'bm25'`,
  );
  for (const { name } of indexes) await db.asSuperuser('select bm25_spill_index($1)', [name]);
  await db.asSuperuser('vacuum analyze public.packet_store');
  await db.asSuperuser('vacuum analyze public.memory_contexts');
  await db.asSuperuser('vacuum analyze public.memory_embeddings');
  for (const { name } of indexes) await db.asSuperuser('select bm25_force_merge($1)', [name]);
}

// The random operations of the model-based test, each applied to the model and called through an API.
import fc from 'fast-check';
import * as model from '../model.ts';
import { administrationActs } from './administration-operations.ts';
import { type Act, number } from './arbitraries.ts';
import { archiveActs } from './archive-operations.ts';
import { knowledgeActs } from './knowledge-operations.ts';
import { memoryActs } from './memory-operations.ts';
import { readingActs } from './reading-operations.ts';
import { reviewActs } from './review-operations.ts';
import { apisOf, pick, type Run, type Turn, turnOf } from './run.ts';
import { typedActs } from './typed-operations.ts';

const acts: Record<string, Act> = {
  ...memoryActs,
  ...readingActs,
  ...typedActs,
  ...archiveActs,
  ...administrationActs,
  ...knowledgeActs,
  ...reviewActs,
};

export const operation = fc.noBias(
  fc.oneof(
    ...Object.entries(acts).map(([name, { weight, arbitrary }]) => ({
      weight,
      arbitrary: fc.record({ act: fc.constant(name), who: number, api: number, view: number, given: arbitrary }),
    })),
  ),
);

export type Operation = typeof operation extends fc.Arbitrary<infer One> ? One : never;

/** Whose turn it is, and through which API. */
export function turnFor(run: Run, { act, who, api }: Operation): Turn {
  const { sessions, world } = run;
  const usual = sessions.filter((session) => acts[act]!.by(session) && model.identityOf(world, session.claims));
  const session = pick(who % 6 === 0 ? sessions : usual, Math.floor(who / 6));
  const open = apisOf(run, session);
  const apis = acts[act]!.apis(run).filter((one) => open.includes(one));
  return turnOf(run, session, pick(apis, api));
}

/** Does it in the model and in the database: fails where they differ, else says what came of it, item by item. */
export async function perform(turn: Turn, { act, given }: Operation): Promise<string[]> {
  const there = new Set(turn.run.world.memories.keys());
  const outcome = await acts[act]!.perform(turn, given as never);
  for (const id of there) if (!turn.run.world.memories.has(id)) turn.run.gone.push(id);
  turn.run.gone.splice(0, turn.run.gone.length - 40);
  return [outcome].flat();
}

// Random reads of memories, each compared with what the model shows to the caller.
import fc from 'fast-check';
import type { Memory } from '../model.ts';
import * as model from '../model.ts';
import { type Act, act, filters, functions, number, oneOf, onlySql, target, targetOf } from './arbitraries.ts';
import { asSeen, compareStats, fits, isListed, nothing, pick, type Run, refusal, same } from './run.ts';
import { accepted, statement } from './session-apis.ts';
import { words } from './vocabulary.ts';

const all = ({ apis }: Run) => [apis.table, apis.table, apis.sql, apis.sql, apis.graphql, apis.mcp];
const tables = ({ apis }: Run) => [apis.table, apis.graphql];

export const readingActs: Record<string, Act> = {
  get: act(6, all, target, async (turn, given) => {
    const { run, session, me, api } = turn;
    const id = targetOf(turn, given);
    turn.asked = run.world.memories.get(id) ?? { id };
    const expected = model.get(me, run.world.memories.get(id));
    const answer = await api.get(session, id);
    const refused = refusal(expected, answer);
    if (expected.refused || answer.code !== null) return refused!;
    expect(answer.memory).toStrictEqual(asSeen(expected.memory));
    return 'found';
  }),

  list: act(5, tables, number, async (turn, n) => {
    const { run, session, me, api } = turn;
    const filter = pick(filters, n);
    turn.asked = filter;
    const answer = await api.list(session, filter);
    if (!me) return nothing(answer);
    const { seen, count } = accepted(answer);
    const expected = model
      .visible(run.world, me)
      .filter((memory) => fits(memory, filter) && isListed(turn, filter, memory));
    same(seen, expected, `a list of ${JSON.stringify(filter)}`);
    expect(count, 'how many there are').toBe(expected.length);
    return expected.length > 0 ? 'found' : 'found nothing';
  }),

  search: act(
    6,
    functions,
    fc.record({ word: number, filter: number, mode: oneOf({ lexical: 4, hybrid: 2, semantic: 2 }) }),
    async (turn, given) => {
      const { run, session, me, api } = turn;
      const word = pick(words, given.word);
      const filter = pick([{}, {}, {}, ...filters], given.filter);
      turn.asked = { word, mode: given.mode, ...filter };
      const answer = await api.search(session, word, given.mode, filter);
      if (!me) return nothing(answer);
      const { seen } = accepted(answer);
      // A search in a project also finds memories that belong to no project, and in a branch those of every branch.
      const searched = model.counting(run.world, me).filter(
        (memory) =>
          isListed(turn, filter, memory) &&
          fits(memory, {
            ...filter,
            project: memory.project === null ? undefined : filter.project,
            branch: memory.branch === null ? undefined : filter.branch,
          }),
      );
      const isHit = (memory: Memory) => memory.content.toLowerCase().includes(word);
      const ids = new Set(seen.map(({ id }) => id));
      // By what came before it, only where that says so to the same readers, and is there.
      const isHitByContext = (memory: Memory) =>
        ids.has(memory.id) &&
        model.counting(run.world, me).some((other) => isHit(other) && model.isForTheSame(other, memory));
      const expected = searched.filter(
        (memory) => isHit(memory) || isHitByContext(memory) || (given.mode !== 'lexical' && ids.has(memory.id)),
      );
      // What is found by meaning alone depends on whether its vector has landed.
      const certain = given.mode === 'semantic' ? expected.filter(({ id }) => ids.has(id)) : expected;
      same(seen, certain, `a ${given.mode} search for ${word} in ${JSON.stringify(filter)}`);
      return certain.length > 0 ? 'found' : 'found nothing';
    },
  ),

  stats: act(3, functions, fc.constant(null), compareStats),

  history: act(5, onlySql, target, async (turn, given) => {
    const { run, session, me } = turn;
    const id = targetOf(turn, given);
    turn.asked = run.world.memories.get(id) ?? { id };
    const expected = model.history(me, run.world.memories.get(id));
    const answer = await statement(run.gateway, session, HISTORY, [id]);
    const refused = refusal(expected, answer);
    if (expected.refused || answer.code !== null) return refused!;
    expect(answer.rows, 'the history, the newest first').toStrictEqual(expected.states.map(model.stateOf));
    return 'told';
  }),
};

const HISTORY = `
  select content, state ->> 'scope' as scope, state ->> 'project_id' as project, state ->> 'branch' as branch, state ->> 'kind' as kind,
    state -> 'metadata' ->> 'creator' as creator, state -> 'metadata' -> 'updated_by' ->> 'caller' as "updatedBy",
    state ->> 'review_state' as review
  from public.memory_history($1, 1000)`;

// What memory_find suggests where it finds little, and that nothing of it comes from what the caller can't read.
import { expireMemories, saveMemory } from '../support/memories.ts';
import { named } from '../support/named.ts';
import type { Claims } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';

const OTHER_USER = { 'jwt.claims.user_id': '22222222-2222-4222-8222-222222222222' };

describe('the suggestions of memory_find', () => {
  const db = useTestDatabase();

  const suggestions = async (caller: string, args: object, claims: Claims = {}) => {
    const [{ answer }] = await db.sql(
      caller,
      `select to_jsonb(r.suggestions) as answer from public.memory_find(${named(args)}) r`,
      Object.values(args),
      claims,
    );
    return answer as { reason: string; value: string; hits: number }[];
  };

  beforeAll(async () => {
    const deployment = { tags: ['deployment'], project_id: 'l9' };
    for (const [n, kind] of ['ruling', 'ruling', 'howto'].entries())
      await saveMemory(db, 'C', { content: `The deployment to Frankfurt takes ${n + 2} hours.`, kind, ...deployment });
    await db.sql('C', "select public.relate('checkout-service', 'uses', 'kubernetes', project_id => 'l9')");
  });

  it('corrects the spelling from tags and entities, where that finds something', async () => {
    expect(await suggestions('C', { query: 'deploymnet hours' })).toContainEqual({
      reason: 'spelling',
      value: 'deployment hours',
      hits: 3,
    });
    // The relation has a memory of its own.
    expect(await suggestions('C', { query: 'kubrnetes', mode: 'fast' })).toStrictEqual([
      { reason: 'spelling', value: 'kubernetes', hits: 1 },
    ]);
    // What finds nothing is not suggested.
    expect(await suggestions('C', { query: 'kubrnetes', mode: 'fast', until: '2000-01-01' })).toStrictEqual([]);
    // A word that is known needs no correction, and one that resembles none has none.
    expect(await suggestions('C', { query: 'what about Frankfurt and zzyzx', mode: 'fast', k: 1 })).toStrictEqual([]);
  });

  it('names other kinds in which there is something, with how much', async () => {
    expect(await suggestions('C', { query: 'deployment', kinds: ['task'] })).toStrictEqual([
      { reason: 'kind', value: 'ruling', hits: 2 },
      { reason: 'kind', value: 'howto', hits: 1 },
    ]);
    expect(await suggestions('C', { kinds: ['howto'], project_id: 'l9' })).toContainEqual({
      reason: 'kind',
      value: 'ruling',
      hits: 2,
    });
    expect(await suggestions('C', { query: 'deployment', kinds: ['task'], until: '2000-01-01' })).toStrictEqual([]);
    // Where enough is found, nothing is suggested.
    expect(await suggestions('C', { query: 'deployment', kinds: ['ruling', 'howto'] })).toStrictEqual([]);
  });

  it('names other branches in which there is something', async () => {
    const onBranch = (branch: string) =>
      saveMemory(db, 'C', { content: `The sundial is on ${branch}.`, project_id: 'l9', branch });
    await onBranch('feature/sun');
    await onBranch('main');
    const args = { query: 'sundial', project_id: 'l9', branch: 'main', mode: 'fast' };
    expect(await suggestions('C', args)).toStrictEqual([{ reason: 'branch', value: 'feature/sun', hits: 1 }]);
  });

  it('names what leaving out one condition finds, also where more than a hundred match elsewhere', async () => {
    const place = { project_id: 'orrery', kind: 'note' };
    const save = (n: number, more: object) =>
      saveMemory(db, 'C', { content: `The orrery turns, number ${n}.`, ...place, ...more });
    for (const n of [1, 2]) await save(n, { kind: 'ruling', branch: 'main' });
    for (const n of [3, 4, 5]) await save(n, { kind: 'task', branch: 'other' });
    // Another kind on another branch: neither condition by itself hides it.
    await save(6, { kind: 'ruling', branch: 'other' });
    const args = { query: 'orrery', mode: 'fast', project_id: 'orrery', kinds: ['task'], branch: 'main' };
    const few = [
      { reason: 'kind', value: 'ruling', hits: 2 },
      { reason: 'branch', value: 'other', hits: 3 },
    ];
    expect(await suggestions('C', args)).toStrictEqual(few);
    for (let n = 10; n < 112; n++) await save(n, { branch: 'third' });
    expect(await suggestions('C', args)).toStrictEqual(few);
  });

  it('suggests nothing from what the caller cannot read', async () => {
    const asked = [
      { query: 'canarybirt' },
      { query: 'canarybirt deploymnet', mode: 'fast' },
      { query: 'canarybirt', kinds: ['task'], mode: 'deep' },
      { query: 'deployment', kinds: ['task'] },
      { query: 'deployment', kinds: ['task'], project_id: 'l9' },
      { kinds: ['task'] },
    ];
    const answers = () => Promise.all(asked.map((args) => suggestions('C', args)));
    const before = await answers();
    const canary = {
      content: 'The canarybird knows of the deployment.',
      tags: ['canarybird', 'canarybert'],
      envelope: { title: 'canarybird' },
    };
    const places: [string, object, Claims?][] = [
      ['L', { scope: 'l-private', project_id: 'l9' }],
      ['C', { project_id: 'l9' }, OTHER_USER],
    ];
    for (const [caller, place, claims] of places) {
      for (const kind of ['secret_kind', 'ruling']) await saveMemory(db, caller, { ...canary, kind, ...place }, claims);
    }
    const expired = await saveMemory(db, 'C', { ...canary, kind: 'expired_kind', project_id: 'l9' });
    await expireMemories(db, [expired]);
    await db.sql(
      'L',
      "select public.relate('canarybird', 'uses', 'canarybert', project_id => 'l9', scope => 'l-private')",
    );
    expect(await answers()).toStrictEqual(before);
    expect(JSON.stringify(before)).not.toMatch(/canaryb[ei]r[^t]|secret|expired/);
    // Who may read them gets them suggested.
    expect(await suggestions('L', { query: 'canarybirt', mode: 'fast' })).toMatchObject([
      { reason: 'spelling', value: 'canarybird' },
    ]);
    expect(await suggestions('L', { query: 'deployment', kinds: ['task'] })).toContainEqual({
      reason: 'kind',
      value: 'secret_kind',
      hits: 2,
    });
  });
});

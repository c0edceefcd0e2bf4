// The branch of a memory: it tells duplicates apart and narrows searches, and it is no wall.

import { SECRETS } from '../secrets/support.ts';
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { errorOf } from '../support/errors.ts';
import {
  callSaveMemory,
  callUpdateMemory,
  expireMemories,
  saveMemory,
  searchMemory,
  storedMemories,
} from '../support/memories.ts';
import { named } from '../support/named.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['harbour'], 0.3);
const EVERY_BRANCH = { branch: null };

describe('the branch of a memory', () => {
  const db = useTestDatabase();
  const insert = (columns: { content: string; [name: string]: unknown }, caller = 'C') => {
    const { content, ...others } = { project_id: 'l9', ...columns };
    const names = Object.keys(others);
    return db.sql(
      caller,
      `insert into public.packet_store (envelope, ${names}) values (jsonb_build_object('content', $1::text), ${names.map((_, n) => `$${n + 2}`)})
       returning packet_id, branch`,
      [content, ...Object.values(others)],
    );
  };

  it('tells duplicates apart, by saves and by raw SQL', async () => {
    const content = 'The gate opens at nine.';
    const ids = new Map<string | null, string>();
    for (const branch of ['main', 'feature/gate', null]) {
      const first = await callSaveMemory(db, 'C', { content, branch });
      expect(first, `${branch}`).toMatchObject({ status: 'inserted', memory: { branch } });
      ids.set(branch, first.memory.packet_id);
      const again = await callSaveMemory(db, 'L', { content: content.toUpperCase(), branch: branch ?? '*' });
      expect(again, `${branch}`).toMatchObject({ status: 'skipped_dedupe', memory: { packet_id: ids.get(branch) } });
      expect(await errorOf(insert({ content, branch }))).toMatchObject({ code: '23505' });
    }
    expect(new Set(ids.values()).size).toBe(3);
    const taken = await errorOf(callUpdateMemory(db, 'L', ids.get('main')!, { branch: 'feature/gate' }));
    expect(taken).toMatchObject({ code: 'L9VAL', column: 'content' });
    expect(await callUpdateMemory(db, 'L', ids.get('main')!, { branch: 'elsewhere' })).toMatchObject({
      memory: { branch: 'elsewhere' },
    });
  });

  it('tells the turns of conversations apart', async () => {
    const turn = { content: 'Ann: yes', kind: 'message', thread_id: 't', timestamp: '2026-05-01T10:00:00Z' };
    const statuses: string[] = [];
    for (const branch of ['main', 'other', 'main']) {
      statuses.push((await callSaveMemory(db, 'C', { ...turn, branch })).status);
    }
    expect(statuses).toStrictEqual(['inserted', 'inserted', 'skipped_dedupe']);
  });

  it('lets only a save in the same branch take the content of an expired memory', async () => {
    const content = 'A notice of last week.';
    const id = await saveMemory(db, 'C', { content, branch: 'main' });
    await expireMemories(db, [id]);
    await saveMemory(db, 'C', { content, branch: 'other' });
    expect(await storedMemories(db, [id])).toHaveLength(1);
    await saveMemory(db, 'C', { content, branch: 'main' });
    expect(await storedMemories(db, [id])).toHaveLength(0);
  });

  it('keeps near-duplicates of other branches out of a save, and lessons apart', async () => {
    const content = 'The lock keeper waits for the tide before he opens the upper gate of the harbour';
    const almost = `${content} again`;
    const { memory } = await callSaveMemory(db, 'C', { content, branch: 'main' });
    for (const on_similar of ['skip', 'merge', 'keep']) {
      const elsewhere = await callSaveMemory(db, 'C', {
        content: almost,
        branch: `for ${on_similar}`.replace(' ', '-'),
        on_similar,
      });
      expect(elsewhere).toMatchObject({ status: 'inserted', similar: [] });
    }
    const here = await callSaveMemory(db, 'C', { content: almost, branch: 'main', on_similar: 'skip' });
    expect(here).toMatchObject({ status: 'skipped_dedupe', memory: { packet_id: memory.packet_id } });

    const reflect = async (args: object) => {
      const all = { content: 'Wait for the tide before the gate is opened', project_id: 'l9', ...args };
      const [{ r }] = await db.sql(
        'C',
        `select jsonb_build_object('status', r.status, 'reflection', reflection.reflection_json(r.reflection)) as r from public.reflect(${named(all)}) r`,
        Object.values(all),
      );
      return r;
    };
    expect(await reflect({ branch: 'main' })).toMatchObject({ status: 'inserted', reflection: { branch: 'main' } });
    expect(await reflect({ branch: 'other' })).toMatchObject({ status: 'inserted', reflection: { branch: 'other' } });
    expect(await reflect({})).toMatchObject({ status: 'inserted', reflection: EVERY_BRANCH });
    expect(await reflect({ branch: 'main' })).toMatchObject({ status: 'reinforced', reflection: { branch: 'main' } });
    const recall = async (args: object) => {
      const [{ lessons }] = await db.sql(
        'C',
        `select to_jsonb(r.lessons) as lessons from public.recall_lessons(${named(args)}) r`,
        Object.values(args),
      );
      return lessons.map((lesson: { branch: string | null }) => lesson.branch).sort();
    };
    for (const args of [{}, { query: 'tide gate' }]) {
      expect(await recall({ ...args, branch: 'main' })).toStrictEqual(['main', null]);
      expect(await recall({ ...args, branch: '*' })).toStrictEqual(['main', null, 'other']);
      expect(await recall(args)).toStrictEqual(['main', null, 'other']);
    }
  });

  it('narrows searches and counts to that branch and to what holds for every branch', async () => {
    await serveModel(db, model);
    const place = { project_id: 'searched' };
    for (const branch of ['main', null, 'other']) {
      await saveMemory(db, 'C', { content: `harbour of ${branch}`, ...place, branch });
      await saveMemory(db, 'C', { content: `quay of ${branch}`, ...place, branch, thread_id: `t-${branch}` });
      await saveMemory(db, 'C', {
        content: `harbour after the quay of ${branch}`,
        ...place,
        branch,
        thread_id: `t-${branch}`,
      });
    }
    await embedPending(db, model);
    const meaning = { query: 'harbour', query_vector: model.vectorOf('harbour'), model: model.name };
    const ways: [string, object][] = [
      ...['lexical', 'semantic', 'hybrid'].map((mode): [string, object] => [mode, { ...meaning, mode }]),
      ['newest', { since: '2020-01-01T00:00:00Z' }],
      ['with another filter', { ...meaning, kinds: ['note'] }],
      ['as of now', { ...meaning, as_of: new Date(Date.now() - 1).toISOString() }],
    ];
    const branches = async (args: object) => {
      const { hits, searched } = await searchMemory(db, 'C', { k: 100, ...place, ...args });
      const found = new Set(hits.map((hit) => (hit as unknown as { branch: string | null }).branch));
      return { found: [...found].sort(), filter: searched.filters.branch };
    };
    for (const [way, args] of ways) {
      expect(await branches({ ...args, branch: 'main' }), way).toStrictEqual({ found: ['main', null], filter: 'main' });
      expect(await branches({ ...args, branch: 'unborn' }), way).toStrictEqual({ found: [null], filter: 'unborn' });
      for (const branch of ['*', '', null]) {
        expect(await branches({ ...args, branch }), way).toStrictEqual({
          found: ['main', null, 'other'],
          filter: undefined,
        });
      }
    }
    const total = async (branch: string | null) =>
      (await db.sql('C', 'select (public.get_memory_stats($1, $2)).total', ['searched', branch]))[0].total;
    expect([await total('main'), await total('*'), await total(null)]).toStrictEqual(['6', '9', '9']);
  });

  it('follows a memory that moves to another branch, into its vectors and its history', async () => {
    const id = await saveMemory(db, 'C', { content: 'harbour that moves', branch: 'main', project_id: 'moved' });
    await embedPending(db, model);
    const meaning = { query: 'harbour', query_vector: model.vectorOf('harbour'), model: model.name, mode: 'semantic' };
    const found = async (args: object) =>
      (await searchMemory(db, 'C', { ...meaning, project_id: 'moved', ...args })).hits.length;
    const before = new Date().toISOString();
    await callUpdateMemory(db, 'C', id, { branch: 'other' });
    expect([await found({ branch: 'main' }), await found({ branch: 'other' })]).toStrictEqual([0, 1]);
    expect(await found({ branch: 'main', as_of: before, mode: 'lexical' })).toBe(1);
    expect(await db.sql('C', 'select branch from public.memory_embeddings where packet_id = $1', [id])).toStrictEqual([
      { branch: 'other' },
    ]);
    const history = await db.sql(
      'C',
      `select changed_fields, state ->> 'branch' as branch from public.memory_history($1)`,
      [id],
    );
    expect(history).toStrictEqual([
      { changed_fields: ['branch'], branch: 'other' },
      { changed_fields: [], branch: 'main' },
    ]);
    const audited = await db.asSuperuser(
      `select details -> 'branch' as now, details -> 'was_branch' as before from public.audit_log
       where row_id = $1 and operation in ('INSERT', 'UPDATE') order by audit_id`,
      [id],
    );
    expect(audited).toStrictEqual([
      { now: 'main', before: null },
      { now: 'other', before: 'main' },
    ]);
    // An empty text leaves the branch; * takes it away.
    expect((await callUpdateMemory(db, 'C', id, { branch: '', tags: ['t'] })).memory.branch).toBe('other');
    expect((await callUpdateMemory(db, 'C', id, { branch: '*' })).memory.branch).toBeNull();
    await callUpdateMemory(db, 'C', id, { branch: 'main' });
    expect((await callUpdateMemory(db, 'C', id, { scope: 'global' })).memory).toMatchObject({
      project_id: null,
      branch: null,
    });
  });

  it('is no wall: whoever may read the project reads each of its branches', async () => {
    const [{ packet_id: id }] = await insert({ content: 'in an odd branch', branch: 'odd' });
    expect(await db.sql('C', 'select branch from public.packet_store where packet_id = $1', [id])).toHaveLength(1);
    expect(await db.sql('L', "select (public.get_memory($1)).envelope ->> 'content' as content", [id])).toStrictEqual([
      { content: 'in an odd branch' },
    ]);
    const policies = await db.asSuperuser(
      `select tablename, policyname from pg_policies where concat(qual, with_check) ~ '\\mbranch\\M'`,
    );
    expect(policies).toStrictEqual([]);
  });

  it('has a name that Git allows, and a project', async () => {
    const good = ['main', 'feature/x', 'JIRA-12_fix.2', 'ümläut/分支', '@', 'v1.0', 'a@b', 'x'.repeat(255)].filter(
      (b) => b !== '@',
    );
    for (const branch of good) {
      expect(await insert({ content: `on ${branch}`, branch })).toMatchObject([{ branch }]);
    }
    const bad = [
      ...[
        '-x',
        '/x',
        'x/',
        'x//y',
        '.x',
        'x/.y',
        'x.',
        'a..b',
        'a b',
        'a~b',
        'a^b',
        'a:b',
        'a?b',
        'a*b',
        'a[b',
        'a\\b',
        '@',
      ],
      ...['a@{b', 'x.lock', 'x.lock/y', 'a\tb', 'a\nb', '*', 'x'.repeat(256)],
    ];
    for (const branch of bad) {
      expect(await errorOf(insert({ content: 'nowhere', branch })), branch).toMatchObject({
        code: 'L9VAL',
        column: 'branch',
      });
    }
    const global = { content: 'everywhere', scope: 'global', project_id: null, branch: 'main' };
    expect(await errorOf(insert(global))).toMatchObject({ code: 'L9VAL', column: 'branch' });
    expect(await errorOf(callSaveMemory(db, 'C', global))).toMatchObject({ code: 'L9VAL', column: 'branch' });
  });

  it('is by default the branch of the working copy, in its project', async () => {
    const here = { 'jwt.claims.default_project': 'site', 'jwt.claims.default_branch': 'feature/y' };
    let serial = 0;
    const saved = async (args: object, claims = here) => {
      serial += 1;
      return (await callSaveMemory(db, 'C', { content: `default ${serial}`, project_id: null, ...args }, claims))
        .memory;
    };
    expect(await saved({})).toMatchObject({ project_id: 'site', branch: 'feature/y' });
    expect(await saved({ project_id: 'site' })).toMatchObject({ branch: 'feature/y' });
    expect(await saved({ branch: 'main' })).toMatchObject({ branch: 'main' });
    expect(await saved({ branch: '*' })).toMatchObject(EVERY_BRANCH);
    expect(await saved({ project_id: 'shop' })).toMatchObject(EVERY_BRANCH);
    expect(await saved({ scope: 'global' })).toMatchObject({ project_id: null, ...EVERY_BRANCH });
    const only = { 'jwt.claims.default_branch': 'feature/y' };
    expect(await saved({ project_id: 'shop' }, only as never)).toMatchObject({ branch: 'feature/y' });
    expect(await saved({}, { ...here, 'jwt.claims.default_branch': 'no branch' })).toMatchObject(EVERY_BRANCH);
    // What is derived holds for the project, whatever its branch.
    await db.sql('C', `select public.assert_fact('gate', 'has colour', '"blue"')`, [], here);
    const facts = await db.sql('C', "select branch from public.packet_store where packet_type = 'fact'");
    expect(facts).toStrictEqual([{ branch: null }]);
  });

  it('refuses a secret, also where the tenant has secrets replaced', async () => {
    await db.sql('L', "select public.set_secret_settings(on_secret => 'redact')");
    const [secret] = Object.values(SECRETS).filter((one) => /^[\w-]+$/.test(one));
    const error = await errorOf(insert({ content: 'a plain note', branch: `fix/${secret}` }));
    expect(error).toMatchObject({ code: 'L9SEC', column: 'branch' });
    expect(error.message).not.toContain(secret);
    expect(await insert({ content: `Noted: ${secret}`, branch: 'fix/plain' })).toMatchObject([{ branch: 'fix/plain' }]);
  });
});

// Whose word a text is: an administrator who changes or repeats an agent's memory stands by it, and the agent can no longer change it.
import { errorOf } from '../support/errors.ts';
import { type Fields, kindExamples } from '../support/kinds.ts';
import { callSaveMemory, callUpdateMemory, saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('the text of a memory', () => {
  const db = useTestDatabase({ rollsBack: true });

  let serial = 0;
  const store = async (caller: string, kind: string, data: Fields, project = 'l9') => {
    const items = [{ kind, project_id: project, data }];
    const [stored] = await db.sql(caller, 'select * from public.memory_store($1)', [JSON.stringify(items)]);
    return stored;
  };
  /** The row of a memory as the caller reads it, and the Markdown of its sections. */
  const reading = async (id: string, caller = 'L') =>
    (
      await db.sql(
        caller,
        `select to_jsonb(p) - '{access_count,last_accessed,words}'::text[] as row,
           (select string_agg(s.envelope ->> 'body_md', '' order by (s.envelope ->> 'position')::numeric)
            from public.packet_store s where s.part_of = p.packet_id) as body
         from public.packet_store p where p.packet_id = $1`,
        [id],
      )
    )[0];
  /** The error of an attempt, or null where it changed nothing or something else. */
  const refusalOf = (attempt: Promise<unknown>) =>
    attempt.then(
      () => null,
      (error: { code: string }) => error,
    );

  /** Everything by which an agent could change, take away or replace a memory that it created. */
  const attacks = (
    id: string,
    kind: string,
    fields: Fields,
    change: Fields,
  ): Record<string, () => Promise<unknown>> => ({
    'update_memory with other fields': () => callUpdateMemory(db, 'C', id, { envelope: change }),
    'update_memory with other tags': () => callUpdateMemory(db, 'C', id, { tags: ['taken'] }),
    'update_memory with a ttl': () => callUpdateMemory(db, 'C', id, { ttl: '2099-01-01' }),
    'update_memory to another project': () => callUpdateMemory(db, 'C', id, { project_id: 'elsewhere' }),
    'update_memory to another kind': () => callUpdateMemory(db, 'C', id, { kind: 'idea' }),
    'memory_store under the same identity': async () => {
      const answer = await store('C', kind, { ...fields, ...change });
      if (answer.sqlstate) throw Object.assign(new Error(answer.message), { code: answer.sqlstate });
      return answer;
    },
    delete_memory: () => db.sql('C', 'select public.delete_memory($1)', [id]),
    'UPDATE in psql': () =>
      db.sql('C', 'update public.packet_store set envelope = envelope || $2 where packet_id = $1', [id, change]),
    'UPDATE of the ttl in psql': () =>
      db.sql('C', "update public.packet_store set ttl = now() + interval '1 second' where packet_id = $1", [id]),
    'DELETE in psql': () => db.sql('C', 'delete from public.packet_store where packet_id = $1', [id]),
    'UPDATE of text_creator in psql': () =>
      db.sql('C', 'update public.packet_store set text_creator = null where packet_id = $1', [id]),
  });

  /** Tries every attack. None undoes what another one does, so that the memory is read once after all of them. */
  const expectToHold = async (id: string, kind: string, fields: Fields, change: Fields) => {
    const before = await reading(id);
    const unrefused: string[] = [];
    for (const [name, attack] of Object.entries(attacks(id, kind, fields, change))) {
      const error = await refusalOf(attack());
      if (error) expect(error.code, name).toMatch(/^(L9OWN|L9IMM|42501)$/);
      else unrefused.push(name);
      if (/^(update|delete)_memory/.test(name)) expect(error, name).toMatchObject({ code: 'L9OWN' });
    }
    expect(await reading(id), `not refused: ${unrefused.join(', ')}`).toStrictEqual(before);
  };

  // Attacks depend on the kind and on whose text it is, no matter how it became the administrator's. So each kind meets every attack
  // after one of the ways, and each way comes before every attack in several kinds.
  const meetsAttacks = (kind: number, way: number, ways: number) => kind % ways === way;

  const examples = kindExamples.filter(({ same, kind }) => same && kind !== 'section');

  it('is tried for every kind that has rules', async () => {
    const kinds = await db.sql('L', 'select kind from public.memory_kinds where tenant_id is null order by kind');
    // A section can only be changed together with its document, which is tried below.
    expect(kindExamples.map(({ kind }) => kind).sort()).toStrictEqual(kinds.map(({ kind }) => kind));
  });

  describe.each(examples)('in a $kind of an agent', ({ kind, fields, same }) => {
    const changeOf = (): Fields => (kind === 'document' ? { doc_type: 'taken' } : same!);
    const place = examples.findIndex((example) => example.kind === kind);
    const ways: [string, (id: string) => Promise<unknown>][] = [
      ['changes by update_memory', (id) => callUpdateMemory(db, 'L', id, { envelope: same! })],
      ['stores again with other fields', () => store('L', kind, { ...fields, ...same })],
      ['stores again as it is', () => store('L', kind, fields)],
      [
        'changes in psql',
        (id) =>
          db.sql('L', 'update public.packet_store set envelope = envelope || $2 where packet_id = $1', [id, same!]),
      ],
    ];

    it.each(ways)("is the administrator's once that one %s", async (way, second) => {
      const { packet_id: id } = await store('C', kind, fields);
      await second(id);
      expect((await reading(id)).row).toMatchObject({ text_creator: 'L-CTO', metadata: { creator: 'Cursor-IDE' } });
      const number = ways.findIndex(([name]) => name === way);
      if (meetsAttacks(place, number, ways.length)) await expectToHold(id, kind, fields, changeOf());
    });

    it("stays the agent's while an administrator changes only tags, importance, expiry and project", async () => {
      const { packet_id: id } = await store('C', kind, fields);
      await callUpdateMemory(db, 'L', id, { tags: ['seen'], importance: 0.4, ttl: '2099-01-01', project_id: 'other' });
      expect((await reading(id)).row.text_creator).toBeNull();
      await callUpdateMemory(db, 'C', id, { tags: ['mine'] });
      await db.sql('C', 'select public.delete_memory($1)', [id]);
    });
  });

  it('is all that an agent can change of what others read, and each way asks whose text it is', async () => {
    const tables = await db.asOwner(
      `select c.oid::regclass::text as name
       from pg_class c
       where c.relkind in ('r', 'p', 'v', 'm') and c.relowner = 'l9_owner'::regrole and not c.relispartition
         and (has_any_column_privilege('l9_agent', c.oid, 'update') or has_table_privilege('l9_agent', c.oid, 'delete'))
       order by name`,
    );
    // The rows of the other two are a caller's alone: its keys, and its votes.
    expect(tables.map(({ name }) => name)).toStrictEqual(['idempotency_keys', 'memory_feedback', 'packet_store']);
    const policies = await db.asOwner(
      `select p.polname as name, pg_get_expr(p.polqual, p.polrelid) as condition from pg_policy p
       where p.polrelid = 'public.packet_store'::regclass and p.polcmd in ('w', 'd') and not p.polpermissive
         and 'l9_agent'::regrole = any (p.polroles) order by name`,
    );
    expect(policies.map(({ name }) => name)).toStrictEqual(['creator_deletes', 'creator_updates']);
    for (const { condition, name } of policies) expect(condition, name).toContain('text_creator IS NULL');
    // A function of the owner that asks who created a memory must ask whose text it is, too.
    const functions = await db.asOwner(
      `select p.oid::regprocedure::text as name from pg_proc p
       where p.proowner = 'l9_owner'::regrole and p.prosecdef and p.prosrc ~ $$'creator' (<>|=|is distinct from) (identity|me)\\M$$`,
    );
    expect(functions.map(({ name }) => name)).toStrictEqual([
      // Only the writer itself enters an archive, for a memory that it has just saved.
      'archive.store_session_archive(uuid,uuid,bytea,bigint,text[],text,bytea,bytea)',
    ]);
  });

  describe('in a plain memory', () => {
    const save = async (args: object = {}) => {
      const content = `The night shift of gate ${++serial} closes it at nine and hands the keys to the guard in the tower.`;
      return { content, id: await saveMemory(db, 'C', { content, ...args }) };
    };

    const kinds = ['note', 'fact', 'rule', 'lesson'];
    it.each(kinds)('holds for kind %s, whichever way the administrator writes it', async (kind) => {
      for (const [way, second] of [
        (id: string) => callUpdateMemory(db, 'L', id, { content: `Verified, number ${++serial}` }),
        (id: string) => callUpdateMemory(db, 'L', id, { envelope: { verified: true } }),
        (id: string) => callUpdateMemory(db, 'L', id, { metadata: { source_of_truth: 'the handbook' } }),
        (id: string) => callUpdateMemory(db, 'L', id, { timestamp: '2026-01-01T00:00:00Z' }),
        (_: string, content: string) => callSaveMemory(db, 'L', { content: content.toUpperCase(), kind }),
      ].entries()) {
        const { id, content } = await save({ kind });
        await second(id, content);
        expect((await reading(id)).row.text_creator).toBe('L-CTO');
        if (meetsAttacks(way, kinds.indexOf(kind), kinds.length))
          await expectToHold(id, kind, { content }, { content: 'Keep the gate open.' });
      }
    });

    it.each([
      'skip',
      'merge',
    ])("is the administrator's once on_similar: %s answers its save with it", async (on_similar) => {
      const { id, content } = await save();
      const second = await callSaveMemory(db, 'L', {
        content: `${content} `.replace('hands the', 'gives the'),
        on_similar,
      });
      expect(second.memory.packet_id).toBe(id);
      expect((await reading(id)).row.text_creator).toBe('L-CTO');
      const before = await reading(id);
      const third = await callSaveMemory(db, 'C', {
        content: content.replace('closes it at nine', 'shuts it at nine'),
        on_similar: 'merge',
      });
      expect(third).toMatchObject({ status: 'inserted' });
      expect(await reading(id)).toStrictEqual(before);
    });

    it('lives at least as long as the administrator that repeats it says', async () => {
      const { id, content } = await save({ ttl: new Date(Date.now() + 60_000) });
      await callSaveMemory(db, 'L', { content, ttl: '2099-01-01T00:00:00Z' });
      expect((await reading(id)).row.ttl).toMatch(/^2099-01-01/);
      await callSaveMemory(db, 'L', { content });
      expect((await reading(id)).row.ttl).toBeNull();
    });

    it('tells its creator whose it is, and what to do', async () => {
      const { id } = await save();
      await callUpdateMemory(db, 'L', id, { content: `The verified text ${++serial}` });
      await expect(callUpdateMemory(db, 'C', id, { content: 'mine' })).rejects.toMatchObject({
        code: 'L9OWN',
        message: expect.stringMatching(/those of L-CTO.*save a memory of your own beside it/),
      });
    });

    it('goes back to its creator if the administrator gives it back, and to nobody else', async () => {
      const { id } = await save();
      await callUpdateMemory(db, 'L', id, { content: `Corrected ${++serial}` });
      await db.sql('L', "update public.packet_store set text_creator = 'Cursor-IDE' where packet_id = $1", [id]);
      expect((await reading(id)).row.text_creator).toBe('L-CTO');
      await db.sql('L', 'update public.packet_store set text_creator = null where packet_id = $1', [id]);
      await callUpdateMemory(db, 'C', id, { content: `Mine again ${++serial}` });
      expect((await reading(id)).row.text_creator).toBeNull();
    });

    it('stays that of the agent when an administrator moves the memory with what it states, as does each statement', async () => {
      const { id } = await save();
      const { id: other } = await save();
      const state = (packetId: string) =>
        db.sql('C', "select public.assert_fact('the lock', 'closes_at', to_jsonb('nine'::text), source_packet => $1)", [
          packetId,
        ]);
      await state(id);
      await state(other);
      await db.sql('C', "select public.relate('the lock', 'depends_on', 'the boat', source_packet => $1)", [id]);
      await callUpdateMemory(db, 'L', id, { project_id: 'elsewhere' });
      expect((await reading(id)).row.text_creator).toBeNull();
      const stated = await db.sql(
        'L',
        `select f.creator, f.project_id from public.knowledge_facts f where f.source_packet = $1
         union all select r.creator, r.project_id from public.entity_relationships r where r.source_packet = $1`,
        [id],
      );
      expect(stated).toStrictEqual(Array(2).fill({ creator: 'Cursor-IDE', project_id: 'elsewhere' }));
      await callUpdateMemory(db, 'C', id, { content: `Mine still ${++serial}` });
    });

    it('is not stamped by what the administrator creates itself', async () => {
      const id = await saveMemory(db, 'L', { content: `Of L ${++serial}` });
      await callUpdateMemory(db, 'L', id, { content: `Of L still ${++serial}` });
      expect((await reading(id)).row.text_creator).toBeNull();
    });
  });

  describe('in a decision', () => {
    const decision = () => ({ title: `Use queue ${++serial}`, status: 'accepted', rationale: 'Two drift apart.' });

    it('cannot be superseded by its creator once an administrator has accepted it', async () => {
      const fields = decision();
      const { packet_id: id } = await store('C', 'decision', { ...fields, status: 'proposed' });
      await callUpdateMemory(db, 'L', id, { envelope: { status: 'accepted' } });
      const before = await reading(id);
      expect(await store('C', 'decision', { ...decision(), supersedes: id })).toMatchObject({ sqlstate: 'L9OWN' });
      expect(await reading(id)).toStrictEqual(before);
    });

    it('stays superseded once an administrator has superseded it', async () => {
      const { packet_id: id } = await store('C', 'decision', decision());
      await store('L', 'decision', { ...decision(), supersedes: id });
      expect(await errorOf(callUpdateMemory(db, 'C', id, { envelope: { superseded_by: null } }))).toMatchObject({
        code: 'L9OWN',
      });
    });
  });

  describe('in a document', () => {
    const body = '# Deploying\n\nAsk first.\n\n## Steps\n\nPush the tag.\n';
    const document = () => ({ title: 'Deploying', source_url: `docs/deploy-${++serial}.md`, body_md: body });

    it("is the administrator's once that one changes a section, and its sections stay", async () => {
      const fields = document();
      const { packet_id: id } = await store('C', 'document', fields);
      await store('L', 'document', { ...fields, body_md: body.replace('Push the tag', 'Push the signed tag') });
      expect((await reading(id)).row.text_creator).toBe('L-CTO');
      const before = await reading(id);
      const sections = await db.sql('C', 'select packet_id from public.packet_store where part_of = $1', [id]);
      expect(sections.length).toBeGreaterThan(0);
      for (const { packet_id } of sections) {
        await refusalOf(callUpdateMemory(db, 'C', packet_id, { envelope: { body_md: 'Taken.' } }));
        await refusalOf(db.sql('C', 'select public.delete_memory($1)', [packet_id]));
        await refusalOf(db.sql('C', 'delete from public.packet_store where packet_id = $1', [packet_id]));
      }
      expect(await errorOf(db.sql('C', 'select public.delete_memory($1)', [id]))).toMatchObject({ code: 'L9OWN' });
      expect(await store('C', 'section', { document_id: id, heading: 'More', body_md: 'More.' })).toMatchObject({
        sqlstate: 'L9OWN',
      });
      expect(await reading(id)).toStrictEqual(before);
    });

    it("stands beside another writer's of the same path, which stays as it is", async () => {
      const fields = document();
      const first = await store('L', 'document', fields);
      const before = await reading(first.packet_id);
      const second = await store('C', 'document', { ...fields, body_md: body.replace('Push', 'Pull') });
      expect(second).toMatchObject({ status: 'inserted', message: null });
      expect(second.packet_id).not.toBe(first.packet_id);
      expect((await reading(second.packet_id)).body).toContain('Pull the tag');
      expect(await reading(first.packet_id)).toStrictEqual(before);
      // From then on it is the writer's own that is the same.
      const third = await store('C', 'document', { ...fields, body_md: body.replace('Push', 'Sign') });
      expect(third).toMatchObject({ status: 'updated', packet_id: second.packet_id });
      expect(await store('C', 'document', { ...fields, body_md: body.replace('Push', 'Sign') })).toMatchObject({
        status: 'skipped_dedupe',
        packet_id: second.packet_id,
      });
      expect(await reading(first.packet_id)).toStrictEqual(before);
    });

    it('is not stored a second time where it says the same', async () => {
      const fields = document();
      const first = await store('L', 'document', fields);
      expect(await store('C', 'document', fields)).toMatchObject({
        status: 'skipped_dedupe',
        packet_id: first.packet_id,
      });
      expect(await store('C', 'document', { ...fields, title: 'Deploying it' })).toMatchObject({ status: 'inserted' });
    });
  });

  describe('with attestations', () => {
    const runbook = () => ({ service: 'search', title: `Case ${++serial}`, steps: [{ description: 'Restart it' }] });
    const attested = { last_verified_at: '2026-11-01T10:00:00Z', owner: 'Ann' };

    it('loses the attestations of the former text when somebody else changes it', async () => {
      const fields = runbook();
      const { packet_id: id } = await store('C', 'runbook', { ...fields, ...attested });
      await store('L', 'runbook', { ...fields, steps: [{ description: 'Drain it first' }] });
      const { envelope } = (await reading(id)).row;
      expect(envelope).not.toHaveProperty('owner');
      expect(envelope).not.toHaveProperty('last_verified_at');
    });

    it('keeps those that come with the new text, even if they are the same', async () => {
      const fields = runbook();
      const { packet_id: id } = await store('C', 'runbook', { ...fields, ...attested });
      await store('L', 'runbook', { ...fields, steps: [{ description: 'Drain it first' }], owner: 'Ann' });
      expect((await reading(id)).row.envelope).toMatchObject({ owner: 'Ann' });
      await callUpdateMemory(db, 'L', id, { envelope: { steps: [{ description: 'Drain it twice' }] } });
      expect((await reading(id)).row.envelope).toMatchObject({ owner: 'Ann' });
    });

    it('loses them in a plain memory and in metadata, too', async () => {
      const id = await saveMemory(db, 'C', {
        content: `Plain ${++serial}`,
        envelope: { approved_by: 'Ann' },
        metadata: { reviewed_by: 'Bob', colour: 'red' },
      });
      await callUpdateMemory(db, 'L', id, { content: `Plainer ${++serial}` });
      const { envelope, metadata } = (await reading(id)).row;
      expect(envelope).not.toHaveProperty('approved_by');
      expect(metadata).not.toHaveProperty('reviewed_by');
      expect(metadata).toMatchObject({ colour: 'red' });
    });

    it("keeps the writer's own when the writer changes it", async () => {
      const { packet_id: id } = await store('C', 'runbook', { ...runbook(), ...attested });
      await callUpdateMemory(db, 'C', id, { envelope: { steps: [{ description: 'Wait' }] } });
      expect((await reading(id)).row.envelope).toMatchObject({ owner: 'Ann' });
    });

    it.each([
      'L',
      'l-cto',
      ' L-CTO ',
      'l9-kernel',
      '\uff2c',
      '"L"',
    ])('refuses an agent that names another actor: %s', async (owner) => {
      for (const save of [
        store('C', 'runbook', { ...runbook(), owner }),
        store('C', 'document', { title: `T ${++serial}`, approved_by: owner }),
        callSaveMemory(db, 'C', { content: `c ${++serial}`, envelope: { owner } }),
        callSaveMemory(db, 'C', { content: `c ${++serial}`, metadata: { verified_by: [owner] } }),
      ]) {
        const answer = await save.catch((error: { code: string }) => ({ sqlstate: error.code }));
        expect(answer).toMatchObject({ sqlstate: 'L9OWN' });
      }
    });

    it('lets an agent name itself or a person, and an administrator name anybody', async () => {
      expect(await store('C', 'runbook', { ...runbook(), owner: 'Cursor-IDE' })).toMatchObject({ status: 'inserted' });
      expect(await store('C', 'runbook', { ...runbook(), owner: 'Ann' })).toMatchObject({ status: 'inserted' });
      expect(await store('L', 'runbook', { ...runbook(), owner: 'Cursor-IDE' })).toMatchObject({ status: 'inserted' });
    });
  });
});

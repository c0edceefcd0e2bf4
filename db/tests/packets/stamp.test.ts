// metadata names who saved a memory and, in updated_by, who changed it last, regardless of what the client claims. C changes only its own memories.
import { useTestDatabase } from '../support/test-database.ts';

const byC = { creator: 'Cursor-IDE', source: 'cursor-ide' };
const stampsOfC = { ...byC, agent: 'cursor', tool_name: 'sql' };
const byL = { creator: 'L-CTO', source: 'l9-kernel' };

describe('the creator and source of a memory', () => {
  const db = useTestDatabase({ rollsBack: true });

  let serial = 0;
  const fresh = () => `under contract ${serial++}`;
  const save = async (caller: string, metadata: unknown = {}, content = fresh()): Promise<string> => {
    const [row] = await db.sql(
      caller,
      "select (memory).packet_id as id from public.save_memory($1, project_id => 'l9', metadata => $2)",
      [content, metadata],
    );
    return row.id;
  };
  const rowOf = async (id: string) =>
    (
      await db.sql('L', 'select content, tags, metadata, updated_at from public.packet_store where packet_id = $1', [
        id,
      ])
    )[0];
  const writerOf = async (id: string) => {
    const { metadata } = await rowOf(id);
    return { creator: metadata.creator, source: metadata.source };
  };

  describe('writing a memory', () => {
    it('replaces the creator and source that the client sent, in any form', async () => {
      for (const metadata of [
        '{"creator": "L-CTO", "source": "l9-kernel"}',
        '{"creator": "Cursor-IDE", "creator": "L-CTO"}',
        '{"creator": ["L-CTO"], "source": {"creator": "L-CTO"}}',
        '{"creator": null, "source": null}',
        '{"creator": "", "source": ""}',
        '{}',
      ]) {
        expect(await writerOf(await save('C', metadata)), metadata).toStrictEqual(byC);
        const [{ id }] = await db.sql(
          'C',
          `insert into public.packet_store (envelope, project_id, metadata) values (jsonb_build_object('content', $1::text), 'l9', $2)
           returning packet_id as id`,
          [fresh(), metadata],
        );
        expect(await writerOf(id), metadata).toStrictEqual(byC);
        await db.sql('C', 'update public.packet_store set metadata = $2 where packet_id = $1', [id, metadata]);
        expect(await writerOf(id), metadata).toStrictEqual(byC);
      }
    });

    it('stamps agent and tool_name, and keeps in notes what the client sent for them', async () => {
      const given = { notes: { a: null, b: [null, { c: 1 }] }, other: [1] };
      const { metadata } = await rowOf(await save('C', { ...given, agent: 'l-cto', tool_name: 'mine' }));
      expect(metadata).toStrictEqual({
        ...stampsOfC,
        other: [1],
        notes: { ...given.notes, agent: 'l-cto', tool_name: 'mine' },
      });
      for (const nothingNew of [
        { agent: null, tool_name: null },
        { agent: 'cursor', tool_name: 'sql' },
      ]) {
        expect((await rowOf(await save('C', nothingNew))).metadata).toStrictEqual(stampsOfC);
      }
    });

    it('ignores an updated_by that the client sends', async () => {
      const id = await save('C', { updated_by: { caller: 'L' } });
      expect((await rowOf(id)).metadata).toStrictEqual(stampsOfC);
      await db.sql(
        'C',
        `update public.packet_store set metadata = '{"updated_by": {"caller": "L"}}' where packet_id = $1`,
        [id],
      );
      expect((await rowOf(id)).metadata).toStrictEqual(stampsOfC);
    });

    it('refuses metadata and notes that are not objects', async () => {
      const id = await save('C');
      for (const metadata of ['[]', '"creator"', 'null', '1', '{"notes": []}', '{"notes": null}', '{"notes": "x"}']) {
        const attempts = [
          'insert into public.packet_store (envelope, project_id, metadata) values (\'{"content": "never kept"}\', \'l9\', $1)',
          `update public.packet_store set metadata = $1 where packet_id = '${id}'`,
        ];
        for (const attempt of attempts) {
          await expect(db.sql('C', attempt, [metadata]), metadata).rejects.toMatchObject({
            code: 'L9VAL',
            column: 'metadata',
          });
        }
      }
      for (const attempt of [
        'insert into public.packet_store (envelope, project_id, metadata) values (\'{"content": "never kept"}\', \'l9\', null)',
        `update public.packet_store set metadata = null where packet_id = '${id}'`,
      ]) {
        await expect(db.sql('C', attempt)).rejects.toMatchObject({ code: 'L9VAL' });
      }
    });

    it('stamps rows written by upsert, merge and update from, and refuses copy', async () => {
      const content = fresh();
      const own = await save('C', {}, content);
      const forged = '{"creator": "L-CTO", "source": "l9-kernel"}';
      const upsert = `
        insert into public.packet_store (envelope, project_id, metadata) values (jsonb_build_object('content', $1::text), 'l9', $2)
        on conflict (identity_hash, tenant_id, scope, project_id, branch, packet_type, org_id, user_id,
          (case when packet_type = 'message' then thread_id end), (case when packet_type = 'message' then "timestamp" end),
          (case when packet_type = 'message' then speaker end), withheld_creator)
        do update set metadata = excluded.metadata, tags = '{upserted}'`;
      await db.sql('C', upsert, [content, forged]);
      expect((await rowOf(own)).tags).toStrictEqual(['upserted']);
      expect(await writerOf(own)).toStrictEqual(byC);

      const merge = `
        merge into public.packet_store p using (select $1::uuid as id) s on p.packet_id = s.id
        when matched then update set metadata = $2, tags = '{merged}'`;
      await db.sql('C', merge, [own, forged]);
      expect((await rowOf(own)).tags).toStrictEqual(['merged']);
      expect(await writerOf(own)).toStrictEqual(byC);

      await db.sql(
        'C',
        `with other as (update public.packet_store p set metadata = s.metadata, tags = '{joined}'
           from (select $1::uuid as id, $2::jsonb as metadata) s where p.packet_id = s.id returning p.packet_id)
         select * from other`,
        [own, forged],
      );
      expect((await rowOf(own)).tags).toStrictEqual(['joined']);
      expect(await writerOf(own)).toStrictEqual(byC);

      // A memory of L stays unchanged, with or without an error.
      const text = fresh();
      const others = await save('L', {}, text);
      const was = await rowOf(others);
      await expect(db.sql('C', upsert, [text, forged])).rejects.toMatchObject({ code: '42501' });
      await expect(db.sql('C', merge, [others, forged])).rejects.toMatchObject({ code: '42501' });
      await expect(
        db.sql(
          'C',
          'merge into public.packet_store p using (select $1::uuid as id) s on p.packet_id = s.id when matched then delete',
          [others],
        ),
      ).rejects.toMatchObject({ code: '42501' });
      expect(await rowOf(others)).toStrictEqual(was);

      await expect(db.sql('C', 'copy public.packet_store (envelope, project_id) from stdin')).rejects.toMatchObject({
        code: '0A000',
      });
    });

    it('lets no caller bypass or change the triggers', async () => {
      for (const caller of ['C', 'L']) {
        for (const statement of [
          'set session_replication_role = replica',
          'alter table public.packet_store disable trigger all',
          'alter table public.packet_store disable row level security',
          'drop trigger _300_stamp on public.packet_store',
          'create rule forge as on insert to public.packet_store do nothing',
          "create or replace function identity.current_identity() returns identity.identity language sql as 'select null'",
          "update public.actors set creator = 'L-CTO' where caller = 'C'",
        ]) {
          await expect(db.sql(caller, statement), `${caller}: ${statement}`).rejects.toMatchObject({
            code: '42501',
          });
        }
      }
    });
  });

  describe('changing the memory of another writer', () => {
    it('keeps who saved it, and names in updated_by who changed it last', async () => {
      const id = await save('C', { other: 1 });
      const tool = { 'l9.tool_name': 'update_memory' };
      await db.sql('L', "select public.update_memory($1, tags => '{changed}')", [id], tool);
      const { metadata, updated_at } = await rowOf(id);
      const { updated_by, ...rest } = metadata;
      expect(rest).toStrictEqual({ ...stampsOfC, other: 1 });
      const { at, ...by } = updated_by;
      expect(by).toStrictEqual({ caller: 'L', ...byL, agent: 'l-cto', tool_name: 'update_memory' });
      expect(new Date(at)).toStrictEqual(updated_at);
      expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);

      await db.sql('C', 'select public.update_memory($1, metadata => $2)', [id, { agent: 'l-cto', creator: 'L-CTO' }]);
      const again = (await rowOf(id)).metadata;
      expect(again).toMatchObject({ ...stampsOfC, other: 1, notes: { agent: 'l-cto' } });
      expect(again.updated_by).toMatchObject({ caller: 'C', ...byC, agent: 'cursor', tool_name: 'sql' });
    });

    it('lets L write only in its own name, and take the memory of nobody', async () => {
      const id = await save('C');
      for (const statement of [
        `update public.packet_store set metadata = '{"a": 1}' where packet_id = $1`,
        `update public.packet_store set metadata = '{"creator": "L-CTO", "source": "l9-kernel", "agent": "l-cto"}' where packet_id = $1`,
        `update public.packet_store set metadata = '{"updated_by": {"caller": "C"}}', importance_score = 0.9 where packet_id = $1`,
      ]) {
        await db.sql('L', statement, [id]);
        const { metadata } = await rowOf(id);
        expect(metadata, statement).toMatchObject({ ...stampsOfC, updated_by: { caller: 'L', ...byL } });
      }
    });

    it('leaves updated_by as it is if an update changes nothing', async () => {
      const id = await save('C');
      await db.sql('L', 'update public.packet_store set metadata = metadata, tags = tags where packet_id = $1', [id]);
      expect((await rowOf(id)).metadata).toStrictEqual(stampsOfC);
    });

    it('lets C change its own memory after L changed it', async () => {
      const id = await save('C');
      await db.sql('L', "select public.update_memory($1, kind => 'finding')", [id]);
      await db.sql('C', "select public.update_memory($1, tags => '{mine}')", [id]);
      expect((await rowOf(id)).tags).toStrictEqual(['mine']);
      await db.sql('C', 'select public.delete_memory($1)', [id]);
      expect(await rowOf(id)).toBeUndefined();
    });

    it('changes a memory of another writer whose metadata are as large as they may be', async () => {
      const id = await save('C', { large: 'x'.repeat(65536 - 130) });
      await db.sql('L', "select public.update_memory($1, tags => '{changed}')", [id]);
      expect((await rowOf(id)).metadata.updated_by.caller).toBe('L');
    });

    it('refuses C to update or delete a memory that L wrote, and leaves it unchanged', async () => {
      const id = await save('L');
      const before = await rowOf(id);
      for (const call of ["update_memory($1, tags => '{taken}')", 'delete_memory($1)']) {
        await expect(db.sql('C', `select public.${call}`, [id])).rejects.toMatchObject({ code: 'L9OWN' });
      }
      expect(await rowOf(id)).toStrictEqual(before);
    });

    it('hides memories of L from updates, deletes and locks by C in raw SQL', async () => {
      const claimed = await save('L', { creator: 'Cursor-IDE', notes: { creator: 'Cursor-IDE' } });
      const ids = [await save('L'), claimed];
      const was = await Promise.all(ids.map(rowOf));
      for (const where of [
        'packet_id = any ($1)',
        "metadata ->> 'creator' = 'L-CTO' and $1::uuid[] is not null",
        "packet_id = any ($1) or metadata ->> 'creator' <> 'x'",
      ]) {
        // The last condition also matches memories of C, so everything is undone.
        await db
          .asCaller('C', async (client) => {
            const updated = await client.query(
              `update public.packet_store set tags = '{taken}' where ${where} returning packet_id, metadata ->> 'creator' as creator`,
              [ids],
            );
            const deleted = await client.query(
              `delete from public.packet_store where ${where} returning packet_id, metadata ->> 'creator' as creator`,
              [ids],
            );
            for (const row of [...updated.rows, ...deleted.rows]) {
              expect(row.creator).toBe('Cursor-IDE');
              expect(ids).not.toContain(row.packet_id);
            }
            throw new Error('undo');
          })
          .catch((error: Error) => expect(error.message, error.stack).toBe('undo'));
        const locked = await db.sql('C', `select packet_id from public.packet_store where ${where} for update`, [ids]);
        expect(
          locked.some(({ packet_id }) => ids.includes(packet_id)),
          'nor lock it',
        ).toBe(false);
      }
      expect(await Promise.all(ids.map(rowOf))).toStrictEqual(was);
    });
  });

  it('lets a child be changed after its parent was deleted or hidden', async () => {
    const [deleted, hidden] = [await save('L'), await save('L')];
    const child = (
      await db.sql(
        'C',
        "select (memory).packet_id as id from public.save_memory($1, project_id => 'l9', parent_ids => $2)",
        [fresh(), [deleted, hidden]],
      )
    )[0].id;
    await db.sql('L', 'select public.delete_memory($1)', [deleted]);
    await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [hidden]);
    await db.sql('C', "select public.update_memory($1, tags => '{changed}')", [child]);
    await db.sql('L', "select public.update_memory($1, tags => '{again}')", [child]);
    expect((await rowOf(child)).tags).toStrictEqual(['again']);
    // No new child may have the hidden parent, nor may the child take it along to a scope with more readers.
    await expect(
      db.sql('C', "select public.save_memory($1, project_id => 'l9', parent_ids => $2)", [fresh(), [hidden]]),
    ).rejects.toMatchObject({ code: 'L9VAL', column: 'parent_ids' });
    await expect(db.sql('L', "select public.update_memory($1, scope => 'global')", [child])).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'parent_ids',
    });
  });
});

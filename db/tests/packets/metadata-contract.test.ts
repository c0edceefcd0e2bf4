// metadata.creator and metadata.source say who wrote last, whoever claims otherwise; and C changes only its own.
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';

const byC = { creator: 'Cursor-IDE', source: 'cursor-ide' };
const byL = { creator: 'L-CTO', source: 'l9-kernel' };

describe('the metadata contract', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  let serial = 0;
  const fresh = () => `under contract ${serial++}`;
  const save = async (caller: string, metadata: unknown = {}, content = fresh()): Promise<string> => {
    const [row] = await gateway.sql(
      caller,
      "select (memory).packet_id as id from public.save_memory($1, project_id => 'l9', metadata => $2)",
      [content, metadata],
    );
    return row.id;
  };
  const rowOf = async (id: string) =>
    (
      await gateway.sql(
        'L',
        'select content, tags, metadata, updated_at from public.packet_store where packet_id = $1',
        [id],
      )
    )[0];
  const writerOf = async (id: string) => {
    const { metadata } = await rowOf(id);
    return { creator: metadata.creator, source: metadata.source };
  };

  describe('when a memory is written', () => {
    it('stamps creator and source over whatever was sent, however it was spelt', async () => {
      for (const metadata of [
        '{"creator": "L-CTO", "source": "l9-kernel"}',
        '{"creator": "Cursor-IDE", "creator": "L-CTO"}',
        '{"creator": ["L-CTO"], "source": {"creator": "L-CTO"}}',
        '{"creator": null, "source": null}',
        '{"creator": "", "source": ""}',
        '{}',
      ]) {
        expect(await writerOf(await save('C', metadata)), metadata).toStrictEqual(byC);
        const [{ id }] = await gateway.sql(
          'C',
          `insert into public.packet_store (envelope, project_id, metadata) values (jsonb_build_object('content', $1::text), 'l9', $2)
           returning packet_id as id`,
          [fresh(), metadata],
        );
        expect(await writerOf(id), metadata).toStrictEqual(byC);
        await gateway.sql('C', 'update public.packet_store set metadata = $2 where packet_id = $1', [id, metadata]);
        expect(await writerOf(id), metadata).toStrictEqual(byC);
      }
    });

    it('keeps agent, tool_name, notes and the rest as given, and fills in what is missing', async () => {
      const given = { agent: 'me', tool_name: 'mine', notes: { a: null, b: [null, { c: 1 }] }, other: [1] };
      const { metadata } = await rowOf(await save('C', given));
      expect(metadata).toStrictEqual({ ...given, ...byC });
      const filled = await rowOf(await save('C', { agent: null, tool_name: null }));
      expect(filled.metadata).toStrictEqual({ agent: 'cursor', tool_name: 'sql', ...byC });
    });

    it('refuses what is no object, for metadata and for notes', async () => {
      const id = await save('C');
      for (const metadata of ['[]', '"creator"', 'null', '1', '{"notes": []}', '{"notes": null}', '{"notes": "x"}']) {
        const attempts = [
          'insert into public.packet_store (envelope, project_id, metadata) values (\'{"content": "never kept"}\', \'l9\', $1)',
          `update public.packet_store set metadata = $1 where packet_id = '${id}'`,
        ];
        for (const attempt of attempts) {
          await expect(gateway.sql('C', attempt, [metadata]), metadata).rejects.toMatchObject({
            code: 'L9VAL',
            column: 'metadata',
          });
        }
      }
      for (const attempt of [
        'insert into public.packet_store (envelope, project_id, metadata) values (\'{"content": "never kept"}\', \'l9\', null)',
        `update public.packet_store set metadata = null where packet_id = '${id}'`,
      ]) {
        await expect(gateway.sql('C', attempt)).rejects.toMatchObject({ code: 'L9VAL' });
      }
    });

    it('holds for every statement that writes: upsert, merge, update from, copy', async () => {
      const content = fresh();
      const own = await save('C', {}, content);
      const forged = '{"creator": "L-CTO", "source": "l9-kernel"}';
      const upsert = `
        insert into public.packet_store (envelope, project_id, metadata) values (jsonb_build_object('content', $1::text), 'l9', $2)
        on conflict (content_hash, tenant_id, scope, project_id, packet_type, org_id, user_id)
        do update set metadata = excluded.metadata, tags = '{upserted}'`;
      await gateway.sql('C', upsert, [content, forged]);
      expect((await rowOf(own)).tags).toStrictEqual(['upserted']);
      expect(await writerOf(own)).toStrictEqual(byC);

      const merge = `
        merge into public.packet_store p using (select $1::uuid as id) s on p.packet_id = s.id
        when matched then update set metadata = $2, tags = '{merged}'`;
      await gateway.sql('C', merge, [own, forged]);
      expect((await rowOf(own)).tags).toStrictEqual(['merged']);
      expect(await writerOf(own)).toStrictEqual(byC);

      await gateway.sql(
        'C',
        `with other as (update public.packet_store p set metadata = s.metadata, tags = '{joined}'
           from (select $1::uuid as id, $2::jsonb as metadata) s where p.packet_id = s.id returning p.packet_id)
         select * from other`,
        [own, forged],
      );
      expect((await rowOf(own)).tags).toStrictEqual(['joined']);
      expect(await writerOf(own)).toStrictEqual(byC);

      // Of L's: an error or nothing, and nothing changed.
      const text = fresh();
      const others = await save('L', {}, text);
      const was = await rowOf(others);
      await expect(gateway.sql('C', upsert, [text, forged])).rejects.toMatchObject({ code: '42501' });
      await expect(gateway.sql('C', merge, [others, forged])).rejects.toMatchObject({ code: '42501' });
      await expect(
        gateway.sql(
          'C',
          'merge into public.packet_store p using (select $1::uuid as id) s on p.packet_id = s.id when matched then delete',
          [others],
        ),
      ).rejects.toMatchObject({ code: '42501' });
      expect(await rowOf(others)).toStrictEqual(was);

      await expect(
        gateway.sql('C', 'copy public.packet_store (envelope, project_id) from stdin'),
      ).rejects.toMatchObject({
        code: '0A000',
      });
    });

    it('has triggers that no caller can get around', async () => {
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
          await expect(gateway.sql(caller, statement), `${caller}: ${statement}`).rejects.toMatchObject({
            code: '42501',
          });
        }
      }
    });
  });

  describe('when a memory changes hands', () => {
    it('says who wrote last, and L can write in no name but its own', async () => {
      const id = await save('C');
      for (const statement of [
        'update public.packet_store set metadata = metadata where packet_id = $1',
        `update public.packet_store set metadata = '{"creator": "Cursor-IDE", "source": "cursor-ide"}' where packet_id = $1`,
        'update public.packet_store set importance_score = importance_score where packet_id = $1',
      ]) {
        await gateway.sql('L', statement, [id]);
        expect(await writerOf(id), statement).toStrictEqual(byL);
      }
    });

    const mutations = {
      update: 'mutation ($id: UUID!) { updateMemory(input: { packetId: $id, tags: ["taken"] }) { status } }',
      delete: 'mutation ($id: UUID!) { deleteMemory(input: { packetId: $id }) { packetId } }',
    };
    const apis: Record<string, (id: string, act: 'update' | 'delete') => Promise<string>> = {
      GraphQL: async (id, act) =>
        String((await gateway.graphql('C', mutations[act], { id })).errors?.[0]?.extensions?.sqlstate),
      MCP: async (id, act) =>
        /\((\w+)\)/.exec(
          (
            await gateway.tool('C', `${act}_memory`, {
              packet_id: id,
              ...(act === 'update' ? { tags: ['taken'] } : {}),
            })
          ).text,
        )?.[1] ?? 'done',
      'SQL functions': (id, act) =>
        gateway
          .sql(
            'C',
            act === 'update' ? "select public.update_memory($1, tags => '{taken}')" : 'select public.delete_memory($1)',
            [id],
          )
          .then(
            () => 'done',
            (error: { code: string }) => error.code,
          ),
    };
    for (const [name, attempt] of Object.entries(apis)) {
      it(`refuses C what L wrote or changed, through ${name}: L9OWN, and nothing happens`, async () => {
        const taken = await save('C');
        await gateway.sql('L', "select public.update_memory($1, kind => 'decision')", [taken]);
        for (const id of [await save('L'), taken]) {
          const was = await rowOf(id);
          for (const act of ['update', 'delete'] as const) expect(await attempt(id, act)).toBe('L9OWN');
          expect(await rowOf(id)).toStrictEqual(was);
          if (name === 'SQL functions') continue; // Its row rolls back with the transaction; the gateway writes another.
          const refusals = await gateway.sql(
            'L',
            "select operation, caller, sqlstate from public.audit_log where row_id = $1 and status = 'error' order by audit_id",
            [id],
          );
          expect(refusals).toStrictEqual(
            ['UPDATE', 'DELETE'].map((operation) => ({ operation, caller: 'C', sqlstate: 'L9OWN' })),
          );
        }
      });
    }

    it('lets raw SQL of C reach none of it, by id, by creator or by everything', async () => {
      const taken = await save('C');
      await gateway.sql('L', "select public.update_memory($1, kind => 'decision')", [taken]);
      const ids = [await save('L'), taken];
      const was = await Promise.all(ids.map(rowOf));
      for (const where of [
        'packet_id = any ($1)',
        "metadata ->> 'creator' = 'L-CTO' and $1::uuid[] is not null",
        "packet_id = any ($1) or metadata ->> 'creator' <> 'x'",
      ]) {
        // The last of them reaches C's own, so all of it is undone.
        await gateway
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
        const locked = await gateway.sql('C', `select packet_id from public.packet_store where ${where} for update`, [
          ids,
        ]);
        expect(
          locked.some(({ packet_id }) => ids.includes(packet_id)),
          'nor lock it',
        ).toBe(false);
      }
      expect(await Promise.all(ids.map(rowOf))).toStrictEqual(was);
    });
  });

  it('lets a child be changed after its parent is gone, or moved out of sight', async () => {
    const [deleted, hidden] = [await save('L'), await save('L')];
    const child = (
      await gateway.sql(
        'C',
        "select (memory).packet_id as id from public.save_memory($1, project_id => 'l9', parent_ids => $2)",
        [fresh(), [deleted, hidden]],
      )
    )[0].id;
    await gateway.sql('L', 'select public.delete_memory($1)', [deleted]);
    await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [hidden]);
    await gateway.sql('C', "select public.update_memory($1, tags => '{changed}')", [child]);
    await gateway.sql('L', "select public.update_memory($1, tags => '{again}')", [child]);
    expect((await rowOf(child)).tags).toStrictEqual(['again']);
    // But no new child can have them, nor can it take the hidden one along to where more may read it.
    await expect(
      gateway.sql('C', "select public.save_memory($1, project_id => 'l9', parent_ids => $2)", [fresh(), [hidden]]),
    ).rejects.toMatchObject({ code: 'L9VAL', column: 'parent_ids' });
    await expect(gateway.sql('L', "select public.update_memory($1, scope => 'global')", [child])).rejects.toMatchObject(
      {
        code: 'L9VAL',
        column: 'parent_ids',
      },
    );
  });
});

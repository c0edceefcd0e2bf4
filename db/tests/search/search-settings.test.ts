// A tenant's search settings, and the bound of their effect on the order of hits.
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { saveMemory, searchMemory } from '../support/memories.ts';
import { named } from '../support/named.ts';
import { addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['lamp', 'mirror', 'nail']);

describe('search settings', () => {
  const db = useTestDatabase();
  beforeAll(() => serveModel(db, model));
  const search = (query: string, args: object = {}) =>
    searchMemory(db, 'L', { query, query_vector: model.vectorOf(query), model: model.name, ...args });

  const set = async (args: Record<string, unknown>, caller = 'L') => {
    const query = `select s.* from public.set_search_settings(${named(args)}) s`;
    const [row] = await db.sql(caller, query, Object.values(args));
    return row;
  };
  const boost = async (
    recency: number,
    importance: number,
    recencyBoost: number,
    importanceBoost: number,
  ): Promise<number> => {
    const [{ factor }] = await db.asOwner(
      `select search.boost($1, $2, jsonb_populate_record(search.default_settings(), jsonb_build_object('recency_boost', $3::real, 'importance_boost', $4::real))) as factor`,
      [recency, importance, recencyBoost, importanceBoost],
    );
    return factor;
  };

  it('uses the defaults for a tenant that has set nothing', async () => {
    const [defaults] = await db.asOwner('select s.* from search.settings_of(null) s');
    const created = await set({});
    for (const name of Object.keys(defaults)) {
      if (!['tenant_id', 'updated_at'].includes(name)) expect(defaults[name], name).toStrictEqual(created[name]);
    }
  });

  it('changes only the given settings, and audits the change', async () => {
    const changed = await set({ importance_boost: 0.1, half_life_days: { decision: 365 } });
    expect(changed.importance_boost).toBe(0.1);
    expect(changed.half_life_days).toStrictEqual({ default: 180, decision: 365 });
    expect((await set({ half_life_days: { note: 30 } })).half_life_days).toStrictEqual({
      default: 180,
      decision: 365,
      note: 30,
    });
    const [row] = await db.sql(
      'L',
      "select operation, details -> 'row' as changed, caller from public.audit_log where table_name = 'search_settings' order by audit_id desc limit 1",
    );
    expect([row.operation, row.caller, row.changed.half_life_days.note]).toStrictEqual(['UPDATE', 'L', 30]);
  });

  it('refuses a value out of range, and names the field', async () => {
    const cases: [Record<string, unknown>, string][] = [
      [{ lexical_weight: 1.1 }, 'lexical_weight'],
      [{ semantic_weight: -1 }, 'semantic_weight'],
      [{ lexical_context_weight: 'NaN' }, 'lexical_context_weight'],
      [{ lexical_weight: 0, semantic_weight: 0 }, 'semantic_weight'],
      [{ recency_boost: 0.15, importance_boost: 0.1 }, 'importance_boost'],
      [{ recency_boost: -0.1 }, 'importance_boost'],
      [{ half_life_days: { note: 0 } }, 'half_life_days'],
      [{ half_life_days: { note: 'long' } }, 'half_life_days'],
      [{ half_life_days: JSON.stringify([1]) }, 'half_life_days'],
    ];
    for (const [args, field] of cases)
      await expect(set(args), JSON.stringify(args)).rejects.toMatchObject({ code: 'L9VAL', column: field });
    await expect(
      db.asSuperuser('update public.search_settings set recency_boost = 0.2, importance_boost = 0.2'),
    ).rejects.toMatchObject({ code: '23514' });
  });

  it('lets only an admin of the tenant change its settings', async () => {
    await expect(set({ lexical_context_weight: 0 }, 'C')).rejects.toMatchObject({ code: '42501' });
    await expect(
      db.sql('L', 'select public.set_search_settings(lexical_context_weight => 0)', [], {
        'jwt.claims.scopes': 'developer',
      }),
    ).rejects.toMatchObject({ code: 'L9SCP' });
    const { tenant, claims } = await otherTenant();
    await expect(set({ lexical_context_weight: 0, tenant_id: tenant })).rejects.toMatchObject({ code: 'L9SCP' });
    for (const text of [
      'update public.search_settings set lexical_context_weight = 0',
      'delete from public.search_settings',
      `insert into public.search_settings (tenant_id) values ('${tenant}')`,
    ]) {
      for (const caller of ['C', 'L']) await expect(db.sql(caller, text)).rejects.toMatchObject({ code: '42501' });
    }
    expect(await db.sql('C', 'select 1 from public.search_settings')).toHaveLength(1);
    expect(
      await db.sql('C', 'select 1 from public.search_settings', [], claims),
      "another tenant's settings are hidden",
    ).toStrictEqual([]);
  });

  const otherTenant = async () => {
    const claims = await addTenant(db, 'another');
    return { tenant: claims['jwt.claims.tenant_id'], claims };
  };

  it('keeps the boost factor between 1 / (1 + both boosts) and 1', async () => {
    for (const [recencyBoost, importanceBoost] of [
      [0.04, 0.15],
      [0.1, 0.1],
      [0, 0.2],
      [0, 0],
    ] as const) {
      const least = 1 / (1 + recencyBoost + importanceBoost);
      for (const recency of [0, 0.3, 1]) {
        for (const importance of [0, 0.5, 1]) {
          const factor = await boost(recency, importance, recencyBoost, importanceBoost);
          expect(factor, `${factor}`).toBeGreaterThanOrEqual(least - 1e-6);
          expect(factor, `${factor}`).toBeLessThanOrEqual(1 + 1e-6);
        }
      }
      expect(Math.abs((await boost(0, 0, recencyBoost, importanceBoost)) - least)).toBeLessThan(1e-6);
      expect(Math.abs((await boost(1, 1, recencyBoost, importanceBoost)) - 1)).toBeLessThan(1e-6);
    }
  });

  it('halves recency with each half-life', async () => {
    const rows = await db.asOwner(
      'select search.recency(make_interval(days => d), 10) as r from unnest(array[-5, 0, 10, 20, 100000]) d',
    );
    expect(rows.map(({ r }) => Number(r.toFixed(6)))).toStrictEqual([1, 1, 0.5, 0.25, 0]);
  });

  describe('with the highest boosts', () => {
    const save = (content: string, args: object = {}) => saveMemory(db, 'L', { content, ...args });
    const age = (id: string, days: number) =>
      db.asSuperuser(
        `set session_replication_role = replica;
         update public.packet_store set "timestamp" = now() - interval '${days} days' where packet_id = '${id}';
         set session_replication_role = origin`,
      );
    const find = async (query: string, mode = 'hybrid') => (await search(query, { mode, explain: true, k: 20 })).hits;
    beforeAll(() => set({ recency_boost: 0.1, importance_boost: 0.1, half_life_days: { note: 1 } }));

    it('lets a recent and important memory overtake one with a close score', async () => {
      const old = await save('A lamp, as it was before.', { importance: 0 });
      const recent = await save('A lamp, as it is there now, so they say.', { importance: 1 });
      await embedPending(db, model);
      await age(old, 1000);
      for (const mode of ['hybrid', 'semantic']) {
        const hits = await find('lamp', mode);
        expect(
          hits.map(({ packet_id }) => packet_id),
          mode,
        ).toStrictEqual([recent, old]);
      }
    });

    it('keeps irrelevant memories below a relevant one, however new and important', async () => {
      const relevant = await save('The mirror hangs on a nail.', { importance: 0 });
      const fringe: string[] = [];
      for (let n = 0; n < 5; n++)
        fringe.push(
          await save(`Paragraph ${n} tells of other things at length, and once of a nail.`, { importance: 1 }),
        );
      await embedPending(db, model);
      await age(relevant, 10_000);
      for (const mode of ['hybrid', 'lexical', 'semantic']) {
        const hits = await find('mirror nail', mode);
        expect(hits[0]!.packet_id, mode).toBe(relevant);
        expect(
          hits.some(({ packet_id }) => fringe.includes(packet_id)),
          mode,
        ).toBe(true);
        // The bound holds for every pair: the earlier hit scored at least 1 / 1.2 of the later one.
        for (const [at, one] of hits.entries()) {
          for (const other of hits.slice(at + 1))
            expect(one.explanation.fused * 1.2).toBeGreaterThanOrEqual(other.explanation.fused - 1e-6);
        }
      }
    });

    it('finds a memory that only the boosts lift into the first k', async () => {
      const old = await save('A lamp and a mirror.', { importance: 0 });
      const recent = await save('A lamp and a mirror too.', { importance: 1 });
      await embedPending(db, model);
      await age(old, 10_000);
      const { hits } = await search('lamp mirror', { mode: 'semantic', k: 1 });
      expect(hits[0]!.packet_id).toBe(recent);
    });
  });

  it('weights words against meaning', async () => {
    const save = (content: string) => saveMemory(db, 'L', { content, project_id: 'weights' });
    await save('zwieback');
    await save('A nail of sorts, and no zebra at all among the many other words here.');
    await embedPending(db, model);
    const first = async () => (await search('zwieback nail', { project_id: 'weights' })).hits[0]!.content;
    await set({ lexical_weight: 1, semantic_weight: 0 });
    expect(await first()).toBe('zwieback');
    await set({ lexical_weight: 0, semantic_weight: 1 });
    expect(await first()).toMatch(/^A nail/);
  });

  it('lets words weigh at least as much as meaning in scripts without spaces, which a model may not know', async () => {
    const project_id = 'scripts';
    await saveMemory(db, 'L', { content: '故宫 nail', project_id });
    await embedPending(db, model);
    const weights = async (query: string) =>
      (await search(query, { project_id, explain: true })).hits[0]!.explanation!.weights;
    await set({ lexical_weight: 0.3, semantic_weight: 0.7 });
    expect(await weights('故宫')).toMatchObject({ lexical: 0.7, semantic: 0.7 });
    expect(await weights('nail')).toMatchObject({ lexical: 0.3, semantic: 0.7 });
    await set({ lexical_weight: 0.8, semantic_weight: 0.2 });
    expect(await weights('故宫')).toMatchObject({ lexical: 0.8, semantic: 0.2 });
  });
});

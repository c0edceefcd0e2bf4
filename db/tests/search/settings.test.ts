// How a tenant's searches weigh what they find; and how far, at most, that can change what comes first.
import type { Embedder } from '../../../gateway/src/embeddings/index.ts';
import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';

import { addTenant } from '../support/tenants.ts';

const embedder: Embedder = {
  model: 'words',
  dimensions: 4,
  embed: async (texts) =>
    texts.map((text) => {
      const vector = [0.2, ...['lamp', 'mirror', 'nail'].map((word) => (text.includes(word) ? 1 : 0))];
      return vector.map((value) => value / Math.hypot(...vector));
    }),
  chunk: async () => [],
  close: async () => {},
};

describe('search settings', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder });
  });
  afterAll(() => gateway.close());

  const set = async (args: Record<string, unknown>, caller = 'L') => {
    const names = Object.keys(args).map((name, at) => `${name} => $${at + 1}`);
    const [row] = await gateway.sql(
      caller,
      `select s.* from public.set_search_settings(${names}) s`,
      Object.values(args),
    );
    return row;
  };
  const boost = async (
    recency: number,
    importance: number,
    recencyBoost: number,
    importanceBoost: number,
  ): Promise<number> => {
    const [{ factor }] = await gateway.asOwner(
      `select search.boost($1, $2, row(null, 0.35, 0.65, 0.5, true, $3, $4, '{"default": 1}', null)::public.search_settings) as factor`,
      [recency, importance, recencyBoost, importanceBoost],
    );
    return factor;
  };

  it('are the defaults of the table where a tenant has none of its own', async () => {
    const [defaults] = await gateway.asOwner('select s.* from search.current_search_settings() s');
    const created = await set({});
    for (const name of Object.keys(defaults)) {
      if (!['tenant_id', 'updated_at'].includes(name)) expect(defaults[name], name).toStrictEqual(created[name]);
    }
  });

  it('change by what an admin gives, and leave an audit row', async () => {
    const changed = await set({ importance_boost: 0.1, half_life_days: { decision: 365 } });
    expect(changed.importance_boost).toBe(0.1);
    expect(changed.half_life_days).toStrictEqual({ default: 180, decision: 365 });
    expect((await set({ half_life_days: { note: 30 } })).half_life_days).toStrictEqual({
      default: 180,
      decision: 365,
      note: 30,
    });
    const [row] = await gateway.sql(
      'L',
      "select operation, details -> 'row' as changed, caller from public.audit_log where table_name = 'search_settings' order by audit_id desc limit 1",
    );
    expect([row.operation, row.caller, row.changed.half_life_days.note]).toStrictEqual(['UPDATE', 'L', 30]);
    const { data } = await gateway.graphql(
      'L',
      'mutation { setSearchSettings(input: { importanceBoost: 0.06 }) { searchSettings { importanceBoost lexicalWeight } } }',
    );
    expect(data.setSearchSettings.searchSettings).toStrictEqual({ importanceBoost: 0.06, lexicalWeight: 0.35 });
  });

  it('out of range are refused, naming the field', async () => {
    const cases: [Record<string, unknown>, string][] = [
      [{ lexical_weight: 1.1 }, 'lexical_weight'],
      [{ semantic_weight: -1 }, 'semantic_weight'],
      [{ context_weight: 'NaN' }, 'context_weight'],
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
      gateway.asSuperuser('update public.search_settings set recency_boost = 0.2, importance_boost = 0.2'),
    ).rejects.toMatchObject({ code: '23514' });
  });

  it("are an admin's to change, of its own tenant, and nobody else's", async () => {
    await expect(set({ context_weight: 0 }, 'C')).rejects.toMatchObject({ code: '42501' });
    await expect(
      gateway.sql('L', 'select public.set_search_settings(context_weight => 0)', [], {
        'jwt.claims.scopes': 'developer',
      }),
    ).rejects.toMatchObject({ code: 'L9SCP' });
    const { tenant, claims } = await otherTenant();
    await expect(set({ context_weight: 0, tenant_id: tenant })).rejects.toMatchObject({ code: 'L9SCP' });
    for (const text of [
      'update public.search_settings set context_weight = 0',
      'delete from public.search_settings',
      `insert into public.search_settings (tenant_id) values ('${tenant}')`,
    ]) {
      for (const caller of ['C', 'L']) await expect(gateway.sql(caller, text)).rejects.toMatchObject({ code: '42501' });
    }
    expect(await gateway.sql('C', 'select 1 from public.search_settings')).toHaveLength(1);
    expect(
      await gateway.sql('C', 'select 1 from public.search_settings', [], claims),
      "another tenant's are not to be seen",
    ).toStrictEqual([]);
  });

  const otherTenant = async () => {
    const claims = await addTenant(gateway, 'another');
    return { tenant: claims['jwt.claims.tenant_id'], claims };
  };

  it('bound the boosts: a factor within 1 / (1 + both) and 1, whatever the memory', async () => {
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

  it('let recency halve with each half-life of the kind', async () => {
    const rows = await gateway.asOwner(
      'select search.recency(make_interval(days => d), 10) as r from unnest(array[-5, 0, 10, 20, 100000]) d',
    );
    expect(rows.map(({ r }) => Number(r.toFixed(6)))).toStrictEqual([1, 1, 0.5, 0.25, 0]);
  });

  describe('with both boosts at their most', () => {
    const save = async (content: string, args: Record<string, unknown> = {}) =>
      (await gateway.tool('L', 'save_memory', { content, project_id: 'l9', ...args })).result.memory
        .packet_id as string;
    const age = (id: string, days: number) =>
      gateway.asSuperuser(
        `set session_replication_role = replica;
         update public.packet_store set "timestamp" = now() - interval '${days} days' where packet_id = '${id}';
         set session_replication_role = origin`,
      );
    const found = async (query: string, mode = 'hybrid') => {
      const { result } = await gateway.tool('L', 'search_memory', { query, mode, explain: true, k: 20 });
      return result.hits as { packet_id: string; score: number; explanation: { fused: number } }[];
    };
    beforeAll(() => set({ recency_boost: 0.1, importance_boost: 0.1, half_life_days: { note: 1 } }));

    it('near-ties change places', async () => {
      const old = await save('A lamp, as it was before.', { importance: 0 });
      const recent = await save('A lamp, as it is there now, so they say.', { importance: 1 });
      await gateway.embedded();
      await age(old, 1000);
      for (const mode of ['hybrid', 'semantic']) {
        const hits = await found('lamp', mode);
        expect(
          hits.map(({ packet_id }) => packet_id),
          mode,
        ).toStrictEqual([recent, old]);
      }
    });

    it('no irrelevant memory comes before a relevant one, however new and important', async () => {
      const relevant = await save('The mirror hangs on a nail.', { importance: 0 });
      const fringe: string[] = [];
      for (let n = 0; n < 5; n++)
        fringe.push(
          await save(`Paragraph ${n} tells of other things at length, and once of a nail.`, { importance: 1 }),
        );
      await gateway.embedded();
      await age(relevant, 10_000);
      for (const mode of ['hybrid', 'lexical', 'semantic']) {
        const hits = await found('mirror nail', mode);
        expect(hits[0]!.packet_id, mode).toBe(relevant);
        expect(
          hits.some(({ packet_id }) => fringe.includes(packet_id)),
          mode,
        ).toBe(true);
        // The bound, of every pair: who comes first scored at least 1 / 1.2 of who comes after.
        for (const [at, one] of hits.entries()) {
          for (const other of hits.slice(at + 1))
            expect(one.explanation.fused * 1.2).toBeGreaterThanOrEqual(other.explanation.fused - 1e-6);
        }
      }
    });

    it('what they lift into the first k is not missed for being below them', async () => {
      const old = await save('A lamp and a mirror.', { importance: 0 });
      const recent = await save('A lamp and a mirror too.', { importance: 1 });
      await gateway.embedded();
      await age(old, 10_000);
      const { result } = await gateway.tool('L', 'search_memory', { query: 'lamp mirror', mode: 'semantic', k: 1 });
      expect(result.hits[0].packet_id).toBe(recent);
    });
  });

  it('weigh words against meaning', async () => {
    const save = (content: string) => gateway.tool('L', 'save_memory', { content, project_id: 'weights' });
    await save('zwieback');
    await save('A nail of sorts, and no zebra at all among the many other words here.');
    await gateway.embedded();
    const first = async () =>
      (await gateway.tool('L', 'search_memory', { query: 'zwieback nail', project_id: 'weights' })).result.hits[0]
        .content;
    await set({ lexical_weight: 1, semantic_weight: 0 });
    expect(await first()).toBe('zwieback');
    await set({ lexical_weight: 0, semantic_weight: 1 });
    expect(await first()).toMatch(/^A nail/);
  });
});

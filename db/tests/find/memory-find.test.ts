// memory_find in SQL: its routes, its ranking, what it counts, and what it writes.
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { expireMemories, saveMemory } from '../support/memories.ts';
import { named } from '../support/named.ts';
import type { Claims } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['lamp', 'mirror', 'nail', 'oven'], 0.1);

describe('memory_find', () => {
  const db = useTestDatabase();
  beforeAll(() => serveModel(db, model));

  const find = async (caller: string, args: object, claims: Claims = {}) => {
    const [{ answer }] = await db.sql(
      caller,
      `select to_jsonb(r) as answer from public.memory_find(${named(args)}) r`,
      Object.values(args),
      claims,
    );
    // biome-ignore lint/suspicious/noExplicitAny: its parts differ by request, and tests name those they expect
    return answer as { hits: any[]; searched: any };
  };
  const deep = (query: string, args: object = {}) =>
    find('C', { query, query_vector: model.vectorOf(query), model: model.name, ...args });

  it('chooses the route by the form of the query', async () => {
    const routes: [string, string][] = [
      ['getUserById', 'fast'],
      ['src/auth/jwt.ts', 'fast'],
      ['"exactly this phrase"', 'fast'],
      ['L9VAL', 'fast'],
      ['package.json', 'fast'],
      ['how do we log in users?', 'hybrid'],
      ['why does src/auth/jwt.ts fail on expired tokens', 'hybrid'],
      ['postgres', 'hybrid'],
      // No entity of this name is known.
      ['what depends on ledger-api?', 'hybrid'],
    ];
    for (const [query, route] of routes) {
      const [row] = await db.sql('C', "select find.choose_route($1, 'auto') as route", [query]);
      expect(row.route, query).toBe(route);
    }
    await db.sql(
      'L',
      "select public.relate('web-shop', 'depends_on', 'ledger-api', project_id => 'l9', scope => 'l-private')",
    );
    const route = (caller: string) =>
      db.sql(caller, "select find.choose_route('what depends on ledger-api?', 'auto') as route");
    expect(await route('L')).toStrictEqual([{ route: 'graph' }]);
    // An agent that can't read the relation is not told that there is one.
    expect(await route('C')).toStrictEqual([{ route: 'hybrid' }]);
  });

  it('finds by the date on which something was said', async () => {
    const messages = { project_id: 'standup', kind: 'message', thread_id: 'daily' };
    for (const [at, text] of [
      ['09:00', 'Ann: the import runs.'],
      ['09:01', 'Bob: the export, too.'],
      ['09:02', 'Ann: then we are done.'],
    ])
      await saveMemory(db, 'C', { content: text!, timestamp: `2026-03-06T${at}:00Z`, ...messages });
    await saveMemory(db, 'C', { content: 'Cem: good morning.', timestamp: '2026-03-07T09:00:00Z', ...messages });
    await embedPending(db, model);
    for (const mode of ['auto', 'fast']) {
      const { hits, searched } = await deep('2026-03-06', { mode, project_id: 'standup' });
      expect(hits.map(({ snippet }) => snippet.slice(0, 3)).sort(), mode).toStrictEqual(['Ann', 'Ann', 'Bob']);
      expect(searched.route_used, mode).toBe('fast');
    }
  });

  it('finds by words alone in mode fast, and by meaning too in mode deep', async () => {
    await saveMemory(db, 'C', { content: 'A lamp hangs in the hall.', project_id: 'house' });
    await saveMemory(db, 'C', { content: 'The lamplight is dim, says the mirror.', project_id: 'house' });
    await embedPending(db, model);
    const fast = await find('C', { query: 'lamp', mode: 'fast', project_id: 'house' });
    expect(fast.hits.map(({ snippet }) => snippet)).toStrictEqual(['A **lamp** hangs in the hall.']);
    expect([fast.searched.route_used, fast.searched.vectors]).toStrictEqual(['fast', 'not asked for']);
    const { hits, searched } = await deep('lamp', { mode: 'deep', project_id: 'house' });
    expect(hits.length).toBe(2);
    expect([searched.route_used, searched.vectors]).toStrictEqual(['deep', 'used']);
  });

  it('scores a hit by the sum that it explains', async () => {
    const project = { project_id: 'sum' };
    const cited = await saveMemory(db, 'C', { content: 'The oven is hot.', ...project });
    await saveMemory(db, 'C', { content: 'An oven stands there.', ...project });
    await saveMemory(db, 'L', { content: 'Bread comes out of it.', parent_ids: [cited], ...project });
    await saveMemory(db, 'C', { content: 'The oven of everyone.', scope: 'global', project_id: null });
    const { hits } = await find('C', { query: 'hot oven', mode: 'fast', explain: true, ...project });
    expect(hits.length).toBe(3);
    for (const { score, explanation } of hits) {
      const { matches, recency, proximity, citations } = explanation;
      expect([matches.weight, recency.weight, proximity.weight, citations.weight]).toStrictEqual([0.4, 0.3, 0.2, 0.1]);
      const sum = 0.4 * matches.value + 0.3 * recency.value + 0.2 * proximity.value + 0.1 * citations.value;
      expect(score).toBeCloseTo(sum, 5);
      expect(recency.value).toBeCloseTo(1, 3);
    }
    expect(hits[0].packet_id).toBe(cited);
    expect(hits[0].explanation.citations).toMatchObject({ agents: 1 });
    expect(hits.map((hit) => hit.explanation.proximity.value)).toStrictEqual([0.8, 0.8, 0.3]);
    expect([...hits].sort((a, b) => b.score - a.score)).toStrictEqual(hits);
    const branch = { branch: 'feature/heat', ...project };
    await saveMemory(db, 'C', { content: 'The oven of this branch.', ...branch });
    await saveMemory(db, 'C', { content: 'The oven of another branch.', ...project, branch: 'main' });
    const nearest = await find('C', { query: 'oven', mode: 'fast', explain: true, ...branch });
    const places = nearest.hits.map((hit) => [hit.project_id, hit.branch, hit.explanation.proximity.value]);
    expect(places[0]).toStrictEqual(['sum', 'feature/heat', 1]);
    expect(places.map(([, , proximity]) => proximity)).toStrictEqual([1, 0.8, 0.8, 0.3]);
    const everywhere = await find('C', { query: 'oven', mode: 'fast', ...project, branch: '*' });
    expect(everywhere.hits.length).toBe(5);
    // In no project of its own, every project of the org is equally near.
    const anywhere = await find('C', { query: 'hot oven', mode: 'fast', explain: true });
    const near = Object.fromEntries(anywhere.hits.map((hit) => [hit.project_id, hit.explanation.proximity.value]));
    expect([near.sum, near.null]).toStrictEqual([0.5, 0.3]);
  });

  it('has a ranking that is a pure function from 0 to 1, in which more is never less', async () => {
    const score = async (...parts: number[]) => {
      const [row] = await db.sql('C', 'select find.score($1, $2, $3, $4, find.default_settings()) as score', parts);
      return row.score as number;
    };
    expect([await score(0, 0, 0, 0), await score(1, 1, 1, 1)]).toStrictEqual([0, 1]);
    expect(await score(1, 0, 0, 0)).toBeCloseTo(0.4);
    expect(await score(0, 1, 0, 0)).toBeCloseTo(0.3);
    expect(await score(0, 0, 1, 0)).toBeCloseTo(0.2);
    expect(await score(0, 0, 0, 1)).toBeCloseTo(0.1);
    const volatility = await db.asOwner(
      "select distinct provolatile from pg_proc where proname in ('score', 'proximity', 'citation_share', 'confidence') and pronamespace = 'find'::regnamespace",
    );
    expect(volatility).toStrictEqual([{ provolatile: 'i' }]);
  });

  it('ranks what is new before what is old, by the half-life of its kind', async () => {
    const project = { project_id: 'ages' };
    await db.sql('L', `select public.set_find_settings(half_life_days => '{"swift": 30, "slow": 365}')`);
    const at = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
    await saveMemory(db, 'C', { content: 'nail one', kind: 'swift', timestamp: at(30), ...project });
    await saveMemory(db, 'C', { content: 'nail two', kind: 'slow', timestamp: at(30), ...project });
    await saveMemory(db, 'C', { content: 'nail three', kind: 'note', timestamp: at(0), ...project });
    const { hits } = await find('C', { query: 'nail', mode: 'fast', explain: true, ...project });
    expect(hits.map(({ kind }) => kind)).toStrictEqual(['note', 'slow', 'swift']);
    expect(hits.map(({ explanation }) => explanation.recency.half_life_days)).toStrictEqual([90, 365, 30]);
    expect(hits[2].explanation.recency.value).toBeCloseTo(0.5, 2);
  });

  it('uses the weights and half-lives that an admin of the tenant has set, on the record', async () => {
    const set = async (args: object, caller = 'L') =>
      db.sql(caller, `select s.* from public.set_find_settings(${named(args)}) s`, Object.values(args));
    const [defaults] = await db.sql('C', 'select to_jsonb(find.settings_of(identity.current_tenant_id())) as s');
    await expect(set({ match_weight: 1 }, 'C')).rejects.toMatchObject({ code: '42501' });
    for (const [args, field] of [
      [{ recency_weight: 1.5 }, 'recency_weight'],
      [{ match_weight: 0, recency_weight: 0, proximity_weight: 0, citation_weight: 0 }, 'match_weight'],
      [{ half_life_days: { todo: 0 } }, 'half_life_days'],
    ] as const)
      await expect(set(args), field).rejects.toMatchObject({ code: 'L9VAL', column: field });
    const [changed] = await set({ recency_weight: 0, half_life_days: { todo: 7 } });
    expect([changed.match_weight, changed.recency_weight]).toStrictEqual([defaults.s.match_weight, 0]);
    expect(changed.half_life_days).toStrictEqual({ ...defaults.s.half_life_days, todo: 7 });
    const { hits } = await find('C', { query: 'nail', mode: 'fast', explain: true, project_id: 'ages' });
    const [{ score, explanation }] = hits;
    expect(explanation.recency.weight).toBe(0);
    expect(score).toBeCloseTo((0.4 + 0.2 * 0.8) / 0.7, 5);
    const [row] = await db.sql(
      'L',
      "select operation, details -> 'row' as changed from public.audit_log where table_name = 'find_settings' order by audit_id desc limit 1",
    );
    expect([row.operation, row.changed.half_life_days.todo]).toStrictEqual(['UPDATE', 7]);
    await set({ recency_weight: 0.3 });
  });

  it('counts the agents that cite a memory, as far as the caller may read their memories and facts', async () => {
    const project = { project_id: 'cited' };
    for (const caller of ['D', 'E']) await db.sql('L', 'select public.register_actor($1)', [caller]);
    const cited = await saveMemory(db, 'C', { content: 'The mirror is cracked.', ...project });
    const cite = (caller: string, content: string, args = {}) =>
      saveMemory(db, caller, { content, parent_ids: [cited], ...project, ...args });
    const count = async (caller: string) =>
      (await find(caller, { query: 'mirror cracked', mode: 'fast', explain: true, ...project })).hits[0].explanation
        .citations.agents;
    const state = (caller: string, object: string) =>
      db.sql(caller, `select public.assert_fact('mirror', 'state', to_jsonb($2::text), source_packet => $1)`, [
        cited,
        object,
      ]);
    for (let n = 0; n < 5; n++) await cite('C', `Buy glass ${n}.`);
    await state('C', 'cracked');
    expect(await count('C'), 'its writer does not cite it').toBe(0);
    for (let n = 0; n < 3; n++) await cite('D', `Sell glass ${n}.`);
    await state('D', 'cracked');
    expect(await count('C'), 'one agent counts once').toBe(1);
    await cite('L', 'Sell the house.', { scope: 'l-private' });
    await expireMemories(db, [await cite('E', 'Buy a frame.')]);
    expect(await count('C')).toBe(1);
    expect(await count('L')).toBe(2);
    await state('E', 'broken');
    expect(await count('C')).toBe(2);
    await db.sql('C', "select public.update_memory($1, content => 'The mirror is not cracked.')", [cited]);
    expect(await count('C'), 'nobody cited this').toBe(0);
  });

  it('goes on from fast to deep where fewer than three are found, and says so', async () => {
    const project = { project_id: 'few' };
    await saveMemory(db, 'C', { content: 'renderLamp() draws it.', ...project });
    await saveMemory(db, 'C', { content: 'The lampshade is torn.', ...project });
    await embedPending(db, model);
    const waiting = await find('C', { query: 'renderLamp', retry_for: ['vector'], ...project });
    expect([waiting.hits, waiting.searched]).toStrictEqual([[], { retry: 'vector' }]);
    const { hits, searched } = await deep('renderLamp', project);
    expect(searched.route_used).toBe('fast, then deep');
    expect(searched.notice).toMatch(/fast found 1, so the search went on to deep/);
    expect(hits.length).toBeGreaterThan(1);
    expect(hits.every(({ route_used }) => route_used === 'deep')).toBe(true);
    for (const n of [1, 2]) await saveMemory(db, 'C', { content: `renderLamp() is called ${n} times.`, ...project });
    const enough = await find('C', { query: 'renderLamp', retry_for: ['vector'], ...project });
    expect([enough.searched.route_used, enough.hits.length]).toStrictEqual(['fast', 3]);
    // Without a vector the search goes on all the same.
    const alone = await find('C', { query: 'drawLamp', ...project });
    expect([alone.searched.route_used, alone.searched.vectors]).toStrictEqual(['fast, then deep', 'unavailable']);
  });

  it('follows relations where the query asks for them', async () => {
    const project = { project_id: 'graph' };
    const stated = await saveMemory(db, 'C', { content: 'Both were moved to the new cluster.', ...project });
    await db.sql(
      'C',
      "select public.relate('web-front', 'depends_on', 'stock-api', project_id => 'graph', source_packet => $1)",
      [stated],
    );
    const { hits, searched } = await find('C', { query: 'what depends on stock-api?', explain: true, ...project });
    expect(searched).toMatchObject({ route_used: 'graph, then deep', entities: ['stock-api'] });
    expect(hits.map(({ packet_id }) => packet_id)).toContain(stated);
    expect(hits.find(({ packet_id }) => packet_id === stated).explanation.search.found_by).toContain('graph');
  });

  it('narrows by kinds, fields and times, and shows the fields', async () => {
    const project = { project_id: 'tickets' };
    const long = 'x'.repeat(2000);
    await saveMemory(db, 'C', {
      content: 'Paint the door.',
      kind: 'ticket',
      envelope: { status: 'open', details: long },
      ...project,
    });
    await saveMemory(db, 'C', { content: 'Paint the wall.', kind: 'ticket', envelope: { status: 'done' }, ...project });
    await saveMemory(db, 'C', { content: 'Paint is expensive.', kind: 'note', ...project });
    const args = { query: 'paint', mode: 'fast', kinds: ['ticket'], where: { status: 'open' }, ...project };
    const { hits, searched } = await find('C', args);
    expect(hits).toMatchObject([
      { kind: 'ticket', fields: { status: 'open', details: `${'x'.repeat(200)}…` }, is_cut: true },
    ]);
    expect(searched.filters).toStrictEqual({ kinds: ['ticket'], where: { status: 'open' }, ...project });
    expect((await find('C', { ...args, until: '2000-01-01' })).hits).toStrictEqual([]);
    // Without a query: the newest that match.
    const newest = await find('C', { kinds: ['ticket'], ...project });
    expect(newest.searched.route_used).toBe('newest');
    expect(newest.hits.map(({ fields, confidence }) => [fields.status, confidence])).toStrictEqual([
      ['done', null],
      ['open', null],
    ]);
    const trimmed = await find('C', { query: 'paint', mode: 'fast', max_tokens: 500, ...project });
    expect(trimmed.searched.cut.tokens).toBeLessThanOrEqual(500);
    expect(trimmed.hits.length).toBe(3);
  });

  it('is as confident as the evidence is strong', async () => {
    const confidence = async (...evidence: (number | null)[]) => {
      const [row] = await db.sql('C', 'select find.confidence($1, $2, $3, $4) as c', evidence);
      return row.c as number;
    };
    const rising = [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1];
    for (const other of [null, 0, 0.5, 1]) {
      for (const lead of [-0.5, 0, 0.2]) {
        const byMeaning = await Promise.all(rising.map((value) => confidence(value, other, null, lead)));
        const byWords = await Promise.all(rising.map((value) => confidence(other, value, null, lead)));
        const byPath = await Promise.all(rising.map((value) => confidence(other, other, value, lead)));
        const byLead = await Promise.all(rising.map((value) => confidence(other, other, null, 2 * value - 1)));
        for (const list of [byMeaning, byWords, byPath, byLead]) {
          expect(list, String(other)).toStrictEqual([...list].sort((a, b) => a - b));
          for (const value of list) expect(value >= 0 && value <= 1).toBe(true);
        }
      }
    }
    expect(await confidence(0.000001, 0, null, 0)).toBeLessThan(0.1);
    expect(await confidence(0.01, 0.3, null, -0.1)).toBeLessThan(0.15);
    expect(await confidence(0.999999, 1, null, 0.2)).toBeGreaterThan(0.8);
  });

  it('is more confident in a memory that matches far better than all others, and says by how much', async () => {
    const project = { project_id: 'leads' };
    for (const content of [
      'Warm oven',
      'The oven of the bakery in the old town is warm',
      'A warm and very old oven of stone',
    ])
      await saveMemory(db, 'C', { content, ...project });
    const { hits } = await find('C', { query: 'warm oven', mode: 'fast', explain: true, ...project });
    const [best, second, third] = hits.map(({ explanation }) => explanation);
    const matches = [best, second, third].map((one) => one.matches.value);
    expect(best.confidence.lead).toBeCloseTo(matches[0] - matches[1], 5);
    expect(second.confidence.lead).toBeCloseTo(matches[1] - matches[0], 5);
    expect(third.confidence.lead).toBeCloseTo(matches[2] - matches[0], 5);
    const alone = await find('C', { query: 'stone', mode: 'fast', explain: true, ...project });
    expect(alone.hits.map(({ explanation }) => explanation.confidence.lead)).toStrictEqual([0]);
    expect(hits[0].confidence).toBeGreaterThan(hits[1].confidence);
  });

  it('writes one audit row and its hits to the access log, also where nothing is found', async () => {
    const { hits } = await find('C', { query: 'hot oven', mode: 'fast', project_id: 'sum' });
    const [row] = await db.sql(
      'L',
      "select operation, caller, project_id, details from public.audit_log where operation = 'SEARCH' order by audit_id desc limit 1",
    );
    expect(row).toMatchObject({ operation: 'SEARCH', caller: 'C', project_id: 'sum' });
    expect(row.details).toMatchObject({
      mode: 'fast',
      route_used: 'fast',
      ids: hits.map(({ packet_id }) => packet_id),
    });
    const log = await db.sql(
      'L',
      'select target_id as packet_id from public.memory_access_log where access_id = any ($1)',
      [hits.map(({ access_id }) => access_id)],
    );
    expect(log.map(({ packet_id }) => packet_id).sort()).toStrictEqual(hits.map(({ packet_id }) => packet_id).sort());
    await find('C', { query: 'zzyzx', mode: 'fast' });
    const [empty] = await db.sql(
      'L',
      "select details from public.audit_log where operation = 'SEARCH' order by audit_id desc limit 1",
    );
    expect(empty.details.ids).toStrictEqual([]);
  });

  it('ranks what contains a quoted phrase before what only has its words', async () => {
    const save = (content: string) => saveMemory(db, 'C', { content, project_id: 'phrases' });
    await save('The mirror hangs\nabove the  oven.');
    for (const n of [1, 2, 3]) await save(`Above the oven hangs the mirror; the mirror hangs above all ovens, ${n}.`);
    const matches = async (query: string) =>
      (await find('C', { query, mode: 'fast', project_id: 'phrases', explain: true })).hits.map(
        ({ snippet, explanation }) => [/\d\.$/.test(snippet) ? 'words' : 'phrase', explanation.matches.value > 0],
      );
    expect(await matches('"Mirror hangs above the oven"')).toStrictEqual([
      ['phrase', true],
      ['words', false],
      ['words', false],
      ['words', false],
    ]);
    // If no memory contains the phrase, its words count.
    const other = await matches('“oven above mirror”');
    expect(other.length).toBeGreaterThanOrEqual(4);
    expect(other.every(([, counts]) => counts)).toBe(true);
  });

  it('finds the same where so many memories were counted that it does not look whether few match', async () => {
    for (const n of [1, 2, 3, 4])
      await saveMemory(db, 'C', { content: `Nail ${n} holds the shelf.`, project_id: 'shelf' });
    // Scores change with the clock.
    const shown = async () =>
      (await find('C', { query: 'nail shelf', mode: 'fast', project_id: 'shelf', explain: true })).hits.map(
        ({ packet_id, confidence, explanation: { matches } }) => ({ packet_id, confidence, matches }),
      );
    const count = (scope: string, memories: number) =>
      db.asSuperuser(
        `insert into ranking.audiences (audience_id, tenant_id, project_id, scope, memories, sampled, average_length, unlisted)
         select gen_random_uuid(), p.tenant_id, p.project_id, $1, $2, 5000, 4, 5 from public.packet_store p where p.project_id = 'shelf' limit 1`,
        [scope, memories],
      );
    const before = await shown();
    expect(before).toHaveLength(4);
    // What C can't read changes nothing: neither its words nor its number.
    await count('l-private', 1_000_000);
    expect(await shown()).toStrictEqual(before);
    await count('developer', 4_999);
    const looked = await shown();
    await db.asSuperuser("update ranking.audiences set memories = 5000 where scope = 'developer'");
    const ids = (hits: { packet_id: string }[]) => hits.map(({ packet_id }) => packet_id);
    expect(ids(await shown())).toStrictEqual(ids(looked));
    expect(ids(looked).sort()).toStrictEqual(ids(before).sort());
  });

  it('refuses an argument out of range, and names it', async () => {
    const cases: [object, string][] = [
      [{ query: 'x', mode: 'hybrid' }, 'mode'],
      [{ query: ' ' }, 'query'],
      [{}, 'query'],
      [{ query: 'x', k: 0 }, 'k'],
      [{ query: 'x', max_tokens: 10 }, 'max_tokens'],
      [{ query: 'x', where: { a: { near: 1 } } }, 'where'],
      [{ query: 'x', since: '2026-02-01', until: '2026-01-01' }, 'since'],
    ];
    for (const [args, column] of cases)
      await expect(find('C', args), JSON.stringify(args)).rejects.toMatchObject({ code: 'L9VAL', column });
  });
});

// What callers learn about facts of scopes, tenants, orgs and users that are not theirs: nothing. What goes with a memory.

import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { save } from '../importance/support.ts';
import { grepDatabase } from '../support/dump.ts';
import { errorOf } from '../support/errors.ts';
import { named } from '../support/named.ts';
import { itOnServer } from '../support/on-engine.ts';
import { addOperator, addTenant } from '../support/tenants.ts';
import {
  assertFact,
  contradictionsOf,
  type Fact,
  factNow,
  findFacts,
  objects,
  registerPredicate,
  retract,
} from './support.ts';

const MISSING = '01900000-0000-7000-8000-000000000000';

describe('facts and those they are not for', () => {
  let gateway: TestGateway;
  let acme: Record<string, string>;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    acme = await addTenant(gateway, 'acme');
    for (const predicate of ['status', 'is led by']) await registerPredicate(gateway, predicate);
  });
  afterAll(() => gateway.close());

  const move = (caller: string, packet: string, args: object) =>
    gateway.sql(caller, `select public.update_memory($1, ${named(args, 2)})`, [packet, ...Object.values(args)]);

  it('are of one room each: neither counts, nor conflicts, nor versions tell of another', async () => {
    const secret = await assertFact(gateway, 'L', ['the merger', 'status', 'signed'], { scope: 'l-private' });
    for (let i = 0; i < 3; i++)
      await assertFact(gateway, 'L', ['the merger', 'status', 'planned'], { scope: 'l-private' });
    const theirs = await assertFact(gateway, 'C', ['the merger', 'status', 'planned'], {}, acme);
    const ours = await assertFact(gateway, 'C', ['the merger', 'status', 'planned']);
    expect([ours.supporting_packet_count, ours.contradiction_count, ours.confidence]).toStrictEqual([1, 0, 0.8]);
    expect([theirs.supporting_packet_count, theirs.contradiction_count]).toStrictEqual([1, 0]);
    expect((await factNow(gateway, secret.fact_id))!.superseded_by !== null).toBe(true);

    expect(await objects(gateway, 'C', 'the merger', { include_history: true })).toStrictEqual(['planned']);
    expect(await findFacts(gateway, 'L', { subject: 'the merger', include_history: true })).toHaveLength(3);
    const asOf = await gateway.sql('C', "select (fact).fact_id from public.facts_as_of(subject => 'the merger')");
    expect(asOf).toStrictEqual([{ fact_id: ours.fact_id }]);
    for (const [table, own] of [
      ['knowledge_facts', 1],
      ['fact_evidence', 1],
    ] as const) {
      const [row] = await gateway.sql(
        'C',
        `select count(*)::int as n from public.${table} where subject = 'the merger'`,
      );
      expect(row.n, table).toBe(own);
      const [hidden] = await gateway.sql('C', `select count(*)::int as n from public.${table} where fact_id = $1`, [
        secret.fact_id,
      ]);
      expect(hidden.n, table).toBe(0);
    }
    // Another org's and another user's.
    const org = { 'jwt.claims.org_id': '01900000-0000-7000-8000-0000000000aa' };
    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000bb' };
    const ofOrg = await assertFact(gateway, 'C', ['the merger', 'status', 'called off'], {}, org);
    const ofUser = await assertFact(gateway, 'C', ['the merger', 'status', 'feared'], {}, user);
    expect([ofOrg.contradiction_count, ofUser.contradiction_count]).toStrictEqual([0, 0]);
    expect(await objects(gateway, 'C', 'the merger')).toStrictEqual(['planned']);
    expect((await objects(gateway, 'C', 'the merger', {}, org)).sort()).toStrictEqual(['called off', 'planned']);
  });

  it('can be neither asserted from, nor retracted, nor told from what is not there', async () => {
    const secret = await save(gateway, 'L', 'an elderberry in l-private', { scope: 'l-private' });
    const fact = await assertFact(gateway, 'L', ['elderberry', 'is', 'ripe'], { source_packet: secret });
    const refusal = async (work: Promise<unknown>) => {
      const error = await errorOf(work);
      return [error.code, error.message.replaceAll(/[0-9a-f-]{36}/g, 'ID')];
    };
    const from = (packet: string) =>
      refusal(gateway.sql('C', "select facts.assert_fact_from($1, 'elderberry', 'is', '1')", [packet]));
    expect(await from(secret)).toStrictEqual(await from(MISSING));
    expect((await from(secret))[0]).toBe('L9OWN');
    expect(
      await refusal(assertFact(gateway, 'C', ['elderberry', 'is', 'ripe'], { source_packet: secret })),
    ).toStrictEqual(await refusal(assertFact(gateway, 'C', ['elderberry', 'is', 'ripe'], { source_packet: MISSING })));
    expect(await refusal(retract(gateway, 'C', fact.fact_id))).toStrictEqual(
      await refusal(retract(gateway, 'C', MISSING)),
    );
    const ofL = await assertFact(gateway, 'L', ['damson', 'is', 'blue']);
    expect(await refusal(retract(gateway, 'C', ofL.fact_id))).toStrictEqual(
      await refusal(retract(gateway, 'C', MISSING)),
    );
    expect((await refusal(assertFact(gateway, 'C', ['a', 'b', 'c'], { scope: 'l-private' })))[0]).toBe('L9SCP');
    // What another stands for too is not one's own to take back.
    const shared = await assertFact(gateway, 'C', ['quince', 'is', 'yellow']);
    await assertFact(gateway, 'L', ['quince', 'is', 'yellow']);
    expect((await refusal(retract(gateway, 'C', shared.fact_id)))[0]).toBe('L9OWN');
    const own = await assertFact(gateway, 'C', ['medlar', 'is', 'green']);
    expect((await retract(gateway, 'C', own.fact_id)).retracted_at).toBeTruthy();
  });

  it('are written by functions only, which give nobody more than it has', async () => {
    const fact = await assertFact(gateway, 'C', ['sloe', 'is', 'sour']);
    for (const caller of ['C', 'L']) {
      for (const statement of [
        `update public.knowledge_facts set confidence = 0.99 where fact_id = '${fact.fact_id}'`,
        `delete from public.knowledge_facts where fact_id = '${fact.fact_id}'`,
        `insert into public.fact_evidence (fact_id, packet_id, subject, object, confidence, valid_from)
           values ('${fact.fact_id}', '${fact.source_packet}', 'x', '1', 1, now())`,
        `insert into public.fact_predicates (tenant_id, predicate, is_single_valued) select tenant_id, 'x', true from public.tenants`,
        `select facts.withdraw_evidence('${fact.source_packet}')`,
        `select facts.recompute_facts(null, true)`,
        `select facts.lock_facts(null)`,
        `select facts.facts_with_key(null, true)`,
        `select facts.count_contradictions('{}')`,
        `update public.memory_signals set contradiction_count = 9`,
      ]) {
        await expect(gateway.sql(caller, statement), statement).rejects.toMatchObject({ code: '42501' });
      }
    }
    // Only a job has a model to name.
    await gateway.sql('C', "select facts.assert_fact_from($1, 'sloe', 'is', '\"sour\"', extracted_by => 'forged')", [
      fact.source_packet,
    ]);
    const [evidence] = await gateway.sql('C', 'select extracted_by from public.fact_evidence where fact_id = $1', [
      fact.fact_id,
    ]);
    expect(evidence.extracted_by).toBeNull();
    // What a caller says it has been shown counts only where it is true.
    const secret = await assertFact(gateway, 'L', ['bullace', 'is', 'hidden'], { scope: 'l-private' });
    await gateway.sql(
      'C',
      "select importance.log_accesses('search', array[$1::uuid], array['developer'], array['l9'], target_type => 'fact')",
      [secret.fact_id],
    );
    await gateway.instance.database.workerPool.query('select facts.roll_up_accesses()');
    expect((await factNow(gateway, secret.fact_id))!.access_count).toBe('0');
    // A cut-down admin changes nothing for scopes that it does not have.
    await expect(
      gateway.sql('L', "select public.register_predicate('is sour')", [], { 'jwt.claims.scopes': '["developer"]' }),
    ).rejects.toMatchObject({ code: 'L9SCP' });
    expect(await gateway.sql('C', 'select * from public.fact_predicates', [], acme)).toHaveLength(0);
  });

  it('are seen by operators on the record', async () => {
    const operator = await addOperator(gateway, 'Watch');
    await assertFact(gateway, 'L', ['greengage', 'is', 'secret'], { scope: 'l-private' });
    expect(await objects(gateway, 'Watch', 'greengage', {}, operator)).toStrictEqual(['secret']);
    const [row] = await gateway.asSuperuser(
      "select count(*)::int as n from public.audit_log where table_name = 'knowledge_facts' and details ->> 'look' = 'platform'",
    );
    expect(row.n).toBeGreaterThan(0);
  });

  it('move where their memory moves, alone or out of a shared one', async () => {
    const [mine, other] = [await save(gateway, 'L', 'rosehip one'), await save(gateway, 'L', 'rosehip two')];
    const shared = await assertFact(gateway, 'L', ['rosehip', 'status', 'red'], { source_packet: mine });
    await assertFact(gateway, 'L', ['rosehip', 'status', 'red'], { source_packet: other });
    const alone = await assertFact(gateway, 'L', ['rosehip', 'grows in', 'hedges'], { source_packet: mine });
    await move('L', mine, { scope: 'l-private' });
    // C keeps what the other memory says, and nothing of what the moved one said.
    const [left] = await findFacts(gateway, 'C', { subject: 'rosehip' });
    expect([left!.fact_id, left!.source_packet, left!.supporting_packet_count, left!.confidence]).toStrictEqual([
      shared.fact_id,
      other,
      1,
      0.8,
    ]);
    expect(await objects(gateway, 'C', 'rosehip')).toStrictEqual(['red']);
    expect((await factNow(gateway, alone.fact_id))!.scope).toBe('l-private');
    const hidden = (await findFacts(gateway, 'L', { subject: 'rosehip', scope: 'l-private' })).map(
      ({ predicate }) => predicate,
    );
    expect(hidden.sort()).toStrictEqual(['grows in', 'status']);
    // And back: one fact again.
    await move('L', mine, { scope: 'developer' });
    const [again] = await findFacts(gateway, 'C', { subject: 'rosehip', predicate: 'status' });
    expect([again!.supporting_packet_count, again!.confidence]).toStrictEqual([2, 0.96]);
    expect(await findFacts(gateway, 'L', { subject: 'rosehip', include_history: true })).toHaveLength(2);
  });

  it('never point from one room to another', async () => {
    const [first, second] = [await save(gateway, 'L', 'hazel one'), await save(gateway, 'L', 'hazel two')];
    const old = await assertFact(gateway, 'L', ['hazel', 'is led by', 'Ida'], { source_packet: first });
    const next = await assertFact(gateway, 'L', ['hazel', 'is led by', 'Ove'], { source_packet: second });
    expect(await contradictionsOf(gateway, first)).toBe(1);
    await move('L', second, { scope: 'l-private' });
    const [now] = await findFacts(gateway, 'C', { subject: 'hazel', include_history: true });
    expect([
      now!.fact_id,
      now!.valid_to,
      now!.superseded_by,
      now!.superseded_at,
      now!.contradiction_count,
    ]).toStrictEqual([old.fact_id, null, null, null, 0]);
    expect([await contradictionsOf(gateway, first), await contradictionsOf(gateway, second)]).toStrictEqual([0, 0]);
    // It meets its like there, and is contradicted there.
    const there = await assertFact(gateway, 'L', ['hazel', 'is led by', 'Una'], { scope: 'l-private' });
    expect((await factNow(gateway, next.fact_id))!.superseded_by).toBe(there.fact_id);
    await move('L', first, { scope: 'l-private' });
    expect(await findFacts(gateway, 'C', { subject: 'hazel', include_history: true })).toStrictEqual([]);
    const chain = await gateway.sql(
      'L',
      "select object, superseded_by is not null as ended from public.knowledge_facts where subject = 'hazel' order by valid_from",
    );
    expect(chain).toStrictEqual([
      { object: 'Ida', ended: true },
      { object: 'Ove', ended: true },
      { object: 'Una', ended: false },
    ]);
    await expect(
      gateway.asSuperuser(
        `update public.knowledge_facts f set superseded_by = (select fact_id from public.knowledge_facts where scope = 'developer' limit 1)
         where fact_id = '${next.fact_id}'`,
      ),
    ).rejects.toMatchObject({ code: '23503' });
  });

  it('are worked out again when a memory goes, and go with the last', async () => {
    const packets = [await save(gateway, 'C', 'alder one'), await save(gateway, 'L', 'alder two')];
    const say = (packet: string, valid_from: string, spelt: string, confidence: number) =>
      assertFact(gateway, 'L', [spelt, 'is led by', 'Per'], { source_packet: packet, valid_from, confidence });
    await say(packets[0]!, '2026-01-05T00:00:00Z', 'ALDER', 0.9);
    const before = await assertFact(gateway, 'L', ['alder', 'is led by', 'Siv'], {
      valid_from: '2026-01-01T00:00:00Z',
    });
    const fact = await say(packets[1]!, '2026-02-01T00:00:00Z', 'Alder', 0.5);
    expect([fact.confidence, fact.subject, fact.supporting_packet_count]).toStrictEqual([0.95, 'ALDER', 2]);
    await gateway.sql('C', 'select public.delete_memory($1)', [packets[0]]);
    const left = (await factNow(gateway, fact.fact_id))!;
    expect([
      left.confidence,
      left.subject,
      left.supporting_packet_count,
      left.source_packet,
      left.valid_from.toISOString(),
      left.creator,
    ]).toStrictEqual([0.5, 'Alder', 1, packets[1], '2026-02-01T00:00:00.000Z', 'L-CTO']);
    // What it had ended lasts as long as what is left says.
    expect((await factNow(gateway, before.fact_id))!.valid_to).toStrictEqual(left.valid_from);
    await gateway.sql('L', 'select public.delete_memory($1)', [packets[1]]);
    expect(await factNow(gateway, fact.fact_id)).toBeUndefined();
    const first = (await factNow(gateway, before.fact_id))!;
    expect([first.valid_to, first.superseded_by, first.contradiction_count]).toStrictEqual([null, null, 0]);
  });

  it('leave nothing of an erased memory, also where others say the same', async () => {
    const word = 'Zqalexandrine';
    const [erased, kept] = [await save(gateway, 'L', `about ${word}`), await save(gateway, 'L', 'about it')];
    const say = (source_packet: string, subject: string, object: unknown) =>
      assertFact(gateway, 'L', [subject, 'is led by', object], { source_packet });
    const fact = await say(erased, `the ${word.toUpperCase()}  house`, `Dr ${word}`);
    await say(kept, `the ${word.toLowerCase()} house`, `dr ${word.toLowerCase()}`);
    await say(erased, 'plain', `${word} alone`);
    await retract(gateway, 'L', (await say(erased, 'plain 2', `${word} alone`)).fact_id, `not ${word}`);
    await gateway.sql('L', "select public.erase_memory($1, 'a test')", [erased]);
    const left = (await factNow(gateway, fact.fact_id))!;
    expect([left.subject, left.object, left.supporting_packet_count]).toStrictEqual([
      `the ${word.toLowerCase()} house`,
      `dr ${word.toLowerCase()}`,
      1,
    ]);
    await gateway.sql('L', "select public.erase_memory($1, 'a test')", [kept]);
    expect(await gateway.inSuperuserSession((client) => grepDatabase(client, [word]))).toStrictEqual({});
  });

  it('expire with the last memory that says so', async () => {
    const later = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
    const [short, long] = [
      await save(gateway, 'C', 'birch one', { ttl: later(1) }),
      await save(gateway, 'C', 'birch two', { ttl: later(2) }),
    ];
    const fact = await assertFact(gateway, 'C', ['birch', 'is led by', 'Liv'], { source_packet: short });
    const ttlOf = async (packet: string) =>
      (await gateway.sql('C', 'select ttl from public.packet_store where packet_id = $1', [packet]))[0].ttl;
    expect(fact.ttl).toStrictEqual(await ttlOf(short));
    await assertFact(gateway, 'C', ['birch', 'is led by', 'Liv'], { source_packet: long });
    expect((await factNow(gateway, fact.fact_id))!.ttl).toStrictEqual(await ttlOf(long));
    await move('C', short, { ttl: 'infinity' });
    expect((await factNow(gateway, fact.fact_id))!.ttl).toBeNull();
    const pass = (packets: string[]) =>
      gateway.inSuperuserSession(async (client) => {
        await client.query('set session_replication_role = replica');
        for (const table of ['packet_store', 'fact_evidence'])
          await client.query(
            `update public.${table} set ttl = now() - interval '1 second' where packet_id = any ($1)`,
            [packets],
          );
        await client.query(
          `update public.knowledge_facts f set ttl = now() - interval '1 second' where not exists (
             select from public.fact_evidence e where e.fact_id = f.fact_id and (e.ttl is null or e.ttl > now()))`,
        );
        await client.query('reset session_replication_role');
      });
    await pass([short, long]);
    expect(await objects(gateway, 'L', 'birch', { include_history: true })).toStrictEqual([]);
    expect(await gateway.sql('C', "select * from public.facts_as_of(subject => 'birch')")).toStrictEqual([]);
    await expect(retract(gateway, 'C', fact.fact_id)).rejects.toMatchObject({ code: 'L9OWN' });
    // What has expired is nothing to build on.
    const anew = await assertFact(gateway, 'C', ['birch', 'is led by', 'Ash']);
    expect([anew.contradiction_count, anew.valid_to]).toStrictEqual([0, null]);
    expect(await factNow(gateway, fact.fact_id)).toBeUndefined();
    await gateway.instance.database.workerPool.query('select memories.delete_expired_batch()');
    expect(await objects(gateway, 'C', 'birch')).toStrictEqual(['Ash']);
  });

  itOnServer('have one current value, however many assert one at once', async () => {
    const packets = await Promise.all(Array.from({ length: 20 }, (_, i) => save(gateway, 'C', `larch ${i}`)));
    // Not by the gateway's pool, which is small: twenty sessions.
    const { default: pg } = await import('pg');
    const clients = await Promise.all(
      packets.map(async () => {
        const client = new pg.Client({ connectionString: gateway.home.superuserUrl! });
        await client.connect();
        await client.query('set session authorization l9_gateway');
        return client;
      }),
    );
    try {
      const assertAll = (objectOf: (i: number) => string) =>
        Promise.all(
          clients.map(async (client, i) => {
            await client.query(
              `begin; set local role l9_agent; set local "jwt.claims.caller" = 'C';
               set local "jwt.claims.tenant_id" = '00000000-0000-7000-8000-000000000001'`,
            );
            await client.query(
              `select public.assert_fact('larch', 'is led by', to_jsonb($1::text), source_packet => $2)`,
              [objectOf(i), packets[i]],
            );
            await client.query('commit');
          }),
        );
      await assertAll((i) => `leader ${i}`);
      const all: Fact[] = await gateway.asSuperuser(
        "select * from public.knowledge_facts where subject = 'larch' order by valid_from, recorded_at",
      );
      expect(all).toHaveLength(20);
      expect(all.filter(({ valid_to }) => valid_to === null)).toHaveLength(1);
      for (const [i, fact] of all.entries()) expect(fact.superseded_by).toBe(all[i + 1]?.fact_id ?? null);
      expect(all.at(-1)!.valid_to).toBeNull();
      await assertAll(() => 'the same');
      const [same, ...more] = await gateway.asSuperuser(
        'select * from public.knowledge_facts where object = \'"the same"\'',
      );
      expect([same.supporting_packet_count, more.length]).toStrictEqual([20, 0]);
      // Deleted while others assert: nothing is left of what went, and nobody waits for ever.
      await Promise.all([
        assertAll((i) => (i % 2 ? 'odd' : 'even')).catch((error: { code: string }) => expect(error.code).toBe('L9OWN')),
        ...packets.slice(0, 5).map((packet) => gateway.sql('C', 'select public.delete_memory($1)', [packet])),
      ]);
      const [wrong] = await gateway.asSuperuser(
        `select count(*) filter (where valid_to is null)::int as current, count(*) filter (where supporting_packet_count <> (
           select sum(mentions) from public.fact_evidence e where e.fact_id = f.fact_id))::int as miscounted
         from public.knowledge_facts f where subject = 'larch'`,
      );
      expect(wrong).toStrictEqual({ current: 1, miscounted: 0 });
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
  });
});

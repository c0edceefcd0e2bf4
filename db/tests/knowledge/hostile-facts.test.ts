// What callers learn about facts of scopes, tenants, orgs and users that are not theirs: nothing. What goes with a memory.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { engine } from '../../../gateway/tests/support/databases.ts';
import { grepDatabase } from '../../../gateway/tests/support/dump.ts';
import { type House, openHouse } from '../../../gateway/tests/support/house.ts';
import { asSuperuser } from '../../../gateway/tests/support/logins.ts';
import { named } from '../../../gateway/tests/support/named.ts';
import { addOperator, addTenant } from '../../../gateway/tests/support/second-tenant.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { save } from '../importance/support.ts';
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
  let house: House;
  let acme: Record<string, string>;
  before(async () => {
    house = await openHouse({ embedder: standIn });
    acme = await addTenant(house, 'acme');
    for (const predicate of ['status', 'is led by']) await registerPredicate(house, predicate);
  });
  after(() => house.close());

  const move = (caller: string, packet: string, args: object) =>
    house.sql(caller, `select public.update_memory($1, ${named(args, 2)})`, [packet, ...Object.values(args)]);

  it('are of one room each: neither counts, nor conflicts, nor versions tell of another', async () => {
    const secret = await assertFact(house, 'L', ['the merger', 'status', 'signed'], { scope: 'l-private' });
    for (let i = 0; i < 3; i++)
      await assertFact(house, 'L', ['the merger', 'status', 'planned'], { scope: 'l-private' });
    const theirs = await assertFact(house, 'C', ['the merger', 'status', 'planned'], {}, acme);
    const ours = await assertFact(house, 'C', ['the merger', 'status', 'planned']);
    assert.deepEqual([ours.supporting_packet_count, ours.contradiction_count, ours.confidence], [1, 0, 0.8]);
    assert.deepEqual([theirs.supporting_packet_count, theirs.contradiction_count], [1, 0]);
    assert.equal((await factNow(house, secret.fact_id))!.superseded_by !== null, true);

    assert.deepEqual(await objects(house, 'C', 'the merger', { include_history: true }), ['planned']);
    assert.equal((await findFacts(house, 'L', { subject: 'the merger', include_history: true })).length, 3);
    const asOf = await house.sql('C', "select (fact).fact_id from public.facts_as_of(subject => 'the merger')");
    assert.deepEqual(asOf, [{ fact_id: ours.fact_id }]);
    for (const [table, own] of [
      ['knowledge_facts', 1],
      ['fact_evidence', 1],
    ] as const) {
      const [row] = await house.sql('C', `select count(*)::int as n from public.${table} where subject = 'the merger'`);
      assert.equal(row.n, own, table);
      const [hidden] = await house.sql('C', `select count(*)::int as n from public.${table} where fact_id = $1`, [
        secret.fact_id,
      ]);
      assert.equal(hidden.n, 0, table);
    }
    // Another org's and another user's.
    const org = { 'jwt.claims.org_id': '01900000-0000-7000-8000-0000000000aa' };
    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000bb' };
    const ofOrg = await assertFact(house, 'C', ['the merger', 'status', 'called off'], {}, org);
    const ofUser = await assertFact(house, 'C', ['the merger', 'status', 'feared'], {}, user);
    assert.deepEqual([ofOrg.contradiction_count, ofUser.contradiction_count], [0, 0]);
    assert.deepEqual(await objects(house, 'C', 'the merger'), ['planned']);
    assert.deepEqual((await objects(house, 'C', 'the merger', {}, org)).sort(), ['called off', 'planned']);
  });

  it('can be neither asserted from, nor retracted, nor told from what is not there', async () => {
    const secret = await save(house, 'L', 'an elderberry in l-private', { scope: 'l-private' });
    const fact = await assertFact(house, 'L', ['elderberry', 'is', 'ripe'], { source_packet: secret });
    const errorOf = async (work: Promise<unknown>) => {
      const error = await work.then(
        () => assert.fail('it went through'),
        (refused: { code: string; message: string }) => refused,
      );
      return [error.code, error.message.replaceAll(/[0-9a-f-]{36}/g, 'ID')];
    };
    const from = (packet: string) =>
      errorOf(house.sql('C', "select facts.assert_fact_from($1, 'elderberry', 'is', '1')", [packet]));
    assert.deepEqual(await from(secret), await from(MISSING));
    assert.equal((await from(secret))[0], 'L9OWN');
    assert.deepEqual(
      await errorOf(assertFact(house, 'C', ['elderberry', 'is', 'ripe'], { source_packet: secret })),
      await errorOf(assertFact(house, 'C', ['elderberry', 'is', 'ripe'], { source_packet: MISSING })),
    );
    assert.deepEqual(await errorOf(retract(house, 'C', fact.fact_id)), await errorOf(retract(house, 'C', MISSING)));
    const ofL = await assertFact(house, 'L', ['damson', 'is', 'blue']);
    assert.deepEqual(await errorOf(retract(house, 'C', ofL.fact_id)), await errorOf(retract(house, 'C', MISSING)));
    assert.equal((await errorOf(assertFact(house, 'C', ['a', 'b', 'c'], { scope: 'l-private' })))[0], 'L9SCP');
    // What another stands for too is not one's own to take back.
    const shared = await assertFact(house, 'C', ['quince', 'is', 'yellow']);
    await assertFact(house, 'L', ['quince', 'is', 'yellow']);
    assert.equal((await errorOf(retract(house, 'C', shared.fact_id)))[0], 'L9OWN');
    const own = await assertFact(house, 'C', ['medlar', 'is', 'green']);
    assert.ok((await retract(house, 'C', own.fact_id)).retracted_at);
  });

  it('are written by functions only, which give nobody more than it has', async () => {
    const fact = await assertFact(house, 'C', ['sloe', 'is', 'sour']);
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
        await assert.rejects(house.sql(caller, statement), { code: '42501' }, statement);
      }
    }
    // Only a job has a model to name.
    await house.sql('C', "select facts.assert_fact_from($1, 'sloe', 'is', '\"sour\"', extracted_by => 'forged')", [
      fact.source_packet,
    ]);
    const [evidence] = await house.sql('C', 'select extracted_by from public.fact_evidence where fact_id = $1', [
      fact.fact_id,
    ]);
    assert.equal(evidence.extracted_by, null);
    // What a caller says it has been shown counts only where it is true.
    const secret = await assertFact(house, 'L', ['bullace', 'is', 'hidden'], { scope: 'l-private' });
    await house.sql(
      'C',
      "select importance.log_accesses('search', array[$1::uuid], array['developer'], array['l9'], target_type => 'fact')",
      [secret.fact_id],
    );
    await house.gateway.database.workerPool.query('select facts.roll_up_accesses()');
    assert.equal((await factNow(house, secret.fact_id))!.access_count, '0');
    // A cut-down admin changes nothing for scopes that it does not have.
    await assert.rejects(
      house.sql('L', "select public.register_predicate('is sour')", [], { 'jwt.claims.scopes': '["developer"]' }),
      { code: 'L9SCP' },
    );
    assert.equal((await house.sql('C', 'select * from public.fact_predicates', [], acme)).length, 0);
  });

  it('are seen by operators on the record', async () => {
    const operator = await addOperator(house, 'Watch');
    await assertFact(house, 'L', ['greengage', 'is', 'secret'], { scope: 'l-private' });
    assert.deepEqual(await objects(house, 'Watch', 'greengage', {}, operator), ['secret']);
    const [row] = await house.asSuperuser(
      "select count(*)::int as n from public.audit_log where table_name = 'knowledge_facts' and details ->> 'look' = 'platform'",
    );
    assert.ok(row.n > 0);
  });

  it('move where their memory moves, alone or out of a shared one', async () => {
    const [mine, other] = [await save(house, 'L', 'rosehip one'), await save(house, 'L', 'rosehip two')];
    const shared = await assertFact(house, 'L', ['rosehip', 'status', 'red'], { source_packet: mine });
    await assertFact(house, 'L', ['rosehip', 'status', 'red'], { source_packet: other });
    const alone = await assertFact(house, 'L', ['rosehip', 'grows in', 'hedges'], { source_packet: mine });
    await move('L', mine, { scope: 'l-private' });
    // C keeps what the other memory says, and nothing of what the moved one said.
    const [left] = await findFacts(house, 'C', { subject: 'rosehip' });
    assert.deepEqual(
      [left!.fact_id, left!.source_packet, left!.supporting_packet_count, left!.confidence],
      [shared.fact_id, other, 1, 0.8],
    );
    assert.deepEqual(await objects(house, 'C', 'rosehip'), ['red']);
    assert.equal((await factNow(house, alone.fact_id))!.scope, 'l-private');
    const hidden = (await findFacts(house, 'L', { subject: 'rosehip', scope: 'l-private' })).map(
      ({ predicate }) => predicate,
    );
    assert.deepEqual(hidden.sort(), ['grows in', 'status']);
    // And back: one fact again.
    await move('L', mine, { scope: 'developer' });
    const [again] = await findFacts(house, 'C', { subject: 'rosehip', predicate: 'status' });
    assert.deepEqual([again!.supporting_packet_count, again!.confidence], [2, 0.96]);
    assert.equal((await findFacts(house, 'L', { subject: 'rosehip', include_history: true })).length, 2);
  });

  it('never point from one room to another', async () => {
    const [first, second] = [await save(house, 'L', 'hazel one'), await save(house, 'L', 'hazel two')];
    const old = await assertFact(house, 'L', ['hazel', 'is led by', 'Ida'], { source_packet: first });
    const next = await assertFact(house, 'L', ['hazel', 'is led by', 'Ove'], { source_packet: second });
    assert.equal(await contradictionsOf(house, first), 1);
    await move('L', second, { scope: 'l-private' });
    const [now] = await findFacts(house, 'C', { subject: 'hazel', include_history: true });
    assert.deepEqual(
      [now!.fact_id, now!.valid_to, now!.superseded_by, now!.superseded_at, now!.contradiction_count],
      [old.fact_id, null, null, null, 0],
    );
    assert.deepEqual([await contradictionsOf(house, first), await contradictionsOf(house, second)], [0, 0]);
    // It meets its like there, and is contradicted there.
    const there = await assertFact(house, 'L', ['hazel', 'is led by', 'Una'], { scope: 'l-private' });
    assert.equal((await factNow(house, next.fact_id))!.superseded_by, there.fact_id);
    await move('L', first, { scope: 'l-private' });
    assert.deepEqual(await findFacts(house, 'C', { subject: 'hazel', include_history: true }), []);
    const chain = await house.sql(
      'L',
      "select object, superseded_by is not null as ended from public.knowledge_facts where subject = 'hazel' order by valid_from",
    );
    assert.deepEqual(chain, [
      { object: 'Ida', ended: true },
      { object: 'Ove', ended: true },
      { object: 'Una', ended: false },
    ]);
    await assert.rejects(
      house.asSuperuser(
        `update public.knowledge_facts f set superseded_by = (select fact_id from public.knowledge_facts where scope = 'developer' limit 1)
         where fact_id = '${next.fact_id}'`,
      ),
      { code: '23503' },
    );
  });

  it('are worked out again when a memory goes, and go with the last', async () => {
    const packets = [await save(house, 'C', 'alder one'), await save(house, 'L', 'alder two')];
    const say = (packet: string, valid_from: string, spelt: string, confidence: number) =>
      assertFact(house, 'L', [spelt, 'is led by', 'Per'], { source_packet: packet, valid_from, confidence });
    await say(packets[0]!, '2026-01-05T00:00:00Z', 'ALDER', 0.9);
    const before = await assertFact(house, 'L', ['alder', 'is led by', 'Siv'], { valid_from: '2026-01-01T00:00:00Z' });
    const fact = await say(packets[1]!, '2026-02-01T00:00:00Z', 'Alder', 0.5);
    assert.deepEqual([fact.confidence, fact.subject, fact.supporting_packet_count], [0.95, 'ALDER', 2]);
    await house.sql('C', 'select public.delete_memory($1)', [packets[0]]);
    const left = (await factNow(house, fact.fact_id))!;
    assert.deepEqual(
      [
        left.confidence,
        left.subject,
        left.supporting_packet_count,
        left.source_packet,
        left.valid_from.toISOString(),
        left.creator,
      ],
      [0.5, 'Alder', 1, packets[1], '2026-02-01T00:00:00.000Z', 'L-CTO'],
    );
    // What it had ended lasts as long as what is left says.
    assert.deepEqual((await factNow(house, before.fact_id))!.valid_to, left.valid_from);
    await house.sql('L', 'select public.delete_memory($1)', [packets[1]]);
    assert.equal(await factNow(house, fact.fact_id), undefined);
    const first = (await factNow(house, before.fact_id))!;
    assert.deepEqual([first.valid_to, first.superseded_by, first.contradiction_count], [null, null, 0]);
  });

  it('leave nothing of an erased memory, also where others say the same', async () => {
    const word = 'Zqalexandrine';
    const [erased, kept] = [await save(house, 'L', `about ${word}`), await save(house, 'L', 'about it')];
    const say = (source_packet: string, subject: string, object: unknown) =>
      assertFact(house, 'L', [subject, 'is led by', object], { source_packet });
    const fact = await say(erased, `the ${word.toUpperCase()}  house`, `Dr ${word}`);
    await say(kept, `the ${word.toLowerCase()} house`, `dr ${word.toLowerCase()}`);
    await say(erased, 'plain', `${word} alone`);
    await retract(house, 'L', (await say(erased, 'plain 2', `${word} alone`)).fact_id, `not ${word}`);
    await house.sql('L', "select public.erase_memory($1, 'a test')", [erased]);
    const left = (await factNow(house, fact.fact_id))!;
    assert.deepEqual(
      [left.subject, left.object, left.supporting_packet_count],
      [`the ${word.toLowerCase()} house`, `dr ${word.toLowerCase()}`, 1],
    );
    await house.sql('L', "select public.erase_memory($1, 'a test')", [kept]);
    assert.deepEqual(await asSuperuser(house, (client) => grepDatabase(client, [word])), {});
  });

  it('expire with the last memory that says so', async () => {
    const later = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
    const [short, long] = [
      await save(house, 'C', 'birch one', { ttl: later(1) }),
      await save(house, 'C', 'birch two', { ttl: later(2) }),
    ];
    const fact = await assertFact(house, 'C', ['birch', 'is led by', 'Liv'], { source_packet: short });
    const ttlOf = async (packet: string) =>
      (await house.sql('C', 'select ttl from public.packet_store where packet_id = $1', [packet]))[0].ttl;
    assert.deepEqual(fact.ttl, await ttlOf(short));
    await assertFact(house, 'C', ['birch', 'is led by', 'Liv'], { source_packet: long });
    assert.deepEqual((await factNow(house, fact.fact_id))!.ttl, await ttlOf(long));
    await move('C', short, { ttl: 'infinity' });
    assert.equal((await factNow(house, fact.fact_id))!.ttl, null);
    const pass = (packets: string[]) =>
      asSuperuser(house, async (client) => {
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
    assert.deepEqual(await objects(house, 'L', 'birch', { include_history: true }), []);
    assert.deepEqual(await house.sql('C', "select * from public.facts_as_of(subject => 'birch')"), []);
    await assert.rejects(retract(house, 'C', fact.fact_id), { code: 'L9OWN' });
    // What has expired is nothing to build on.
    const anew = await assertFact(house, 'C', ['birch', 'is led by', 'Ash']);
    assert.deepEqual([anew.contradiction_count, anew.valid_to], [0, null]);
    assert.equal(await factNow(house, fact.fact_id), undefined);
    await house.gateway.database.workerPool.query('select memories.delete_expired_batch()');
    assert.deepEqual(await objects(house, 'C', 'birch'), ['Ash']);
  });

  it('have one current value, however many assert one at once', { skip: engine === 'embedded' }, async () => {
    const packets = await Promise.all(Array.from({ length: 20 }, (_, i) => save(house, 'C', `larch ${i}`)));
    // Not by the gateway's pool, which is small: twenty sessions.
    const { default: pg } = await import('pg');
    const clients = await Promise.all(
      packets.map(async () => {
        const client = new pg.Client({ connectionString: house.home.superuserUrl! });
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
      const all: Fact[] = await house.asSuperuser(
        "select * from public.knowledge_facts where subject = 'larch' order by valid_from, recorded_at",
      );
      assert.equal(all.length, 20);
      assert.equal(all.filter(({ valid_to }) => valid_to === null).length, 1);
      for (const [i, fact] of all.entries()) assert.equal(fact.superseded_by, all[i + 1]?.fact_id ?? null);
      assert.equal(all.at(-1)!.valid_to, null);
      await assertAll(() => 'the same');
      const [same, ...more] = await house.asSuperuser(
        'select * from public.knowledge_facts where object = \'"the same"\'',
      );
      assert.deepEqual([same.supporting_packet_count, more.length], [20, 0]);
      // Deleted while others assert: nothing is left of what went, and nobody waits for ever.
      await Promise.all([
        assertAll((i) => (i % 2 ? 'odd' : 'even')).catch((error: { code: string }) =>
          assert.equal(error.code, 'L9OWN'),
        ),
        ...packets.slice(0, 5).map((packet) => house.sql('C', 'select public.delete_memory($1)', [packet])),
      ]);
      const [wrong] = await house.asSuperuser(
        `select count(*) filter (where valid_to is null)::int as current, count(*) filter (where supporting_packet_count <> (
           select sum(mentions) from public.fact_evidence e where e.fact_id = f.fact_id))::int as miscounted
         from public.knowledge_facts f where subject = 'larch'`,
      );
      assert.deepEqual(wrong, { current: 1, miscounted: 0 });
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
  });
});

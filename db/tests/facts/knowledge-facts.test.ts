import { rollUp } from '../importance/support.ts';
import { errorOf } from '../support/errors.ts';
import { saveMemory } from '../support/memories.ts';
import type { Claims } from '../support/sessions.ts';
import { addOperator, addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { assertFact, factNow, findFacts, objects, registerPredicate, retractFact } from './support.ts';

const MISSING = '01900000-0000-7000-8000-000000000000';

describe('knowledge_facts', () => {
  const db = useTestDatabase();
  let acme: Claims;
  beforeAll(async () => {
    acme = await addTenant(db, 'acme');
    await registerPredicate(db, 'status');
  });

  it('counts, supersedes and lists facts within one audience only', async () => {
    const secret = await assertFact(db, 'L', ['the merger', 'status', 'signed'], { scope: 'l-private' });
    for (let i = 0; i < 3; i++) await assertFact(db, 'L', ['the merger', 'status', 'planned'], { scope: 'l-private' });
    const theirs = await assertFact(db, 'C', ['the merger', 'status', 'planned'], {}, acme);
    const ours = await assertFact(db, 'C', ['the merger', 'status', 'planned']);
    expect([ours.supporting_packet_count, ours.contradiction_count, ours.confidence]).toStrictEqual([1, 0, 0.8]);
    expect([theirs.supporting_packet_count, theirs.contradiction_count]).toStrictEqual([1, 0]);
    expect((await factNow(db, secret.fact_id))!.superseded_by !== null).toBe(true);

    expect(await objects(db, 'C', 'the merger', { include_history: true })).toStrictEqual(['planned']);
    expect(await findFacts(db, 'L', { subject: 'the merger', include_history: true })).toHaveLength(3);
    const asOf = await db.sql('C', "select (fact).fact_id from public.facts_as_of(subject => 'the merger')");
    expect(asOf).toStrictEqual([{ fact_id: ours.fact_id }]);
    for (const [table, own] of [
      ['knowledge_facts', 1],
      ['fact_evidence', 1],
    ] as const) {
      const [row] = await db.sql('C', `select count(*)::int as n from public.${table} where subject = 'the merger'`);
      expect(row.n, table).toBe(own);
      const [hidden] = await db.sql('C', `select count(*)::int as n from public.${table} where fact_id = $1`, [
        secret.fact_id,
      ]);
      expect(hidden.n, table).toBe(0);
    }
    // The same for another org and another user.
    const org = { 'jwt.claims.org_id': '01900000-0000-7000-8000-0000000000aa' };
    const user = { 'jwt.claims.user_id': '01900000-0000-7000-8000-0000000000bb' };
    const ofOrg = await assertFact(db, 'C', ['the merger', 'status', 'called off'], {}, org);
    const ofUser = await assertFact(db, 'C', ['the merger', 'status', 'feared'], {}, user);
    expect([ofOrg.contradiction_count, ofUser.contradiction_count]).toStrictEqual([0, 0]);
    expect(await objects(db, 'C', 'the merger')).toStrictEqual(['planned']);
    expect((await objects(db, 'C', 'the merger', {}, org)).sort()).toStrictEqual(['called off', 'planned']);
  });

  it('refuses what is hidden exactly like what does not exist', async () => {
    const secret = await saveMemory(db, 'L', { content: 'an elderberry in l-private', scope: 'l-private' });
    const fact = await assertFact(db, 'L', ['elderberry', 'is', 'ripe'], { source_packet: secret });
    const refusal = async (work: Promise<unknown>) => {
      const error = await errorOf(work);
      return [error.code, error.message.replaceAll(/[0-9a-f-]{36}/g, 'ID')];
    };
    const from = (packet: string) =>
      refusal(db.sql('C', "select facts.assert_fact_from($1, 'elderberry', 'is', '1')", [packet]));
    expect(await from(secret)).toStrictEqual(await from(MISSING));
    expect((await from(secret))[0]).toBe('L9OWN');
    expect(await refusal(assertFact(db, 'C', ['elderberry', 'is', 'ripe'], { source_packet: secret }))).toStrictEqual(
      await refusal(assertFact(db, 'C', ['elderberry', 'is', 'ripe'], { source_packet: MISSING })),
    );
    expect(await refusal(retractFact(db, 'C', fact.fact_id))).toStrictEqual(
      await refusal(retractFact(db, 'C', MISSING)),
    );
    const ofL = await assertFact(db, 'L', ['damson', 'is', 'blue']);
    expect(await refusal(retractFact(db, 'C', ofL.fact_id))).toStrictEqual(
      await refusal(retractFact(db, 'C', MISSING)),
    );
    expect((await refusal(assertFact(db, 'C', ['a', 'b', 'c'], { scope: 'l-private' })))[0]).toBe('L9SCP');
    // An agent cannot retract a fact that somebody else asserted too.
    const shared = await assertFact(db, 'C', ['quince', 'is', 'yellow']);
    await assertFact(db, 'L', ['quince', 'is', 'yellow']);
    expect((await refusal(retractFact(db, 'C', shared.fact_id)))[0]).toBe('L9OWN');
    const own = await assertFact(db, 'C', ['medlar', 'is', 'green']);
    expect((await retractFact(db, 'C', own.fact_id)).retracted_at).toBeTruthy();
  });

  it('lets only its functions write, and these grant no caller more than it has', async () => {
    const fact = await assertFact(db, 'C', ['sloe', 'is', 'sour']);
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
        `select facts.recount_voices('{}')`,
        `update public.memory_signals set contradiction_count = 9`,
      ]) {
        await expect(db.sql(caller, statement), statement).rejects.toMatchObject({ code: '42501' });
      }
    }
    // Only a job may name a model.
    await db.sql('C', "select facts.assert_fact_from($1, 'sloe', 'is', '\"sour\"', extracted_by => 'forged')", [
      fact.source_packet,
    ]);
    const [evidence] = await db.sql('C', 'select extracted_by from public.fact_evidence where fact_id = $1', [
      fact.fact_id,
    ]);
    expect(evidence.extracted_by).toBeNull();
    // An access that a caller reports counts only if it could read the fact.
    const secret = await assertFact(db, 'L', ['bullace', 'is', 'hidden'], { scope: 'l-private' });
    await db.sql(
      'C',
      "select importance.log_accesses('search', array[$1::uuid], array['developer'], array['l9'], target_type => 'fact')",
      [secret.fact_id],
    );
    await rollUp(db);
    expect((await factNow(db, secret.fact_id))!.access_count).toBe('0');
    // An admin with limited scopes changes nothing in other scopes.
    await expect(
      db.sql('L', "select public.register_predicate('is sour')", [], { 'jwt.claims.scopes': '["developer"]' }),
    ).rejects.toMatchObject({ code: 'L9SCP' });
    expect(await db.sql('C', 'select * from public.fact_predicates', [], acme)).toHaveLength(0);
  });

  it('audits what operators read', async () => {
    const operator = await addOperator(db, 'Watch');
    await assertFact(db, 'L', ['greengage', 'is', 'secret'], { scope: 'l-private' });
    expect(await objects(db, 'Watch', 'greengage', {}, operator)).toStrictEqual(['secret']);
    const [row] = await db.asSuperuser(
      "select count(*)::int as n from public.audit_log where table_name = 'knowledge_facts' and details ->> 'reader' = 'operator'",
    );
    expect(row.n).toBeGreaterThan(0);
  });
});

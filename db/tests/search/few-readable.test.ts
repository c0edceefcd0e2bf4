// Before a search ranks anything, it counts what the caller may read: by ranges of an index, each with a statement of its own.
import type { Claims } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';

const USER = '11111111-1111-4111-8111-111111111111';
const ORG = '33333333-3333-4333-8333-333333333333';
const user: Claims = { 'jwt.claims.user_id': USER };
const org: Claims = { 'jwt.claims.org_id': ORG };

const readers: [string, string, Claims][] = [
  ['an agent', 'C', {}],
  ['an agent of a user', 'C', user],
  ['an agent of an org', 'C', org],
  ['an agent of a user in an org', 'C', { ...user, ...org }],
  ['an agent of one project', 'C', { 'jwt.claims.projects': '["p1"]' }],
  ['an agent of one project, for a user', 'C', { 'jwt.claims.projects': '["p1"]', ...user, ...org }],
  ['an agent without projects', 'C', { 'jwt.claims.projects': '[]' }],
  ['an agent of one scope', 'C', { 'jwt.claims.scopes': '["global"]' }],
  ['an admin', 'L', {}],
  ['an admin of one project', 'L', { 'jwt.claims.projects': '["p2"]' }],
];

const places: [string | null, string | null][] = [
  [null, null],
  ['p1', null],
  ['p1', 'main'],
  ['p2', null],
  [null, 'main'],
];

describe('search.few_readable', () => {
  const db = useTestDatabase({ rollsBack: true });

  beforeAll(async () => {
    for (const [owner, claims] of [
      ['nobody', {}],
      ['a user', user],
      ['an org', org],
      ['both', { ...user, ...org }],
    ] as const)
      for (const caller of ['C', 'L'])
        await db.sql(
          caller,
          `insert into public.packet_store (packet_type, envelope, scope, project_id, branch)
           select case when n = 2 then 'reasoning_trace' else 'note' end,
             jsonb_build_object('content', concat_ws(' ', $1::text, s.scope, s.project_id, s.branch, n), 'steps', '["a step"]'::jsonb), s.scope, s.project_id, s.branch
           from unnest($2::text[], '{p1,p1,p2,null}'::text[], '{null,main,main,null}'::text[]) as s (scope, project_id, branch)
           cross join generate_series(1, 2) as n`,
          [owner + caller, [...Array(3).fill(caller === 'L' ? 'l-private' : 'developer'), 'global']],
          claims,
        );
    await db.asSuperuser(
      `update public.packet_store set archived_at = now() - interval '1 hour' where envelope ->> 'content' like '%main 1'`,
    );
    await db.asSuperuser(
      `insert into public.memory_contexts (packet_id, predecessor_id, context, tenant_id, org_id, user_id, project_id, branch, scope)
       select p.packet_id, o.packet_id, 'a context', p.tenant_id, p.org_id, p.user_id, p.project_id, p.branch, p.scope
       from public.packet_store p
       join public.packet_store o on o.packet_id < p.packet_id and (o.tenant_id, o.scope) = (p.tenant_id, p.scope)
         and (o.org_id, o.user_id, o.project_id, o.branch) is not distinct from (p.org_id, p.user_id, p.project_id, p.branch)
       on conflict do nothing`,
    );
  });

  const few = (
    caller: string,
    claims: Claims,
    table: string,
    [project, branch]: (typeof places)[number],
    hidesArchived = false,
    atMost = 2_000,
  ) =>
    db.sql(
      caller,
      `select array(select f.id from unnest(r.ids) as f (id) order by f.id) as ids, r.ids is null as is_many
       from identity.require_identity() me
       cross join search.few_readable($1, me, me.readable_scopes, $2, $3, $4, $5, $5) as r (ids)`,
      [table, project, branch, hidesArchived, atMost],
      claims,
    );

  it.each(readers)('counts for %s exactly what row-level security shows', async (_, caller, claims) => {
    const counts = new Set<number>();
    for (const table of ['packet_store', 'memory_contexts', 'reasoning_traces'])
      for (const [project, branch] of places) {
        if (table === 'reasoning_traces' && branch) continue;
        for (const hidesArchived of [false, true]) {
          const [visible] = await db.sql(
            caller,
            `select array(
               select p.packet_id from public.${table} p
               where ($1::text is null or p.project_id = $1 or p.project_id is null)
                 ${table === 'reasoning_traces' ? 'and $2::text is null' : 'and ($2::text is null or p.branch = $2 or p.branch is null)'}
                 ${table === 'packet_store' ? 'and (not $3::boolean or p.archived_at is null or p.archived_at > now())' : 'and $3::boolean is not null'}
               order by p.packet_id) as ids`,
            [project, branch, hidesArchived],
            claims,
          );
          const [found] = await few(caller, claims, table, [project, branch], hidesArchived);
          expect(found.ids).toStrictEqual(visible.ids);
          counts.add(visible.ids.length);
        }
      }
    expect(Math.max(...counts)).toBeGreaterThan(0);
    expect(counts.size).toBeGreaterThan(2);
  });

  it('answers null if more rows are readable than it may look at', async () => {
    const claims = { ...user, ...org };
    const [all] = await few('C', claims, 'packet_store', [null, null]);
    expect(all.is_many).toBe(false);
    const [exactly] = await few('C', claims, 'packet_store', [null, null], false, all.ids.length);
    expect(exactly.ids).toStrictEqual(all.ids);
    const [more] = await few('C', claims, 'packet_store', [null, null], false, all.ids.length - 1);
    expect(more.is_many).toBe(true);
  });
});

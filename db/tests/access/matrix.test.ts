// access_matrix lists what callers can do, so each cell is compared with what happens when the caller tries.
import { useTestDatabase } from '../support/test-database.ts';

interface Cell {
  caller: string;
  role: string;
  scope: string;
  is_project_scoped: boolean;
  may_read: boolean;
  may_write: boolean;
  may_change: string;
  may_clean_up: boolean;
}

describe('access_matrix', () => {
  const db = useTestDatabase();
  let cells: Cell[];
  const operator = { role: 'l9_platform_admin' };
  beforeAll(async () => {
    await db.asOwner("select register_actor('ops', role => 'l9_platform_admin', readable_scopes => '{*}')");
    for (const query of [
      "register_scope('design', false)",
      "register_scope('retired')",
      "register_actor('Reader', readable_scopes => '{developer,design}', writable_scopes => '{}')",
      "register_actor('Designer', readable_scopes => '{design,global}', writable_scopes => '{design}', can_clean_up => true)",
      "register_actor('Deputy', role => 'l9_admin', readable_scopes => '{developer,design}', writable_scopes => '{developer}')",
      "register_actor('Gone')",
      // As `l9-memory install` registers an editor.
      "register_actor('claude-code', creator => 'Claude-Code', source => 'claude-code', agent => 'claude')",
      'set_register_unknown_clients(true)',
    ])
      await db.sql('L', `select public.${query}`);
    // This actor saves the memories of others that each actor then tries to change, in every scope.
    await db.sql('L', "select register_actor('All', readable_scopes => '{*}', writable_scopes => '{*}')");
    await db.sql('L', "select deactivate_actor('Gone')");
    await db.sql('C', "select administration.register_client('zed')");
    cells = (await db.sql('L', 'select * from access_matrix order by caller, scope')) as Cell[];
  });

  const rolesOf = ({ caller, role }: Cell) => ({ role, ...(caller === 'zed' && { 'jwt.claims.via': 'C' }) });
  const project = (cell: Cell) => (cell.is_project_scoped ? 'l9' : null);
  const succeeds = (asked: Promise<unknown[]>) =>
    asked.then(
      (rows) => rows.length > 0,
      (error: { code: string }) => {
        expect(error.code).toMatch(/^(L9SCP|L9OWN|L9AUT|42501)$/);
        return false;
      },
    );
  let count = 0;

  it('lists every actor of the tenant in every scope', () => {
    expect(cells).toHaveLength(11 * 5);
    expect(
      cells
        .filter(({ caller }) => caller === 'C')
        .map(({ scope, may_read, may_write, may_change, may_clean_up }) => [
          scope,
          may_read,
          may_write,
          may_change,
          may_clean_up,
        ]),
    ).toStrictEqual([
      ['design', false, false, 'none', false],
      ['developer', true, true, 'own', false],
      ['global', true, true, 'own', false],
      ['l-private', false, false, 'none', false],
      ['retired', false, false, 'none', false],
    ]);
    const ofC = cells.filter(({ caller }) => caller === 'C');
    for (const agent of ['claude-code', 'zed'])
      expect(
        cells.filter(({ caller }) => caller === agent),
        `${agent} has the rights of C`,
      ).toStrictEqual(ofC.map((cell) => ({ ...cell, caller: agent })));
    const ofL = cells.filter(({ caller }) => caller === 'L');
    expect(
      cells.filter(({ caller }) => caller === 'me'),
      'the person at this machine has the rights of L',
    ).toStrictEqual(ofL.map((cell) => ({ ...cell, caller: 'me' })));
    const privateOfL = cells.find(({ caller, scope }) => caller === 'L' && scope === 'l-private');
    expect([privateOfL?.may_change, privateOfL?.may_clean_up]).toStrictEqual(['any', true]);
    expect(
      cells
        .filter(({ caller }) => caller === 'Gone')
        .every((cell) => !cell.may_read && !cell.may_write && cell.may_change === 'none'),
    ).toBe(true);
  });

  it('says in each cell what happens when the actor tries', async () => {
    for (const cell of cells) {
      const name = `${cell.caller} in ${cell.scope}`;
      const sql = (query: string, values: unknown[]) => db.sql(cell.caller, query, values, rolesOf(cell));
      const write = (caller: string, claims = {}) =>
        db.sql(
          caller,
          'select (memory).packet_id from public.save_memory($1, scope => $2, project_id => $3)',
          [`matrix ${count++}`, cell.scope, project(cell)],
          claims,
        );
      const change = async (id: string) =>
        (await succeeds(sql('select public.update_memory($1, tags => $2)', [id, ['changed']]))) &&
        (await succeeds(sql('select public.delete_memory($1)', [id])));

      const [theirs] = await write('All');
      expect(
        await succeeds(sql('select 1 from public.packet_store where packet_id = $1', [theirs.packet_id])),
        `${name} reads`,
      ).toBe(cell.may_read);
      let own: { packet_id: string }[] = [];
      const wrote = await succeeds(write(cell.caller, rolesOf(cell)).then((rows) => (own = rows)));
      expect(wrote, `${name} writes`).toBe(cell.may_write);
      const changesTheirs = await change(theirs.packet_id);
      const changesOwn = wrote ? await change(own[0]!.packet_id) : false;
      const isAll = cell.caller === 'All';
      expect(changesTheirs && !isAll ? 'any' : changesOwn ? 'own' : 'none', `${name} changes`).toBe(cell.may_change);

      const [expired] = await db.sql(
        'All',
        "select (memory).packet_id from public.save_memory($1, scope => $2, project_id => $3, ttl => clock_timestamp() + interval '1 millisecond')",
        [`matrix ${count++}`, cell.scope, project(cell)],
      );
      await new Promise((resolve) => setTimeout(resolve, 5));
      await succeeds(sql('select public.delete_expired_memories()', []));
      const left = await db.asSuperuser('select 1 from packet_store where packet_id = $1', [expired.packet_id]);
      expect(left.length === 0, `${name} cleans up`).toBe(cell.may_clean_up);
      await db.sql('L', 'select public.delete_expired_memories()');
    }
  });

  it('changes with the policies and grants', async () => {
    const cell = async () =>
      (await db.sql('L', "select * from access_matrix where caller = 'C' and scope = 'developer'"))[0];
    expect([(await cell()).may_change, (await cell()).may_write]).toStrictEqual(['own', true]);
    await db.asSuperuser('revoke delete on packet_store from l9_agent');
    expect((await cell()).may_change).toBe('none');
    await db.asSuperuser('grant delete on packet_store to l9_agent');
    const [{ using }] = await db.asSuperuser(
      "select polname, pg_get_expr(polqual, polrelid) as using from pg_policy where polname = 'creator_updates'",
    );
    await db.asSuperuser("alter policy creator_updates on packet_store using (scope <> '')");
    await db.asSuperuser("alter policy creator_deletes on packet_store using (scope <> '')");
    try {
      expect((await cell()).may_change).toBe('any');
    } finally {
      await db.asSuperuser(`alter policy creator_updates on packet_store using (${using})`);
      await db.asSuperuser(`alter policy creator_deletes on packet_store using (${using})`);
    }
    expect((await cell()).may_change).toBe('own');
  });

  it('shows an agent its own rows, an admin its tenant and scopes, an operator every row', async () => {
    expect(await db.sql('C', 'select distinct caller, scope from access_matrix order by scope')).toStrictEqual([
      { caller: 'C', scope: 'developer' },
      { caller: 'C', scope: 'global' },
    ]);
    const [{ tenant_id }] = await db.sql('ops', "select tenant_id from create_tenant('acme')", [], operator);
    const tenants = (caller: string, claims = {}) =>
      db.sql(caller, 'select distinct tenant_id from access_matrix', [], claims);
    expect(await tenants('L')).toHaveLength(1);
    expect(await tenants('ops', operator)).toHaveLength(2);
    expect(await tenants('L', { 'jwt.claims.tenant_id': tenant_id })).toStrictEqual([{ tenant_id }]);
    const scopes = await db.sql('L', 'select distinct scope from access_matrix', [], {
      'jwt.claims.scopes': 'developer',
    });
    expect(scopes).toStrictEqual([{ scope: 'developer' }]);
    expect(await db.sql('Nobody', 'select * from access_matrix')).toStrictEqual([]);
  });
});

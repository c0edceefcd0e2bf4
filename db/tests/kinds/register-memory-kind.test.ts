// Kinds that a tenant registers: who may, what is audited, who sees them, and that they rule raw SQL too.
import { addOperator, addTenant } from '../support/tenants.ts';
import { useTestDatabase } from '../support/test-database.ts';

const fields = [
  { field: 'name', is_required: true, max_length: 50, meaning: 'Who they are.' },
  { field: 'tier', choices: ['free', 'paid'], meaning: 'What they pay for.' },
  { field: 'signed_at', type: 'timestamp' },
  { field: 'left_at', type: 'date' },
];
const rules = {
  purpose: 'A customer and what we agreed.',
  fields: JSON.stringify(fields),
  title_field: 'name',
  text_fields: ['name', 'tier'],
  identity_fields: ['name'],
  locked_when: { signed_at: true },
  locked_fields: ['tier'],
  when_locked: 'store a contract',
  archived_from: 'left_at',
  archived_after: '1 day',
};

const isPart = { fields: JSON.stringify([...fields, { field: 'of', type: 'uuid' }]), part_of_field: 'of' };
const noRules = {
  title_field: null,
  text_fields: [],
  identity_fields: [],
  locked_when: null,
  locked_fields: null,
  archived_from: null,
  archived_after: null,
};

describe('register_memory_kind', () => {
  const db = useTestDatabase({ rollsBack: true });

  const register = (caller = 'L', change: object = {}, claims = {}) => {
    const given = Object.entries({ kind: 'customer', ...rules, ...change });
    return db.sql(
      caller,
      `select * from public.register_memory_kind(${given.map(([name], i) => `${name} => $${i + 1}`).join(', ')})`,
      given.map(([, value]) => value),
      claims,
    );
  };
  const insert = (envelope: object, claims = {}) =>
    db.sql(
      'C',
      `insert into public.packet_store (packet_type, envelope, project_id) values ('customer', $1, 'l9')
       returning packet_id, title, content, archived_at`,
      [envelope],
      claims,
    );

  it('gives raw SQL of an agent the rules of the kind', async () => {
    await register();
    const [saved] = await insert({ name: 'Ann', tier: 'paid', left_at: '2026-01-01' });
    expect(saved).toMatchObject({
      title: 'Ann',
      content: 'Ann\n\npaid',
      archived_at: new Date('2026-01-02T00:00:00Z'),
    });
    for (const [code, column, envelope] of [
      ['L9VAL', 'name', { tier: 'paid' }],
      ['L9VAL', 'tier', { name: 'Bob', tier: 'gold' }],
      ['L9LIM', 'name', { name: 'x'.repeat(51) }],
      ['L9VAL', 'colour', { name: 'Bob', colour: 'red' }],
      ['23505', undefined, { name: '  ANN ' }],
    ] as const)
      await expect(insert(envelope), column).rejects.toMatchObject({ code, ...(column && { column }) });
    const change = (envelope: object) =>
      db.sql('C', 'update public.packet_store set envelope = envelope || $2 where packet_id = $1', [
        saved.packet_id,
        envelope,
      ]);
    await change({ tier: 'free' });
    await change({ signed_at: '2026-11-20T10:00:00Z' });
    await expect(change({ tier: 'paid' })).rejects.toMatchObject({
      code: 'L9IMM',
      column: 'tier',
      message: 'tier: is locked in this customer; store a contract',
    });
  });

  it('checks the parts of an object, and writes them in their order', async () => {
    const parts = [
      { field: 'street', is_required: true },
      { field: 'number', type: 'number' },
      { field: 'since', type: 'date' },
    ];
    const address = { field: 'address', type: 'object', parts };
    await register('L', { fields: JSON.stringify([...fields, address]), text_fields: ['address'] });
    for (const [column, given] of [
      ['address.street', { number: 5 }],
      ['address.number', { street: 'Quay', number: '5' }],
      ['address.since', { street: 'Quay', since: 'May' }],
      ['address.city', { street: 'Quay', city: 'Oslo' }],
    ] as const)
      await expect(insert({ name: 'Ann', address: given }), column).rejects.toMatchObject({ code: 'L9VAL', column });
    const [saved] = await insert({ name: 'Ann', address: { since: '2026-01-01', number: 5, street: 'Quay' } });
    expect(saved.content).toBe('street: Quay\nnumber: 5\nsince: 2026-01-01');
  });

  it('makes memories of a kind parts of those of another one', async () => {
    await register('L', { ...noRules, locked_when: { signed_at: true }, locked_fields: ['tier'] });
    const order = {
      kind: 'order',
      ...noRules,
      fields: JSON.stringify([
        { field: 'item', is_required: true },
        { field: 'of', type: 'uuid' },
      ]),
      text_fields: ['item'],
      part_of_kind: 'customer',
      part_of_field: 'of',
    };
    await register('L', order);
    const customer = (await insert({ name: 'Ann', content: 'Ann' }))[0].packet_id;
    const store = (item: string, of: string | null) =>
      db.sql(
        'C',
        "insert into public.packet_store (packet_type, envelope, project_id) values ('order', $1, 'l9') returning packet_id",
        [{ item, of }],
      );
    const [{ packet_id }] = await store('tea', customer);
    const rowOf = async () =>
      (
        await db.sql('L', 'select scope, project_id, ttl, part_of from public.packet_store where packet_id = $1', [
          packet_id,
        ])
      )[0];
    await expect(store('milk', packet_id)).rejects.toMatchObject({ code: 'L9VAL', column: 'of' });
    const change = (assignments: string) =>
      db.sql('C', `update public.packet_store set ${assignments} where packet_id = $1`, [customer]);
    await change("scope = 'global', project_id = null, ttl = '2100-01-01'");
    expect(await rowOf()).toMatchObject({
      scope: 'global',
      project_id: null,
      ttl: new Date('2100-01-01'),
      part_of: customer,
    });
    await change(`envelope = envelope || '{"signed_at": "2026-11-20T10:00:00Z"}'`);
    for (const statement of [
      `select public.update_memory($1, envelope => '{"item": "coffee"}')`,
      'select public.delete_memory($1)',
    ])
      await expect(db.sql('C', statement, [packet_id]), statement).rejects.toMatchObject({ code: 'L9IMM' });
    // What has parts is no part itself, so that a lock and a move are always found in one memory.
    await expect(register('L', { ...noRules, ...isPart, part_of_kind: 'document' })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'part_of_kind',
    });
    // A kind that has no parts any more releases them when they are next changed.
    await register('L', { ...order, part_of_kind: null, part_of_field: null });
    await db.sql('C', "select public.update_memory($1, ttl => '2099-01-01')", [packet_id]);
    expect(await rowOf()).toMatchObject({ part_of: null, ttl: new Date('2099-01-01') });
  });

  it('does not take the kind of another tenant for the whole', async () => {
    const theirs = await addTenant(db, 'acme');
    await register('L', noRules, theirs);
    await expect(
      register('L', { ...noRules, ...isPart, kind: 'order', part_of_kind: 'customer' }),
    ).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'part_of_kind',
    });
  });

  it('changes a kind, and leaves memories as they are until they are next changed', async () => {
    await register();
    const [{ packet_id }] = await insert({ name: 'Ann' });
    const [kind] = await register('L', { fields: JSON.stringify([...fields, { field: 'city', is_required: true }]) });
    expect(kind.rules.order).toStrictEqual(['name', 'tier', 'signed_at', 'left_at', 'city']);
    const envelope = `select envelope - 'content' as fields from public.packet_store where packet_id = $1`;
    expect(await db.sql('C', envelope, [packet_id])).toStrictEqual([{ fields: { name: 'Ann' } }]);
    await expect(insert({ name: 'Bob' })).rejects.toMatchObject({ code: 'L9VAL', column: 'city' });
  });

  it('is for admins with a whole token, and writes an audit row with the rules', async () => {
    await expect(register('C')).rejects.toMatchObject({ code: '42501' });
    for (const claims of [{ 'jwt.claims.scopes': '["developer"]' }, { 'jwt.claims.projects': '["l9"]' }])
      await expect(register('L', {}, claims), JSON.stringify(claims)).rejects.toMatchObject({ code: 'L9SCP' });
    for (const statement of [
      `insert into public.memory_kinds (kind, purpose) values ('x', 'x')`,
      `update public.memory_kinds set purpose = 'x'`,
      'delete from public.memory_kinds',
      'delete from public.memory_kind_fields',
    ])
      for (const caller of ['C', 'L'])
        await expect(db.sql(caller, statement), statement).rejects.toMatchObject({ code: '42501' });
    const [{ kind_id }] = await register();
    const rows = await db.sql(
      'L',
      `select operation, caller, details from public.audit_log where table_name = 'memory_kinds' and row_id = $1`,
      [kind_id],
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(rows[0].caller).toBe('L');
    expect(JSON.stringify(rows)).toMatch(/"identity": ?\["name"\]/);
  });

  it('shows another tenant neither the kind nor its rules, nor an error that tells of them', async () => {
    const theirs = await addTenant(db, 'acme');
    const before = await insert({ city: 'Rome', content: 'x' }, theirs);
    expect(before).toHaveLength(1);
    await register();
    const after = await insert({ city: 'Oslo', content: 'y' }, theirs);
    expect(after, 'there the kind is still free').toMatchObject([{ title: null, content: 'y', archived_at: null }]);
    for (const table of ['memory_kinds', 'memory_kind_fields'])
      expect(
        await db.sql('L', `select from public.${table} where tenant_id is not null`, [], theirs),
        table,
      ).toStrictEqual([]);
    // Their own kind of this name is another row.
    const [own] = await register('L', { fields: JSON.stringify([{ field: 'city' }]), ...noRules }, theirs);
    expect(own.rules.order).toStrictEqual(['city']);
    const [mine] = await db.sql('C', `select rules from public.memory_kinds where kind = 'customer'`);
    expect(mine.rules.order).toStrictEqual(['name', 'tier', 'signed_at', 'left_at']);
    await expect(
      register(
        'L',
        { tenant_id: (await db.sql('L', 'select tenant_id from public.tenants limit 1'))[0].tenant_id },
        theirs,
      ),
    ).rejects.toMatchObject({ code: expect.stringMatching(/^L9/) });
  });

  it('lets an operator register a kind for a tenant', async () => {
    const theirs = await addTenant(db, 'acme');
    await register('ops', { tenant_id: theirs['jwt.claims.tenant_id'] }, await addOperator(db, 'ops'));
    expect(await db.sql('C', `select kind from public.memory_kinds where kind = 'customer'`, [], theirs)).toHaveLength(
      1,
    );
    expect(await db.sql('C', `select kind from public.memory_kinds where kind = 'customer'`)).toHaveLength(0);
  });

  it.each([
    ['kind', { kind: 'decision' }],
    ['kind', { kind: 'note' }],
    ['kind', { kind: 'Customer' }],
    ['purpose', { purpose: '' }],
    ['fields', { fields: '[]' }],
    ['fields', { fields: '[{"field": "a", "type": "money"}]' }],
    ['fields', { fields: '[{"field": "a"}, {"field": "a"}]' }],
    ['fields', { fields: '[{"field": "content"}]' }],
    ['fields', { fields: '[{"field": "a", "colour": "red"}]' }],
    ['title_field', { title_field: 'nobody' }],
    ['identity_fields', { identity_fields: ['name|nobody'] }],
    ['locked_when', { locked_when: { nobody: true } }],
    ['locked_when', { locked_when: { tier: 'paid' } }],
    ['archived_from', { archived_from: 'name' }],
    ['archived_after', { archived_after: null }],
    ['expires_after', { expires_after: '1 day' }],
    ['fields', { fields: '[{"field": "a", "parts": [{"field": "b"}]}]' }],
    ['fields', { fields: '[{"field": "a", "type": "object", "parts": []}]' }],
    ['fields', { fields: '[{"field": "a", "type": "object", "parts": [{"field": "b", "type": "object"}]}]' }],
    ['fields', { fields: '[{"field": "a", "type": "object", "parts": [{"field": "b"}, {"field": "b"}]}]' }],
    ['fields', { fields: '[{"field": "a", "type": "object", "parts": [{"field": "b", "colour": "red"}]}]' }],
    ['part_of_field', { part_of_kind: 'document' }],
    ['part_of_field', { part_of_kind: 'document', part_of_field: 'name' }],
    ['part_of_kind', { ...isPart, part_of_kind: 'nothing' }],
    ['part_of_kind', { ...isPart, part_of_kind: 'section' }],
    ['part_of_kind', { ...isPart, part_of_kind: 'customer' }],
  ])('refuses a wrong %s and names it: %j', async (field, change) => {
    await expect(register('L', change)).rejects.toMatchObject({
      code: 'L9VAL',
      column: field,
      message: expect.stringMatching(`^${field}: `),
    });
  });
});

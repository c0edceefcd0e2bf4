// Gateways of one process may share the GraphQL schema, which is of a catalogue and holds nothing of a gateway.
import type { GraphQLSchema } from 'postgraphile/graphql';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { readCatalogue } from '../../src/graphql/introspection.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { sharedSchema } from '../support/shared-schema.ts';
import { standIn } from '../support/stand-in.ts';

// Roles are in the catalogue, too, and other tests on a server make some meanwhile.
describeOnEmbedded('gateways that share the GraphQL schema', () => {
  const schemas = new Map<TestGateway, GraphQLSchema>();
  const start = async (slowQueryMs: number) => {
    const gateway = await startTestGateway({
      embedder: standIn,
      env: { SLOW_QUERY_MS: String(slowQueryMs) },
      async buildSchema(catalogue) {
        const schema = await sharedSchema(catalogue);
        schemas.set(gateway, schema);
        return schema;
      },
    });
    return gateway;
  };
  let one: TestGateway;
  let other: TestGateway;
  beforeAll(async () => {
    one = await start(1_000);
    other = await start(2_000);
  });
  afterAll(() => other.close());

  const save = 'mutation ($content: String!) { saveMemory(input: { content: $content, projectId: "l9" }) { status } }';
  const read = 'query Read { memories { nodes { content } } admin { health { gateway { slowQueryMs } } } }';
  const rowsRead = async (gateway: TestGateway) => {
    const rows = await gateway.asSuperuser("select details from public.audit_log where operation = 'READ'");
    return rows.map(({ details }) => [details.operation_name, details.tables]);
  };

  it('answers with the rows and the health of each gateway, and audits in its database', async () => {
    await one.query('C', save, { content: 'of one' });
    await other.query('C', save, { content: 'of the other' });
    await other.query('C', save, { content: 'of the other, too' });
    // A matcher would print two schemas.
    expect(schemas.get(other) === schemas.get(one), 'one schema').toBe(true);

    const [first, second] = await Promise.all([one.query('L', read), other.query('L', read)]);
    expect(first).toStrictEqual({
      memories: { nodes: [{ content: 'of one' }] },
      admin: { health: { gateway: { slowQueryMs: 1_000 } } },
    });
    expect(second.admin.health.gateway.slowQueryMs).toBe(2_000);
    expect(second.memories.nodes.map(({ content }: { content: string }) => content).sort()).toStrictEqual([
      'of the other',
      'of the other, too',
    ]);
    expect(await rowsRead(one)).toStrictEqual([['Read', { health: 1, packet_store: 1 }]]);
    expect(await rowsRead(other)).toStrictEqual([['Read', { health: 1, packet_store: 2 }]]);
  });

  it('answers after another gateway is closed', async () => {
    await one.close();
    expect((await other.query('L', read)).memories.nodes).toHaveLength(2);
    await other.query('C', save, { content: 'afterwards' });
  });

  it('does not share the schema of another catalogue', async () => {
    const changed = await start(0);
    try {
      await changed.asOwner("comment on table public.packet_store is 'What this database says of it.'");
      await changed.query('C', save, { content: 'of a changed database' });
      expect(schemas.get(changed)!.getType('Memory')!.description).toContain('What this database says of it.');
      expect(schemas.get(other)!.getType('Memory')!.description).not.toContain('What this database says of it.');
    } finally {
      await changed.close();
    }
  });

  it('reads of the catalogue no schema and no policies that GraphQL does not show', async () => {
    const { namespaces, procs, policies, database } = JSON.parse(await readCatalogue(other.instance.database));
    expect(namespaces.map(({ nspname }: { nspname: string }) => nspname)).toStrictEqual([
      'extensions',
      'pg_catalog',
      'public',
    ]);
    expect(procs.length).toBeGreaterThan(0);
    expect(policies).toStrictEqual([]);
    expect(Object.keys(database)).toStrictEqual(['datdba', 'datacl']);
  });
});

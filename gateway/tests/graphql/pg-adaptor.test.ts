import type { WithPgClient } from 'postgraphile/@dataplan/pg';
import { claimsOf } from '../../../db/tests/support/sessions.ts';
import { createWithPgClient, IS_MUTATION } from '../../src/graphql/pg-adaptor.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('the PostGraphile adaptor of the pool', () => {
  let gateway: TestGateway;
  let withPgClient: WithPgClient;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    withPgClient = createWithPgClient(gateway.instance.database, async () => {});
  });
  afterAll(() => gateway.close());

  const statements = () =>
    gateway.instance.database.pool
      // Those of the job queue are in the same session, on the embedded engine.
      .query("select count(*)::integer as n from pg_prepared_statements where name like 'statement %'")
      .then(({ rows }) => rows[0].n as number);

  it('prepares named statements, and evicts only ones that are not in use', async () => {
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < 250; n++) {
        const { rows } = await withPgClient(claimsOf('C'), (client) =>
          client.query<[number]>({ text: `select ${n}::integer`, name: `statement ${n}`, values: [], arrayMode: true }),
        );
        expect(rows[0]?.[0]).toBe(n);
      }
    }
    expect(await statements()).toBeLessThanOrEqual(100);
  });

  it('deallocates a statement in an aborted transaction, and prepares it again', async () => {
    for (let n = 0; n < 300; n++) {
      const asked = withPgClient(claimsOf('C'), (client) =>
        client.query({ text: `select 1 / ${n % 2}, ${n % 150}`, name: `divides ${n % 150}`, values: [] }),
      );
      if (n % 2 === 0) await expect(asked).rejects.toMatchObject({ code: '22012' });
      else expect((await asked).rows).toHaveLength(1);
    }
  });

  it('rejects a mutation with its own failure, and not with that of the aborted transaction', async () => {
    for (let n = 0; n < 50; n++) {
      const asked = withPgClient({ ...claimsOf('C'), [IS_MUTATION]: 'true' }, (client) =>
        client.query({ text: 'select 1 / 0', name: 'always fails', values: [] }),
      );
      await expect(asked).rejects.toMatchObject({ code: '22012' });
    }
  });

  it('rolls back a nested transaction, and continues the outer one', async () => {
    const rows = await withPgClient({ ...claimsOf('C'), 'l9.tool_name': 'outer' }, (client) =>
      client.withTransaction(async (transaction) => {
        const nested = transaction.withTransaction(async (inner) => {
          await inner.query({ text: "select set_config('l9.tool_name', 'inner', true)" });
          await inner.query({ text: 'select 1/0' });
        });
        await expect(nested).rejects.toMatchObject({ code: '22012' });
        return (await transaction.query<{ tool: string }>({ text: "select current_setting('l9.tool_name') as tool" }))
          .rows;
      }),
    );
    expect(rows).toStrictEqual([{ tool: 'outer' }]);
  });
});

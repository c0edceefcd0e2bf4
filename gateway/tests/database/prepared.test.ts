import { claimsOf } from '../../../db/tests/support/sessions.ts';
import { inTransaction } from '../../src/database/index.ts';
import { call } from '../../src/operations/operation.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('the call of an operation', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  it('is parsed once for a connection, and answers with its own arguments', async () => {
    const kept = await inTransaction(gateway.instance.database.pool, claimsOf('C'), async (client) => {
      for (const content of ['The first of two notes.', 'The second of two notes.']) {
        const saved = await call<{ content: string }>(
          client,
          "(r.memory).envelope ->> 'content' as content",
          'save_memory',
          {
            content,
            project_id: 'prepared',
          },
        );
        expect(saved.content).toBe(content);
      }
      const { rows } = await client.query(
        `select (generic_plans + custom_plans)::integer as runs from pg_prepared_statements
         where statement like '%as content from public.save_memory(%'`,
      );
      return rows;
    });
    expect(kept).toStrictEqual([{ runs: 2 }]);
  });
});

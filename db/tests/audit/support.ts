import type { TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { eventually } from '../support/eventually.ts';
import { addOperator } from '../support/tenants.ts';

const DEADLOCK = '40P01';

// biome-ignore lint/suspicious/noExplicitAny: rows differ by query
type Rows = any[];

/**
 * Statements of a superuser in one transaction, undone at the end unless one of them is `commit`; the rows of the last.
 * Of a single statement what it does stays.
 */
export async function runAsSuperuser(gateway: TestGateway, statements: string | string[]): Promise<Rows> {
  const list = typeof statements === 'string' ? [statements, 'commit'] : statements;
  const once = () =>
    gateway.inSuperuserSession(async (session) => {
      let rows: Rows = [];
      try {
        await session.query('begin');
        for (const statement of list) {
          const result = await session.query(statement);
          if (statement !== 'commit') rows = result.rows;
        }
        return rows;
      } finally {
        await session.query('rollback').catch(() => {});
      }
    });
  for (let tries = 1; ; tries++) {
    try {
      return await once();
    } catch (error) {
      // The gateway's own jobs lock tables too, and changing all of them takes no order.
      if ((error as { code?: string }).code !== DEADLOCK || tries === 10) throw error;
    }
  }
}

/** Seals until nothing is left; on a server that others use too, transactions of theirs may hold it up for a while. */
export async function sealAll(gateway: TestGateway, rows = 10_000): Promise<void> {
  const { workerPool } = gateway.instance.database;
  await eventually(async () => {
    await workerPool.query('select audit.seal_audit($1)', [rows]);
    const { rows: answer } = await workerPool.query('select audit.is_audit_unsealed() as due');
    return !answer[0].due;
  });
}

/** The claims of P, an operator. */
export const claimsOfP = { role: 'l9_platform_admin' };

/** Adds P, whom the gateway knows within seconds. */
export async function addPlatformAdmin(gateway: TestGateway): Promise<void> {
  await addOperator(gateway, 'P');
  const token = await gateway.token({ caller: 'P' });
  await eventually(async () => (await gateway.graphql({ token }, '{ __typename }')).status === 200);
}

import { eventually } from '../support/eventually.ts';
import type { Rows, Sessions } from '../support/sessions.ts';

/**
 * Statements of a superuser in one transaction, undone at the end unless one of them is `commit`; the rows of the last.
 * A single statement is committed.
 */
export const runAsSuperuser = (db: Sessions, statements: string | string[]): Promise<Rows> =>
  db.inSuperuserSession(async (session) => {
    let rows: Rows = [];
    try {
      await session.query('begin');
      for (const statement of typeof statements === 'string' ? [statements, 'commit'] : statements) {
        const result = await session.query(statement);
        if (statement !== 'commit') rows = result.rows;
      }
      return rows;
    } finally {
      await session.query('rollback').catch(() => {});
    }
  });

/** Seals until nothing is left. Transactions of other databases of the same server may delay it. */
export const sealAll = (db: Sessions, rows = 10_000): Promise<unknown> =>
  eventually(async () => {
    await db.asWorker('select audit.seal_audit($1)', [rows]);
    const [answer] = await db.asWorker('select audit.is_audit_unsealed() as due');
    return !answer.due;
  });

/** The claims of P, an operator. */
export const claimsOfP = { role: 'l9_platform_admin' };

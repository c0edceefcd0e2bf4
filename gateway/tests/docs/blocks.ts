import type { TestGateway } from '../support/gateway.ts';

type Row = Record<string, unknown>;

/** Runs the SQL of a page as it is written, in one session as in psql, and gives the rows of each statement between act_as() and commit. */
export const runBlocks = (gateway: Pick<TestGateway, 'inSuperuserSession'>, page: string): Promise<Row[][]> =>
  gateway.inSuperuserSession(async (session) => {
    const answers: Row[][] = [];
    await session.query('set search_path = public');
    for (const [, block] of page.matchAll(/^```sql\n([\s\S]*?)^```/gm)) {
      for (const statement of block!.split(/;\n/)) {
        if (!/\S/.test(statement)) continue;
        const { rows } = await session.query(statement);
        if (!/act_as|^\s*commit/.test(statement)) answers.push(rows);
      }
    }
    await session.query('reset search_path');
    return answers;
  });

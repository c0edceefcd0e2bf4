// No pattern takes long on a text of the greatest size, whatever it holds.
import { itOnServer } from '../support/on-engine.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { PERSONAL, SECRETS } from './support.ts';

const MEBIBYTE = 1_048_576;
const mebibyteOf = (piece: string) => piece.repeat(Math.ceil(MEBIBYTE / piece.length)).slice(0, MEBIBYTE);

/** Text made of the characters that stand in an expression, in the same order on each run. */
function charactersOf(expression: string): string {
  const characters = [...new Set(expression.replaceAll(/\\[a-zA-Z]/g, ' \n'))];
  let seed = 20_261_123;
  return Array.from({ length: 4_096 }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return characters[(seed >> 8) % characters.length];
  }).join('');
}

describe('the patterns on texts of 1 MiB', () => {
  const db = useTestDatabase({ rollsBack: true });

  // The embedded engine has no statement_timeout, and the same expressions.
  itOnServer(
    'none backtracks for long',
    async () => {
      const patterns = await db.asSuperuser(
        'select name, expression, hint from public.secret_patterns where tenant_id is null',
      );
      expect(patterns.length).toBeGreaterThan(30);
      for (const { name, expression, hint } of patterns) {
        const sample = SECRETS[name] ?? PERSONAL[name] ?? 'aB3_';
        const pieces = ['a', sample.slice(0, -1), charactersOf(expression)];
        await db.inSuperuserSession(async (client) => {
          // A pattern that backtracks takes hours. The others take a fraction of a second.
          await client.query("set statement_timeout = '60s'");
          for (const piece of pieces) {
            const result = await client
              .query(
                "select count(*) from regexp_matches($1, secrets.in_group($2), 'g') where $1 ~ coalesce($3, 'a')",
                [mebibyteOf(piece), expression, hint],
              )
              .catch((error: Error) => error);
            expect({ name, result }).not.toMatchObject({ result: expect.any(Error) });
          }
        });
      }
    },
    300_000,
  );
});

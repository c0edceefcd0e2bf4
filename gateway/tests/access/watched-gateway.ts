// A gateway that captures its log and checks its hidden rows, for tests with hostile texts.
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { loadCredentials } from '../../src/home/credentials.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { assertNoTrace, BRAND, cheapEmbedder, plantHidden, snapshot } from './attacker.ts';

export interface WatchedGateway {
  gateway: TestGateway;
  token: string;
  traces: string[];
  /** Nothing private has moved, nobody has become somebody else, and all tables are there. */
  unharmed(): Promise<void>;
  /** Nothing that was tried, no key and no token is in the log, and nothing was unexpected. */
  assertCleanLog(): Promise<void>;
}

export async function startWatchedGateway(): Promise<WatchedGateway> {
  const lines: string[] = [];
  const log = new Writable({
    write: (line, _encoding, done) => {
      lines.push(String(line));
      done();
    },
  });
  const gateway = await startTestGateway({ embedder: cheapEmbedder, logger: pino({ level: 'trace' }, log) });
  const { traces } = await plantHidden(gateway);
  const before = await snapshot(gateway);
  const token = await gateway.token({ caller: 'C' });
  return {
    gateway,
    token,
    traces,
    async unharmed() {
      expect(await snapshot(gateway)).toBe(before);
      const { rows } = await gateway.instance.database.pool.query(
        "select current_user, current_setting('role') as role, nullif(current_setting('jwt.claims.caller', true), '') as caller",
      );
      expect(rows).toStrictEqual([{ current_user: 'l9_gateway', role: 'none', caller: null }]);
    },
    async assertCleanLog() {
      await gateway.embedded();
      const text = lines.join('');
      expect(text.length).toBeGreaterThan(0);
      const secrets = JSON.stringify(loadCredentials(gateway.config)).match(/[^"]{16,}/g) ?? [];
      expect(secrets.length).toBeGreaterThanOrEqual(3);
      assertNoTrace(text, [BRAND, ...traces, token, ...secrets], 'the log');
      const failures = lines.filter((line) => JSON.parse(line).level >= 50).map((line) => line.slice(0, 500));
      expect(failures).toStrictEqual([]);
    },
  };
}

/**
 * The same field once for each value, as aliases of one request; where GraphQL itself turns a value away, one request
 * for each.
 */
export async function askEach(
  { gateway, token }: WatchedGateway,
  operation: 'query' | 'mutation',
  type: string,
  field: string,
  values: readonly unknown[],
) {
  const ask = async (some: readonly unknown[]) => {
    const variables = some.map((_, at) => `$v${at}: ${type}`).join(', ');
    const fields = some.map((_, at) => `a${at}: ${field.replaceAll('$v', `$v${at}`)}`).join('\n');
    return gateway.graphql(
      { token },
      `${operation} (${variables}) { ${fields} }`,
      Object.fromEntries(some.map((value, at) => [`v${at}`, value])),
    );
  };
  const answer = (asked: Awaited<ReturnType<typeof ask>>, at: number) => {
    const { status, data, errors } = asked;
    const error = errors?.find(({ path }) => !path || path[0] === `a${at}`);
    const code = error ? (error.extensions?.code ?? (status === 400 ? 'INVALID_INPUT' : 'none')) : null;
    return { code, text: JSON.stringify([data?.[`a${at}`], error]) };
  };
  const together = await ask(values);
  if (together.status === 200) return values.map((_, at) => answer(together, at));
  const alone: ReturnType<typeof answer>[] = [];
  for (const value of values) alone.push(answer(await ask([value]), 0));
  return alone;
}

// Texts that mean something to SQL, in every text argument of every function that a caller may run.
import { assertNoTrace, attempt, payloadsFor } from '../../../gateway/tests/access/attacker.ts';
import { startWatchedGateway, type WatchedGateway } from '../../../gateway/tests/access/watched-gateway.ts';
import type { TestGateway } from '../../../gateway/tests/support/gateway.ts';

describe('no text in a call of SQL is ever more than a text', () => {
  let watched: WatchedGateway;
  let gateway: TestGateway;
  let traces: string[];
  beforeAll(async () => {
    watched = await startWatchedGateway();
    ({ gateway, traces } = watched);
  });
  afterAll(() => gateway.close());

  it('in every text argument of every SQL function that a caller may run', async () => {
    let places = 0;
    for (const caller of ['C', 'L']) {
      await gateway.asCaller(caller, async (client) => {
        const { rows: functions } = await client.query<{
          call: string;
          names: string[];
          types: string[];
          required: number;
        }>(`
          select p.pronamespace::regnamespace::text || '.' || quote_ident(p.proname) as call,
            coalesce(p.proargnames[1:p.pronargs], '{}') as names, array(select t::regtype::text from unnest(p.proargtypes::oid[]) t) as types,
            p.pronargs - p.pronargdefaults as required
          from pg_proc p
          where p.pronamespace in (select oid from pg_namespace where nspowner = 'l9_owner'::regrole and nspname <> 'graphile_migrate') and p.prokind = 'f'
            and has_function_privilege(current_user, p.oid, 'execute')
            -- It raises whatever it is told to.
            and p.proname <> 'raise_error'`);
        const others: Record<string, string> = {
          text: "'x'",
          uuid: "'01900000-0000-7000-8000-000000000000'",
          jsonb: "'{}'",
          integer: '1',
          boolean: 'true',
          'text[]': "'{}'",
        };
        for (const { call, names, types, required } of functions) {
          for (const [at, type] of types.entries()) {
            if (!/^(text|text\[\]|jsonb|uuid)$/.test(type)) continue;
            const given = types
              .map((other, place) => ({ name: names[place], other, place }))
              .filter(({ place }) => place === at || place < required)
              .map(
                ({ name, other, place }) =>
                  `${name ? `${name} => ` : ''}${place === at ? '$1' : (others[other] ?? 'null')}::${other}`,
              );
            places += 1;
            const payloads = payloadsFor(places);
            for (const payload of caller === 'C' ? payloads : payloads.filter((_, n) => n % 3 === 0)) {
              const value =
                type === 'text[]' ? [payload] : type === 'jsonb' ? JSON.stringify({ [payload]: payload }) : payload;
              const { rows, error } = await attempt(
                client,
                `select r::text as answer from ${call}(${given.join(', ')}) r`,
                [value],
              );
              const what = `${caller}: ${call}(${names[at]}: ${JSON.stringify(payload).slice(0, 60)})`;
              // Ours, or that a value is malformed, or breaks a rule of a table. Never that the statement is.
              if (error)
                expect(error.code, `${what}: ${error.code} ${error.message.slice(0, 200)}`).toMatch(
                  /^(L9...|22...|23...|42501|54000|54001)$/,
                );
              if (caller === 'C') assertNoTrace(JSON.stringify(rows), traces, what);
            }
          }
        }
      });
    }
    await watched.unharmed();
  });
});

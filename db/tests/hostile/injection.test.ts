// Texts with a meaning in SQL, in every text argument of every function that a caller can run.
import { assertNoTrace, attempt, payloadsFor, plantHidden, snapshot } from '../support/attacker.ts';
import { describeOnServer } from '../support/on-engine.ts';
import { useTestDatabase } from '../support/test-database.ts';

// On one engine: the functions are the same on both.
describeOnServer('a text argument', () => {
  const db = useTestDatabase();
  let traces: string[];
  let before: string;
  beforeAll(async () => {
    ({ traces } = await plantHidden(db));
    before = await snapshot(db);
  });

  it('is never run as SQL, in any argument of any function that a caller can run', async () => {
    let places = 0;
    for (const caller of ['C', 'L']) {
      await db.asCaller(caller, async (client) => {
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
          // Nothing can be cast to a polymorphic type: the argument says which type it stands for.
          anyarray: "'{}'::text[]",
        };
        for (const { call, names, types, required } of functions) {
          for (const [at, type] of types.entries()) {
            if (!/^(text|text\[\]|jsonb|uuid)$/.test(type)) continue;
            const given = types
              .map((other, place) => ({ name: names[place], other, place }))
              .filter(({ place }) => place === at || place < required)
              .map(
                ({ name, other, place }) =>
                  `${name ? `"${name}" => ` : ''}${place === at ? '$1' : (others[other] ?? 'null')}${other === 'anyarray' ? '' : `::${other}`}`,
              );
            places += 1;
            const payloads = payloadsFor(places);
            // A third of them for L, others at each place.
            const turn = Math.floor(places / 4) % 3;
            for (const payload of caller === 'C' ? payloads : payloads.filter((_, n) => n % 3 === turn)) {
              const value =
                type === 'text[]' ? [payload] : type === 'jsonb' ? JSON.stringify({ [payload]: payload }) : payload;
              const { rows, error } = await attempt(
                client,
                `select r::text as answer from ${call}(${given.join(', ')}) r`,
                [value],
              );
              const what = `${caller}: ${call}(${names[at]}: ${JSON.stringify(payload).slice(0, 60)})`;
              // The error is a documented one, or says that a value is malformed or violates a constraint, never that the statement is.
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
    expect(await snapshot(db)).toBe(before);
    const { rows } = await db.pool.query(
      "select current_user, current_setting('role') as role, nullif(current_setting('jwt.claims.caller', true), '') as caller",
    );
    expect(rows).toStrictEqual([{ current_user: 'l9_gateway', role: 'none', caller: null }]);
  });
});

// `l9-memory psql`, and with --caller: a session that is one caller, whatever it types.
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { describeOnEmbedded, describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { psql } from '../../src/commands/psql.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

/** What the command says on stderr, and its exit code. */
async function run(env: NodeJS.ProcessEnv, caller?: string): Promise<{ code: number; said: string }> {
  const write = process.stderr.write;
  let said = '';
  process.stderr.write = ((text: string) => {
    said += text;
    return true;
  }) as typeof write;
  try {
    return { code: await psql(env, ['-X'], caller), said };
  } finally {
    process.stderr.write = write;
  }
}

describeOnEmbedded('psql --caller on the embedded engine', () => {
  const gateway = useTestGateway({ embedder: standIn });

  it('says that the engine can hold nobody to one caller', async () => {
    const { code, said } = await run(gateway.home.env, 'C');
    expect([code, said]).toStrictEqual([1, expect.stringMatching(/needs a PostgreSQL server.*act_as\('C'\)/)]);
  });
});

describe('psql', () => {
  const gateway = useTestGateway({ embedder: standIn });

  it('begins in the role of an agent, in which the tables are listed, and keeps options that are set', async () => {
    const called = join(gateway.home.home, 'options.json');
    const program = join(gateway.home.home, 'psql-that-keeps-options');
    writeFileSync(
      program,
      `#!${process.execPath}\nrequire('fs').writeFileSync(${JSON.stringify(called)}, JSON.stringify([process.argv[2], process.env.PGOPTIONS, process.env.PGPASSWORD]))\n`,
    );
    chmodSync(program, 0o755);
    const env = { ...gateway.home.env, PSQL: program, PGOPTIONS: '-c statement_timeout=7s' };
    const { code, said } = await run(env);
    expect([code, said], 'nobody at a terminal is greeted').toStrictEqual([0, '']);
    const [argument, options, password] = JSON.parse(readFileSync(called, 'utf8'));
    expect(options).toBe('-c statement_timeout=7s -c role=l9_agent');

    const connectionString = argument.replace('--dbname=', '');
    const client = new pg.Client({ connectionString, options, ...(password && { password }) });
    await client.connect();
    try {
      for (const _ of [1, 2]) {
        const { rows } = await client.query(
          "select current_user::text as role, pg_table_is_visible('public.packet_store'::regclass) as shown, has_schema_privilege('public', 'usage') as usable",
        );
        expect(rows).toStrictEqual([{ role: 'l9_agent', shown: true, usable: true }]);
      }
      await client.query('begin; set local role l9_admin');
      await client.query("select public.act_as('L')");
      await client.query('commit');
      await expect(client.query('select from public.packet_store'), 'nobody in particular').resolves.toMatchObject({
        rowCount: 0,
      });
    } finally {
      await client.end();
    }
    const { rows } = await gateway.instance.database.pool.query('select current_user::text as role');
    expect(rows, 'what others share is as it was').toStrictEqual([{ role: 'l9_gateway' }]);
  });

  it('greets a person at a terminal with who it is and three things to type', async () => {
    const { isTTY } = process.stdin;
    process.stdin.isTTY = true;
    try {
      const { said } = await run({ ...gateway.home.env, PSQL: '/bin/true' });
      expect(said).toMatch(/^You are l9_gateway in the role l9_agent/);
      expect(said.trim().split('\n')).toHaveLength(4);
    } finally {
      process.stdin.isTTY = isTTY;
    }
  });
});

describeOnServer('psql --caller on a server', () => {
  const gateway = useTestGateway({ embedder: standIn });
  const login = `l9_test_c_${process.pid}`;
  afterAll(async () => {
    await gateway.asSuperuser(`drop role if exists ${login}`).catch(() => {});
  });

  it('says how to bind a login if there is none', async () => {
    const { code, said } = await run(gateway.home.env, 'C');
    expect([code, said]).toStrictEqual([1, expect.stringMatching(/no login is bound to C: .*bind_login\('C'/)]);
  });

  it('opens a session of the bound login, which is C and can take no other role', async () => {
    await gateway.save('C', 'what C may see');
    await gateway.save('L', 'what C may not see', { scope: 'l-private' });
    await gateway.asSuperuser(`create role ${login} login password 'of a test' in role l9_agent`);
    await gateway.asOwner('select public.bind_login($1, $2)', ['C', login]);

    // The program in the place of psql keeps what it was called with.
    const called = join(gateway.home.home, 'called.json');
    const program = join(gateway.home.home, 'psql-stand-in');
    writeFileSync(
      program,
      `#!${process.execPath}\nrequire('fs').writeFileSync(${JSON.stringify(called)}, JSON.stringify([process.argv.slice(2), process.env.PGPASSWORD ?? null]))\n`,
    );
    chmodSync(program, 0o755);
    const { code, said } = await run({ ...gateway.home.env, PSQL: program }, 'C');
    expect([code, said]).toStrictEqual([0, '']);
    const [args, password] = (await import(called, { with: { type: 'json' } })).default;
    expect(password, 'the password of the gateway').toBeNull();
    const url = new URL(args[0].replace('--dbname=', ''));
    expect([url.username, url.password, args[1]]).toStrictEqual([login, '', '-X']);

    url.password = encodeURIComponent('of a test');
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    try {
      const { rows } = await client.query('select content from packet_store');
      expect(rows).toStrictEqual([{ content: 'what C may see' }]);
      for (const role of ['l9_worker', 'l9_admin', 'l9_platform_admin', 'l9_owner', 'l9_gateway', 'postgres']) {
        await expect(client.query(`set role ${role}`)).rejects.toMatchObject({ code: '42501' });
        await expect(client.query(`set session authorization ${role}`)).rejects.toMatchObject({ code: '42501' });
      }
      await client.query("set jwt.claims.caller = 'L'");
      expect((await client.query('select from packet_store')).rowCount, 'L is nobody here').toBe(0);
      await client.query('reset all; reset role; set role l9_agent');
      expect((await client.query('select content from packet_store')).rows).toStrictEqual(rows);
    } finally {
      await client.end();
    }
  });
});

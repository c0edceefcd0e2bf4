// `l9-memory audit verify|export` against a real gateway.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAsSuperuser, sealAll } from '../../../db/tests/audit/support.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { DEFAULT_TENANT } from '../../src/auth/identity.ts';
import { runCommandHere } from '../support/command.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

let gateway: TestGateway;
let folder: string;
beforeAll(async () => {
  gateway = await startTestGateway({ embedder: standIn });
  folder = mkdtempSync(join(tmpdir(), 'l9-audit-'));
  // More than two pages of an export. A statement has 30 seconds, also on a busy machine.
  for (let from = 1; from <= 2_300; from += 460)
    await gateway.sql(
      'C',
      `insert into public.packet_store (envelope, scope)
       select jsonb_build_object('content', 'exported ' || i), 'global' from generate_series($1::integer, $1 + 459) i`,
      [from],
    );
  await sealAll(gateway);
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await gateway.close();
});

const run = (...args: string[]) =>
  runCommandHere(['audit', ...args, '--url', gateway.instance.url], { home: gateway.home.home });

// biome-ignore lint/suspicious/noExplicitAny: rows of the audit log
const parsed = (text: string): any[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

describeOnEmbedded('l9-memory audit export', () => {
  it('writes every row once in order of time, without its own audit row', async () => {
    const before = await runAsSuperuser(
      gateway,
      'select audit_id from public.audit_log order by occurred_at, audit_id',
    );
    const { code, out, err } = await run('export');
    expect(code, err).toBe(0);
    const rows = parsed(out);
    expect(rows.map(({ audit_id }) => audit_id)).toStrictEqual(before.map(({ audit_id }) => audit_id));
    const times = rows.map(({ occurred_at }) => occurred_at);
    expect(times).toStrictEqual([...times].sort());
    expect(times[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    const [{ n, total }] = await runAsSuperuser(
      gateway,
      `select count(*)::int as n, sum((details ->> 'rows')::int)::int as total from public.audit_log
       where operation = 'EXPORT' and caller = 'me' and tool_name = 'graphql'`,
    );
    expect(n, 'a row for each page').toBeGreaterThanOrEqual(3);
    expect(total).toBe(rows.length);
    expect(Object.keys(rows[0]).sort()).toStrictEqual([
      'audit_id',
      'details',
      'occurred_at',
      'operation',
      'project_id',
      'row_id',
      'scope',
      'sqlstate',
      'status',
      'table_name',
      'tenant_id',
      'xid',
    ]);
  });

  it('writes a period to a file that only its owner can read', async () => {
    const [{ first, middle }] = await runAsSuperuser(
      gateway,
      'select min(occurred_at) as first, (array_agg(occurred_at order by occurred_at))[2000] as middle from public.audit_log',
    );
    const path = join(folder, 'part.jsonl');
    // An hour before the first to the millisecond of the 2,000th row.
    const from = new Date(first.getTime() - 3_600_000).toISOString();
    const { code, out, err } = await run('export', '--from', from, '--to', middle.toISOString(), '--output', path);
    expect(code, err).toBe(0);
    expect(out).toBe('');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const rows = parsed(readFileSync(path, 'utf8'));
    expect(err).toMatch(new RegExp(`${rows.length} rows`));
    const [{ n }] = await runAsSuperuser(
      gateway,
      `select count(*)::int as n from public.audit_log where occurred_at < '${middle.toISOString()}'`,
    );
    expect(rows).toHaveLength(n);
  });

  it('ends a page early if rows are long, and loses none', async () => {
    await runAsSuperuser(
      gateway,
      `insert into public.audit_log (operation, table_name, tenant_id, details) select 'READ', 'long', '${DEFAULT_TENANT}',
       jsonb_build_object('caller', 'x', 'creator', null, 'source', null, 'tool_name', 'x', 'n', i, 'pad', repeat('x', 60000)) from generate_series(1, 200) i`,
    );
    const rows = parsed((await run('export')).out).filter(({ table_name }) => table_name === 'long');
    expect(rows.map(({ details }) => details.n)).toStrictEqual(Array.from({ length: 200 }, (_, n) => n + 1));
  });

  it('is reserved to administrators, and says what is wrong', async () => {
    const refused = await run('export', '--caller', 'C');
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/permission denied for your role/);
    const malformed = await run('export', '--from', 'yesterday');
    expect([malformed.code, malformed.err]).toStrictEqual([
      1,
      '--from: a time such as 2026-11-01 or 2026-11-01T12:00:00Z\n',
    ]);
    const elsewhere = await run('export', '--output', join(folder, 'nowhere', 'x.jsonl'));
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.err).toMatch(/: there is no such file or folder/);
  });
});

describeOnEmbedded('l9-memory audit verify', () => {
  it('reports an intact audit log, and prints its head', async () => {
    await sealAll(gateway);
    const { code, out, err } = await run('verify');
    expect(code, err).toBe(0);
    expect(out).toMatch(/^ok: \d+ seals, \d+ rows, \d+ not sealed yet\nhead: [0-9a-f]{64}\n$/);
    expect(Number(/(\d+) rows/.exec(out)![1])).toBeGreaterThanOrEqual(2300);
    const [head] = /[0-9a-f]{64}/.exec(out)!;
    expect((await run('verify', '--head', head)).code).toBe(0);
    const cut = await run('verify', '--head', 'ab'.repeat(32));
    expect(cut.code).toBe(1);
    expect(cut.out).toMatch(/^BROKEN: .*\nno seal has the hash given as head/);
    const past = await run('verify', '--to', '2000-01-01');
    expect(past.out).toMatch(/^ok: 0 seals, 0 rows\n/);
  });

  it('names the first row that was altered', async () => {
    const [{ audit_id }] = await runAsSuperuser(
      gateway,
      "select audit_id from public.audit_log where operation = 'INSERT' limit 1",
    );
    await runAsSuperuser(gateway, [
      `do $$ declare p record; begin for p in select inhrelid::regclass as t from pg_inherits where inhparent = 'public.audit_log'::regclass loop
        execute format('alter table %s disable trigger all', p.t); end loop; end $$`,
      'alter table public.audit_log disable trigger all',
      `update public.audit_log set details = details || '{"kind": "forged"}' where audit_id = '${audit_id}'`,
      'commit',
    ]);
    const { code, out } = await run('verify');
    expect(code).toBe(1);
    expect(out).toMatch(new RegExp(`^BROKEN: .*\\nseal \\d+, row ${audit_id}, a row was altered\\nhead: `));
  });
});

describeOnEmbedded('the sealing job', () => {
  it('seals periodically, and reports it in the metrics', async () => {
    const metric = async (name: string) =>
      Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await gateway.metrics())?.[1]);
    // Taken before the save: the seal may be made before its answer is here, and then no later one has anything to seal.
    const before = Date.now() / 1000;
    await gateway.save('C', 'to be sealed', { scope: 'global' });
    expect(await metric('l9_audit_unsealed')).toBeGreaterThanOrEqual(0);
    // Transactions of others on the same server may hold it up.
    await eventually(
      async () =>
        (await metric('l9_audit_last_seal_timestamp_seconds')) >= before && (await metric('l9_audit_unsealed')) === 0,
    );
    expect(await metric('l9_audit_unsealed_oldest_seconds')).toBe(0);
  });
});

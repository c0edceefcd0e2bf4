// What GET /metrics tells about calls and about the database, and the dashboard that shows it.
import { globSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { BUILT_IN_KINDS } from '../../src/metrics/calls.ts';
import { startTestGateway, type TestGateway, useTestGateway } from '../support/gateway.ts';
import { createTestHome, type TestHome, withoutPooler } from '../support/home.ts';
import { type Relay, startRelay } from '../support/relay.ts';
import { standIn } from '../support/stand-in.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** What only a gateway with replicas has. */
const OF_REPLICAS = [
  'l9_read_record_seconds_bucket',
  'l9_replica_lag_seconds',
  'l9_replica_reads_total',
  'l9_replica_used',
];

/** What only a server has. */
const OF_SERVERS = [
  'l9_database_longest_transaction_seconds',
  'l9_database_replication_lag_bytes',
  'l9_database_replication_lag_seconds',
];

/** And what only the embedded engine has. */
const OF_EMBEDDED = ['l9_disk_free_bytes'];

/** The value of a sample, such as `l9_few_hits_total{operation="search_memory"}`. */
const sampleOf = (metrics: string, sample: string) => {
  const line = metrics.split('\n').find((one) => one.startsWith(`${sample} `));
  return line === undefined ? null : Number(line.slice(sample.length + 1));
};

describe('GET /metrics', () => {
  const gateway = useTestGateway({ embedder: standIn });

  it('counts what is stored by operation, kind and status, and kinds of callers as other', async () => {
    await gateway.save('C', 'The first note.');
    await gateway.call('C', 'save_memory', { content: 'The first note.', project_id: 'l9' });
    await gateway.save('C', 'A thing of its own.', { kind: 'marzipan_recipe' });
    const metrics = await gateway.metrics();
    const stored = (kind: string, status: string) =>
      sampleOf(metrics, `l9_stored_items_total{operation="save_memory",kind="${kind}",status="${status}"}`);
    expect([stored('note', 'inserted'), stored('note', 'skipped_dedupe'), stored('other', 'inserted')]).toStrictEqual([
      1, 1, 1,
    ]);
    expect(metrics).not.toMatch(/marzipan/);
  });

  it('counts the items of a batch one by one, and the errors of those that were refused', async () => {
    const runbook = { service: 'importer', title: 'Restart it', steps: [{ number: 1, description: 'Stop it.' }] };
    const items = [
      { kind: 'runbook', data: runbook, project_id: 'l9' },
      { kind: 'runbook', data: runbook, project_id: 'l9' },
      { kind: 'runbook', data: { service: 'importer' }, project_id: 'l9' },
    ];
    expect((await gateway.call('C', 'memory_store', { items })).errors).toHaveLength(1);
    const metrics = await gateway.metrics();
    const of = (status: string) =>
      sampleOf(metrics, `l9_stored_items_total{operation="memory_store",kind="runbook",status="${status}"}`);
    expect([of('inserted'), of('skipped_dedupe')]).toStrictEqual([1, 1]);
    expect(sampleOf(metrics, 'l9_item_errors_total{operation="memory_store",code="INVALID_INPUT"}')).toBe(1);
  });

  it('counts a lesson that is learned again', async () => {
    for (let n = 0; n < 2; n++) await gateway.call('C', 'reflect', { content: 'Test the restore.', project_id: 'l9' });
    const metrics = await gateway.metrics();
    const of = (status: string) =>
      sampleOf(metrics, `l9_stored_items_total{operation="reflect",kind="reflection",status="${status}"}`);
    expect([of('inserted'), of('reinforced')]).toStrictEqual([1, 1]);
  });

  it('names every kind that is built in', async () => {
    const rows = await gateway.asSuperuser('select kind from kinds.built_in() union select unnest(kinds.reserved())');
    expect(rows.length).toBeGreaterThan(3);
    expect(rows.map(({ kind }) => kind).filter((kind) => !BUILT_IN_KINDS.has(kind))).toStrictEqual([]);
  });

  it('counts searches that find fewer than three hits, and how long their SQL takes', async () => {
    await gateway.call('C', 'search_memory', { query: 'first note', mode: 'lexical' });
    for (const content of ['The second note.', 'The third note.']) await gateway.save('C', content);
    expect((await gateway.call('C', 'search_memory', { query: 'note', mode: 'lexical' })).hits).toHaveLength(3);
    const metrics = await gateway.metrics();
    expect(sampleOf(metrics, 'l9_few_hits_total{operation="search_memory"}')).toBe(1);
    expect(sampleOf(metrics, 'l9_sql_seconds_count{operation="search_memory"}')).toBe(2);
  });

  it('shows connections, reads and sizes of the database', async () => {
    const metrics = await gateway.metrics();
    const pool = gateway.instance.database.engine === 'server' ? 'callers' : 'session';
    const connections = (state: string) =>
      sampleOf(metrics, `l9_database_connections{pool="${pool}",state="${state}"}`)!;
    expect(connections('in_use') + connections('idle')).toBeGreaterThan(0);
    expect(sampleOf(metrics, `l9_database_waiting{pool="${pool}"}`)).toBeGreaterThanOrEqual(0);
    // PostgreSQL reports them at most once a second.
    const blockReads = async () =>
      sampleOf(await gateway.metrics(), 'l9_database_block_reads_total{kind="index",source="cache"}');
    expect(await eventually(blockReads)).toBeGreaterThan(0);
    for (const name of ['l9_database_table_bytes', 'l9_database_index_bytes'])
      for (const table of ['public.packet_store', 'public.audit_log'])
        expect(sampleOf(metrics, `${name}{table="${table}"}`), table).toBeGreaterThan(0);
    expect(metrics).not.toMatch(/table="(partitions|pg_catalog|pg_toast)\./);
  });

  it('includes everything that the dashboards show and the alerts ask for, except what only the other engine has', async () => {
    const exported = [...(await gateway.metrics()).matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name, type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
    );
    const namesIn = (text: string) => text.match(/\b(l9|process|nodejs)_\w+/g) ?? [];
    const dashboards = globSync('docker/monitoring/grafana/dashboards/*.json', { cwd: root });
    const shown = dashboards
      .flatMap((file) => (JSON.parse(read(file)) as { panels: { targets?: { expr: string }[] }[] }).panels)
      .flatMap(({ targets }) => targets ?? [])
      .flatMap(({ expr }) => namesIn(expr));
    expect(shown.length).toBeGreaterThan(25);
    const { groups } = load(read('docker/monitoring/alerts.yml')) as { groups: { rules: { expr: string }[] }[] };
    const asked = groups.flatMap(({ rules }) => rules).flatMap(({ expr }) => namesIn(expr));
    expect(asked.length).toBeGreaterThan(12);
    const missing = [...new Set([...shown, ...asked])].filter((name) => !exported.includes(name)).sort();
    const ofOther = gateway.instance.database.engine === 'server' ? OF_EMBEDDED : OF_SERVERS;
    expect(missing).toStrictEqual([...ofOther, ...OF_REPLICAS]);
  });

  it('shows what GET /ready checks, and how many requests to the APIs are being answered', async () => {
    const metrics = await gateway.metrics();
    for (const check of ['database', 'migrations', 'reads', 'disk', 'embedder'])
      expect(sampleOf(metrics, `l9_ready{check="${check}"}`), check).toBe(1);
    const inFlight = async (api: string) => sampleOf(await gateway.metrics(), `l9_calls_in_flight{api="${api}"}`);
    await eventually(async () => (await inFlight('mcp')) === 0);
    // A body that is not complete is a request under way.
    const { port } = new URL(gateway.instance.url);
    const headers = { authorization: `Bearer ${gateway.apiKey('C')}`, 'content-type': 'application/json' };
    const half = request({ port, method: 'POST', path: '/mcp', headers });
    half.on('error', () => {});
    half.write('{');
    await eventually(async () => (await inFlight('mcp')) === 1);
    half.destroy();
    await eventually(async () => (await inFlight('mcp')) === 0);
    expect(await inFlight('graphql')).toBe(0);
  });
});

describeOnServer('a path for monitors while the database hangs', () => {
  let home: TestHome;
  let relay: Relay;
  let gateway: TestGateway;
  beforeAll(async () => {
    home = withoutPooler(await createTestHome());
    relay = await startRelay(home.env.DATABASE_URL!);
    gateway = await startTestGateway({ home, embedder: standIn, env: { DATABASE_URL: relay.url } });
    await gateway.save('C', 'Saved before it hangs.');
    await gateway.metrics();
  });
  afterAll(async () => {
    relay.resume();
    await gateway.close();
    relay.close();
  });

  it('answers after two seconds at most, with what it knows without it, and with all of it once it is back', async () => {
    const ready = () => fetch(`${gateway.instance.url}/ready`, { signal: AbortSignal.timeout(10_000) });
    relay.stop();
    for (let round = 0; round < 2; round++) {
      const began = performance.now();
      const [metrics, { status }] = await Promise.all([gateway.metrics(), ready()]);
      expect(performance.now() - began).toBeLessThan(4_000);
      expect(metrics).toMatch(/^l9_operation_seconds_count\{operation="save_memory",outcome="ok"\} 1$/m);
      expect(metrics).toMatch(/^process_resident_memory_bytes \d/m);
      expect(metrics).toMatch(/^l9_database_connections\{/m);
      // A last value, or 0, would look like a database that is well.
      expect(metrics).not.toMatch(/^l9_(embedding_backlog|audit_unsealed|database_(table_bytes|block_reads_total))\b/m);
      expect(status).toBe(503);
    }
    relay.resume();
    await eventually(async () => /^l9_embedding_backlog \d/m.test(await gateway.metrics()));
    await eventually(async () => (await ready()).status === 200);
    expect(await gateway.metrics()).toMatch(/^l9_database_table_bytes\{/m);
  });
});

describeOnServer('GET /metrics of a server', () => {
  it('shows the longest transaction of any login, which the gateway itself cannot see', async () => {
    const gateway = await startTestGateway({ embedder: standIn });
    try {
      const seconds = async () => sampleOf(await gateway.metrics(), 'l9_database_longest_transaction_seconds')!;
      await gateway.inSuperuserSession(async (client) => {
        await client.query('begin');
        const first = await seconds();
        expect(first).toBeGreaterThan(0);
        expect(await seconds()).toBeGreaterThan(first);
      });
      const metrics = await gateway.metrics();
      expect(metrics).toMatch(/^# TYPE l9_database_replication_lag_seconds gauge$/m);
      expect(metrics).not.toMatch(/^l9_database_replication_lag_seconds\{/m);
    } finally {
      await gateway.close();
    }
  });

  it('shows that two connections are opened at the start, and stay open when the others are closed', async () => {
    const gateway = await startTestGateway({ embedder: standIn, env: { DATABASE_POOL_SIZE: '5' } });
    try {
      const connections = async () => {
        const metrics = await gateway.metrics();
        const of = (state: string) => sampleOf(metrics, `l9_database_connections{pool="callers",state="${state}"}`)!;
        return of('in_use') + of('idle');
      };
      expect(await connections()).toBeGreaterThanOrEqual(2);
      await gateway.inSuperuserSession(async (client) => {
        // All wait for the lock, so that each has a connection of its own.
        await client.query('begin; lock table public.packet_store in access exclusive mode');
        const saves = Array.from({ length: 5 }, (_, index) => gateway.save('C', `Note ${index}.`));
        await eventually(() => gateway.instance.database.pools().callers!.inUse === 5);
        await client.query('rollback');
        await Promise.all(saves);
      });
      // Without asking for the metrics all the time, which queries the database.
      await eventually(() => {
        const { inUse, idle } = gateway.instance.database.pools().callers!;
        return inUse + idle === 2;
      });
      expect(await connections()).toBe(2);
    } finally {
      await gateway.close();
    }
  });
});

// What administrators ask about the server over GraphQL: the database's figures and those of the gateway.
import { addTenant } from '../../../db/tests/support/tenants.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const SECRET = 'the orchid password stands behind the clock';
const HEALTH = `{ admin { health {
  checkedAt isWholeServer servingModel embeddingWaiting databaseBytes
  tables { tableName liveRows tableBytes } indexes { indexName scans isValid } jobs { type runs failed }
  gateway {
    version engine startedAt warnings servingModel isEmbedderReady residentBytes diskFreeBytes diskState
    pools { pool inUse idle waiting } queuedJobs { name waiting running failed error }
    longestTransactionSeconds replicas { name lagSeconds lagBytes } slowQueryMs
    slowCalls { at operation sqlMs route } operations { operation calls refused failed meanMs slowestMs }
    limits { limit refused } minutes { at calls refused failed limited slow meanMs slowestMs embeddingWaiting }
  }
} } }`;

describe('the health of a server', () => {
  const gateway = useTestGateway({ embedder: standIn, env: { SLOW_QUERY_MS: '0' } });

  it('is told to administrators, with what the gateway did in the last hour', async () => {
    await gateway.save('L', SECRET, { scope: 'l-private' });
    await gateway.call('C', 'search_memory', { query: 'something slow' });
    expect((await gateway.tool('C', 'save_memory', { content: '' })).isError).toBe(true);
    await gateway.embedded();
    const { health } = (await gateway.query('L', HEALTH)).admin;
    expect(health).toMatchObject({ isWholeServer: true, embeddingWaiting: 0, servingModel: standIn.model });
    expect(health.tables.map((table: { tableName: string }) => table.tableName)).toContain('public.packet_store');
    const { gateway: own } = health;
    expect(own).toMatchObject({ isEmbedderReady: true, diskState: 'ok', replicas: [], warnings: [], slowQueryMs: 0 });
    expect(own.engine).toBe(gateway.instance.database.engine);
    expect(own.operations).toContainEqual(
      expect.objectContaining({ operation: 'save_memory', calls: 2, refused: 1, failed: 0 }),
    );
    expect(own.slowCalls[0]).toMatchObject({ operation: expect.stringMatching(/^(save|search)_memory$/) });
    expect(own.slowCalls.map((call: { route: string | null }) => call.route)).toContain('hybrid');
    expect(own.minutes.reduce((sum: number, { calls }: { calls: number }) => sum + calls, 0)).toBe(3);
    expect(own.queuedJobs).toBeInstanceOf(Array);
    expect(own.pools[0]).toMatchObject({ inUse: expect.any(Number), waiting: expect.any(Number) });
  });

  it('names what was done, and quotes nothing', async () => {
    expect(JSON.stringify(await gateway.query('L', HEALTH))).not.toMatch(/orchid|something slow/);
  });

  it('is refused to agents and to limited tokens', async () => {
    const limited = await gateway.token({ caller: 'L', scopes: ['developer'] });
    for (const caller of ['C', { token: limited }]) {
      const { data, errors } = await gateway.graphql(caller, HEALTH);
      expect(errors).toMatchObject([{ extensions: { code: 'SCOPE_DENIED' } }]);
      expect(JSON.stringify(data)).not.toContain('packet_store');
    }
  });

  it('leaves one audit row for each look', async () => {
    const looks = `select count(*)::int as n from public.audit_log where operation = 'READ' and details::text like '%health%'`;
    const [{ n: before }] = await gateway.asSuperuser(looks);
    await gateway.query('L', HEALTH);
    expect(await gateway.asSuperuser(looks)).toStrictEqual([{ n: before + 1 }]);
  });

  it('tells the admin of a tenant nothing of the gateway that it shares with another', async () => {
    await addTenant(gateway, 'other');
    const { health } = (await gateway.query('L', HEALTH)).admin;
    expect(health).toMatchObject({ isWholeServer: false, tables: [], indexes: [], databaseBytes: null, gateway: null });
  });
});

// docs/how-to/multi-tenant-saas.md, whose requests are sent as they are written, by an operator and in the tenant that they make.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { cheapEmbedder } from '../access/attacker.ts';
import { runCommand } from '../support/command.ts';
import { useTestGateway } from '../support/gateway.ts';
import { describeWithPython, runPython } from '../support/python.ts';

const page = readFileSync(
  join(import.meta.dirname, '..', '..', '..', 'docs', 'how-to', 'multi-tenant-saas.md'),
  'utf8',
);
const blocksOf = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, code]) => code!);
const [createTenant, furnish, count, deactivate] = blocksOf('graphql') as [string, string, string, string];
const [erase] = blocksOf('python') as [string];

describe('a service with a tenant for each customer', () => {
  const gateway = useTestGateway({ embedder: cheapEmbedder });
  const folder = mkdtempSync(join(tmpdir(), 'l9-tenants-'));
  let tenant: string;
  let keys: { agent: string; administrator: string };
  beforeAll(async () => {
    // What `l9-memory db platform-admin --caller ops` does; its own test is in gateway/tests/commands.
    await gateway.asOwner(
      "select public.register_actor('ops', role => 'l9_platform_admin', readable_scopes => '{*}', writable_scopes => '{}')",
    );
    const token = await gateway.token({ caller: 'ops' });
    await eventually(async () => (await gateway.graphql({ token }, '{ __typename }')).status === 200);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const ask = async (token: string, query: string, variables: object = {}) => {
    const { data, errors } = await gateway.graphql({ token }, query, variables);
    if (errors) throw new Error(JSON.stringify(errors));
    return data;
  };
  const asOperator = async (query: string) => ask(await gateway.token({ caller: 'ops' }), query, { tenant });
  const total = async (key: string) => (await ask(key, count)).getMemoryStats.total;
  const save = (key: string, content: string) =>
    ask(key, 'mutation ($content: String!) { saveMemory(input: { content: $content, projectId: "app" }) { status } }', {
      content,
    });

  it('is set up by the requests of the page', async () => {
    ({ tenantId: tenant } = (await asOperator(createTenant.trim())).admin.createTenant);
    const { admin } = await asOperator(furnish);
    expect(admin.setTenantLimits).toStrictEqual({ name: 'acme', readsPerMinute: 6000, writesPerMinute: 600 });
    expect(admin.registerActor).toStrictEqual({ caller: 'app', role: 'l9_agent' });
    keys = { agent: admin.agent.apiKey, administrator: admin.administrator.apiKey };
    await eventually(async () => (await gateway.graphql({ token: keys.agent }, '{ __typename }')).status === 200);
  });

  it('keeps tenants apart, by key and by token', async () => {
    await gateway.save('C', 'The first tenant knows of the heron.');
    expect((await save(keys.agent, 'The first tenant knows of the heron.')).saveMemory.status).toBe('inserted');
    await save(keys.agent, 'Acme sells anvils.');
    expect([await total(keys.agent), await total(keys.administrator)]).toStrictEqual([2, 2]);
    const { memories } = await gateway.query('L', '{ memories { nodes { content } } }');
    expect(memories.nodes).toStrictEqual([{ content: 'The first tenant knows of the heron.' }]);

    const user = await gateway.token({
      caller: 'app',
      tenantId: tenant,
      userId: '0198c1f2-0000-7000-8000-000000000001',
    });
    expect(await total(user)).toBe(2);
    const elsewhere = await gateway.graphql({ token: await gateway.token({ caller: 'app' }) }, count);
    expect([elsewhere.status, elsewhere.errors?.[0]?.extensions?.code]).toStrictEqual([401, 'UNAUTHENTICATED']);
    for (const key of [keys.administrator, keys.agent]) {
      const { errors } = await gateway.graphql(
        { token: key },
        'mutation { admin { createTenant(name: "mine") { name } } }',
      );
      expect(errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
    }
  });

  it('limits the calls of each key', async () => {
    let refused: Response | null = null;
    // One request of a hundred fields counts as a hundred calls.
    const query = `{ ${Array.from({ length: 100 }, (_, n) => `n${n}: whoAmI { caller }`).join(' ')} }`;
    for (let round = 0; round < 14 && !refused; round++) {
      const response = await fetch(`${gateway.instance.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${keys.agent}` },
        body: JSON.stringify({ query }),
      });
      if (response.status === 429) refused = response;
    }
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await total(keys.administrator)).toBe(2);
  });

  it('exports a tenant, and nothing of another one', async () => {
    const token = await gateway.token({ caller: 'L', tenantId: tenant });
    const file = join(folder, 'acme.jsonl');
    const { code, err } = await runCommand(['export', file, '--token', token, '--url', gateway.instance.url], {
      home: gateway.home.home,
    });
    expect(code, err).toBe(0);
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    expect(lines[0].tenant_id).toBe(tenant);
    expect(lines.filter((line) => 'memory' in line)).toHaveLength(2);
    expect(readFileSync(file, 'utf8')).not.toContain(keys.agent);
  });

  describeWithPython('the example for a customer who leaves', () => {
    it('erases all memories of the tenant, and none of another one', async () => {
      const printed = await runPython(
        ['-'],
        { L9_URL: gateway.instance.url, L9_KEY_OF_L: keys.administrator },
        `${erase}\nprint(erase_everything("the contract ended"))\n`,
      );
      expect(printed.trim()).toBe('2');
      expect(await total(keys.administrator)).toBe(0);
      expect((await gateway.query('L', count)).getMemoryStats.total).toBe(1);
    });
  });

  it('shuts a tenant out at once', async () => {
    expect((await asOperator(deactivate)).admin.deactivateTenant).toStrictEqual({ name: 'acme', isActive: false });
    for (const token of [keys.administrator, await gateway.token({ caller: 'L', tenantId: tenant })])
      expect((await gateway.graphql({ token }, count)).status).toBe(401);
    expect((await gateway.query('L', count)).getMemoryStats.total).toBe(1);
  });
});

// A gateway that reads from a streaming replica: what it finds there, what it leaves on the primary, and what happens if the replica is
// paused or killed.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { eventually } from '../db/tests/support/eventually.ts';
import { claimsOf } from '../db/tests/support/sessions.ts';
import { runCommand } from '../gateway/tests/support/command.ts';
import type { TestGateway } from '../gateway/tests/support/gateway.ts';
import type { Server } from './support/postgres.ts';
import { type Replicated, startReplicated } from './support/replicas.ts';

const COUNT = 'query ($project: String!) { memories(filter: { projectId: { equalTo: $project } }) { totalCount } }';

describe('a gateway with a replica', () => {
  let replicated: Replicated;
  let gateway: TestGateway;
  let replica: Server;
  const counted: Replicated['counted'] = (work) => replicated.counted(work);

  beforeAll(async () => {
    replicated = await startReplicated(1);
    ({ gateway } = replicated);
    [replica] = replicated.replicas as [Server];
  }, 300_000);
  afterAll(() => replicated?.close());
  // A replica that was too slow once, on a busy machine, is left alone for ten seconds.
  beforeEach(() => replicated.used(true));

  it('reads there over MCP and GraphQL, and leaves all records on the primary', async () => {
    const id = await gateway.save('C', 'The walrus serves staging');
    await gateway.call('C', 'assert_fact', { subject: 'walrus', predicate: 'serves', object: 'staging' });
    await gateway.embedded();
    await replicated.caughtUp();
    const since = (await gateway.asSuperuser('select clock_timestamp()::text as now'))[0].now;
    const calls: [string, object][] = [
      ['search_memory', { query: 'which walrus is staging', project_id: 'l9' }],
      ['memory_find', { query: 'walrus', project_id: 'l9' }],
      ['get_memory', { packet_id: id }],
      ['find_facts', { subject: 'walrus' }],
      ['explore_graph', { entity: 'walrus' }],
      ['get_memory_stats', {}],
    ];
    for (const [tool, args] of calls) {
      // A replica that is more than 100 ms behind is asked again.
      await eventually(async () => {
        const grown = await counted(async () => {
          const answer = await gateway.call('C', tool, args);
          if (tool === 'search_memory') expect(answer.hits[0].packet_id).toBe(id);
        });
        expect(grown, tool).toMatchObject({ refused: 0, failed: 0 });
        return grown.answered! > 0 && grown.behind === 0;
      });
    }
    await eventually(async () => {
      const grown = await counted(async () => {
        const { memories } = await gateway.query('C', COUNT, { project: 'l9' });
        expect(memories.totalCount).toBe(1);
      });
      return grown.answered! > 0;
    });
    const rows = await gateway.asSuperuser(
      `select tool_name as tool, operation from public.audit_log where occurred_at > $1 and caller = 'C' order by occurred_at`,
      [since],
    );
    expect([...new Set(rows.map(({ tool }) => tool))]).toStrictEqual([...calls.map(([tool]) => tool), 'graphql']);
    const [{ accesses }] = await gateway.asSuperuser(
      'select count(*)::integer as accesses from importance.memory_access_log where target_id = $1',
      [id],
    );
    expect(accesses).toBeGreaterThanOrEqual(3);
  });

  it('shows C nothing of l-private, and no other session may read there without a record', async () => {
    const id = await gateway.save('L', 'A quincunx of trees', { scope: 'l-private', project_id: 'orchard' });
    await gateway.embedded();
    await replicated.caughtUp();
    const grown = await counted(async () => {
      const found = await gateway.call('L', 'search_memory', { query: 'quincunx', project_id: 'orchard' });
      expect(found.hits.map((hit: { packet_id: string }) => hit.packet_id)).toContain(id);
      const graphql = await gateway.graphql('C', COUNT, { project: 'orchard' });
      expect(graphql.data.memories.totalCount).toBe(0);
      const answers = [
        await gateway.tool('C', 'search_memory', { query: 'quincunx', project_id: 'orchard' }),
        await gateway.tool('C', 'search_memory', { query: 'quincunx', project_id: 'orchard', mode: 'lexical' }),
        await gateway.tool('C', 'memory_find', { query: 'quincunx', project_id: 'orchard' }),
      ];
      for (const answer of answers) expect(JSON.stringify(answer)).not.toMatch(/of trees|l-private/);
      expect(JSON.stringify(answers)).not.toContain(id);
      const [hidden, none] = await Promise.all(
        [id, '01900000-0000-7000-8000-000000000000'].map((packet_id) => gateway.tool('C', 'get_memory', { packet_id })),
      );
      expect(hidden!.isError).toBe(true);
      expect(hidden!.text.replace(id, '')).toBe(none!.text.replace('01900000-0000-7000-8000-000000000000', ''));
    });
    expect(grown.answered).toBeGreaterThan(0);
    const client = new pg.Client({ connectionString: replicated.urls[0]! });
    await client.connect();
    try {
      for (const record of ['', '[]']) {
        await client.query('begin');
        const role = record === '[]' ? { role: 'l9_platform_admin' } : {};
        for (const [key, value] of Object.entries({ ...claimsOf('C'), ...role, 'l9.record_of_reads': record }))
          await client.query('select set_config($1, $2, true)', [key, value]);
        await expect(client.query("select public.search_memory('walrus', mode => 'lexical')")).rejects.toMatchObject({
          code: expect.stringMatching(/^(25006|L9AUT)$/),
        });
        await client.query('rollback');
      }
    } finally {
      await client.end();
    }
  });

  it('answers nothing that it cannot record on the primary', async () => {
    await gateway.asSuperuser('revoke execute on function audit.store_record from l9_agent');
    await replicated.caughtUp();
    try {
      const { isError, text } = await gateway.tool('C', 'search_memory', { query: 'walrus', project_id: 'l9' });
      expect(isError).toBe(true);
      expect(text).not.toContain('staging');
    } finally {
      await gateway.asSuperuser('grant execute on function audit.store_record to l9_agent');
      await replicated.caughtUp();
    }
  });

  it('finds what the caller has just written, also while the replica is paused', async () => {
    await replica.query('select pg_wal_replay_pause()');
    try {
      const client = await gateway.mcp('C');
      const saved = await client.callTool({
        name: 'save_memory',
        arguments: { content: 'The narwhal serves production', project_id: 'narwhal' },
      });
      const lsn = saved._meta!['l9-memory/lsn'] as string;
      expect(lsn).toMatch(/^[0-9A-F]+\/[0-9A-F]+$/);
      const grown = await counted(async () => {
        const { hits } = await gateway.call('C', 'search_memory', {
          query: 'narwhal',
          project_id: 'narwhal',
          mode: 'lexical',
        });
        expect(hits).toHaveLength(1);
      });
      expect(grown.behind).toBeGreaterThan(0);
      // L has not written it, so the replica answers; unless L says what it wants to find.
      const ask = async (headers: Record<string, string>) => {
        const response = await fetch(`${gateway.instance.url}/graphql`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            authorization: `Bearer ${await gateway.token({ caller: 'L' })}`,
            ...headers,
          },
          body: JSON.stringify({ query: COUNT, variables: { project: 'narwhal' } }),
        });
        // biome-ignore lint/suspicious/noExplicitAny: the answer is looked at in the next lines
        return ((await response.json()) as any).data.memories.totalCount;
      };
      expect(await ask({})).toBe(0);
      expect(await ask({ 'X-L9-Lsn': lsn })).toBe(1);
      // What it has seen it goes on seeing.
      expect(await ask({})).toBe(1);
      const written = await fetch(`${gateway.instance.url}/graphql`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${await gateway.token({ caller: 'L' })}`,
        },
        body: JSON.stringify({
          query: 'mutation { saveMemory(input: { content: "A beluga", scope: "global" }) { status } }',
        }),
      });
      // biome-ignore lint/suspicious/noExplicitAny: the answer is looked at in the next line
      expect(((await written.json()) as any).extensions.lsn).toBe(written.headers.get('X-L9-Lsn'));
      // Beyond the lag that is allowed it is not read at all.
      gateway.config.replicas.maxLagMs = 100;
      await replicated.used(false);
      expect((await (await fetch(`${gateway.instance.url}/ready`)).json()) as object).toMatchObject({
        status: 'degraded',
        replicas: '0 of 1',
      });
    } finally {
      await replica.query('select pg_wal_replay_resume()');
      gateway.config.replicas.maxLagMs = 600_000;
    }
    await replicated.used(true);
  });

  it('exports there, page by page, what was written before the export began', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'l9-export-'));
    const exported = async (name: string) => {
      const file = join(folder, name);
      const { code, err } = await runCommand(['export', file, '--url', gateway.instance.url], {
        home: gateway.home.home,
      });
      expect(code, err).toBe(0);
      // Jobs go on counting accesses.
      return readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('{"memory"'));
    };
    const audited = async () =>
      Number((await gateway.asSuperuser(`select count(*) from public.audit_log where operation = 'EXPORT'`))[0].count);
    try {
      await replica.query('select pg_wal_replay_pause()');
      let whole: string[];
      try {
        await gateway.save('C', 'The manatee serves the archive');
        whole = await exported('from-primary.jsonl');
      } finally {
        await replica.query('select pg_wal_replay_resume()');
      }
      expect(whole.join()).toContain('The manatee serves the archive');
      await gateway.embedded();
      await replicated.caughtUp();
      const before = await audited();
      const grown = await counted(async () => expect(await exported('from-replica.jsonl')).toStrictEqual(whole));
      expect(grown.answered).toBeGreaterThan(5);
      // The first request asks the primary, to which moment the export goes.
      expect(await audited()).toBe(before + 1 + grown.answered + grown.behind);
      expect(grown).toMatchObject({ refused: 0, failed: 0 });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('loses no answer when the replica is killed, and reads there again when it is back', async () => {
    await replicated.caughtUp();
    let isOver = false;
    const search = async () => {
      while (!isOver) {
        const { hits } = await gateway.call('L', 'search_memory', {
          query: 'walrus',
          project_id: 'l9',
          mode: 'lexical',
        });
        expect(hits).not.toHaveLength(0);
      }
    };
    const searching = Promise.all([search(), search()]);
    await replica.kill();
    await replicated.used(false);
    isOver = true;
    await searching;
    await gateway.call('L', 'search_memory', { query: 'walrus', project_id: 'l9', mode: 'lexical' });
    await replica.start();
    await replicated.used(true);
    await eventually(async () => {
      const grown = await counted(() =>
        gateway.call('L', 'search_memory', { query: 'walrus', project_id: 'l9', mode: 'lexical' }),
      );
      return grown.answered! > 0;
    });
  });
});

// kill -9 of the server: acknowledged saves are kept, and unfinished work is completed once.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { engine } from '../../../db/tests/support/engine.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { signToken } from '../../src/auth/jwt.ts';
import { createLogger } from '../../src/base/logger.ts';
import { loadConfig } from '../../src/config/config.ts';
import { openDatabase } from '../../src/database/index.ts';
import { loadCredentials } from '../../src/home/credentials.ts';
import { callTool, createProcessHome, kill, metric, type ProcessHome } from './processes.ts';

let home: ProcessHome;
beforeAll(async () => {
  home = await createProcessHome();
});
afterAll(() => home.close());

/** SQL as the jobs' role, on a database that no server has open. */
// biome-ignore lint/suspicious/noExplicitAny: rows differ by query
async function sql(query: string): Promise<any[]> {
  const database = await openDatabase(loadConfig(home.env), createLogger('silent'));
  try {
    return (await database.workerPool.query(query)).rows;
  } finally {
    await database.close();
  }
}

/** SQL as a superuser, on a database that no server has open. */
// biome-ignore lint/suspicious/noExplicitAny: rows differ by query
async function rootSql(query: string): Promise<any[]> {
  const database = await openDatabase(loadConfig(home.env), createLogger('silent'));
  const client = home.test.superuserUrl
    ? new pg.Client({ connectionString: home.test.superuserUrl })
    : await database.pool.connect();
  try {
    if (client instanceof pg.Client && home.test.superuserUrl) await client.connect();
    else await client.query('set session authorization postgres');
    return (await client.query(query)).rows;
  } finally {
    if (home.test.superuserUrl) await (client as pg.Client).end();
    else (client as pg.PoolClient).release();
    await database.close();
  }
}

const counts = `
  select
    (select count(*) from packet_store)::int as packets,
    (select count(distinct packet_id) from memory_embeddings where embedding_type = 'content' and chunk_index = 0)::int as embedded,
    (select count(*) from embeddings.pending_embeddings)::int as pending,
    (select count(*) from memory_embeddings)::int as vectors,
    (select count(*) from (
      select from memory_embeddings group by packet_id, embedding_type, model, chunk_index having count(*) > 1) as twice)::int as doubled`;

const drained = (url: string) => eventually(async () => (await metric(url, 'l9_embedding_backlog')) === 0);

/** On a server a claim outlives its process until its lease ends, some minutes later. */
async function endLeases() {
  if (engine === 'server') await sql('update embeddings.pending_embeddings set leased_until = now()');
}

/** How often it is killed: `CRASH_KILLS=25 npm test -- gateway/tests/home/crash` proves more. */
const KILLS = Number(process.env.CRASH_KILLS || 2);
const SAVERS = 24;
// One session and one place to wait, so that more savers wait than may, however fast the machine is.
const SHORT_QUEUE = { DATABASE_POOL_SIZE: '1', DATABASE_QUEUE_LENGTH: '1', DATABASE_QUEUE_TIMEOUT_MS: '2000' };
const SHED = /^(BUSY|RATE_LIMITED) \(/;
const WRITES_OF_C = 30;

/** A tool's result, asked for again while the gateway has no time. */
async function callToolUntilServed(...call: Parameters<typeof callTool>) {
  for (;;) {
    try {
      return await callTool(...call);
    } catch (error) {
      if (!SHED.test((error as Error).message)) throw error;
      await sleep(500);
    }
  }
}

/** The head of the audit chain, as an auditor keeps it elsewhere; null while the gateway has no time. */
async function auditHead(url: string): Promise<string | null> {
  const config = loadConfig(home.env);
  const token = await signToken(config, loadCredentials(config), { caller: 'L', expires: '5m' });
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ admin { auditHead { hash } } }' }),
  });
  const { data } = (await response.json()) as { data?: { admin: { auditHead: { hash: string } | null } } };
  return data?.admin.auditHead?.hash ?? null;
}

describe('a server after kill -9', () => {
  it('still has every acknowledged save, found and embedded, though it was refusing calls for lack of time', async () => {
    const acknowledged = new Map<string, string>();
    const shed = new Map<string, number>();
    await rootSql(`update public.actors set writes_per_minute = ${WRITES_OF_C} where caller = 'C'`);
    let head: string | null = null;
    for (let round = 1; round <= KILLS; round++) {
      const { pid, url, exit } = await home.serve([], SHORT_QUEUE);
      let isKilled = false;
      const savers = Array.from({ length: SAVERS }, async (_, saver) => {
        const key = home.key(saver % 3 === 0 ? 'L' : 'C');
        for (let n = 0; !isKilled; n++) {
          const content = `Crash round ${round}: word${round}x${saver}x${n} was acknowledged by the server.`;
          try {
            const { memory } = await callTool(url, key, 'save_memory', { content, project_id: 'crash' });
            acknowledged.set(memory.packet_id, `word${round}x${saver}x${n}`);
          } catch (error) {
            if (isKilled) return;
            const { message } = error as Error;
            expect(message, 'a save failed before the kill').toMatch(SHED);
            const [, code] = SHED.exec(message)!;
            shed.set(code!, (shed.get(code!) ?? 0) + 1);
            await sleep(20);
          }
        }
      });
      // Where the test fails meanwhile, that is what it says.
      for (const saver of savers) saver.catch(() => {});
      const before = acknowledged.size;
      await eventually(() => acknowledged.size >= before + 20);
      head = (await auditHead(url)) ?? head;
      await eventually(() => acknowledged.size >= before + 40);
      isKilled = true;
      kill(pid);
      await Promise.all([exit, ...savers]);
      await endLeases();
    }
    expect([...shed.keys()].sort(), 'calls were refused meanwhile').toStrictEqual(['BUSY', 'RATE_LIMITED']);

    await rootSql("update public.actors set writes_per_minute = default where caller = 'C'");
    const server = await home.serve();
    const key = home.key('C');
    for (const [packet_id, word] of acknowledged) {
      const { hits } = await callToolUntilServed(server.url, key, 'search_memory', {
        query: word,
        mode: 'lexical',
        k: 1,
      });
      expect(hits[0]?.packet_id, `${word} is found`).toBe(packet_id);
    }
    await drained(server.url);
    server.process.kill('SIGTERM');
    expect(await server.exit).toBe(0);

    const [now] = await sql(counts);
    expect(now.packets).toBeGreaterThanOrEqual(acknowledged.size);
    expect([now.embedded, now.pending, now.doubled]).toStrictEqual([now.packets, 0, 0]);

    // Every acknowledged save is audited, and neither row exists without the other.
    const onRecord = await rootSql(
      "select row_id from public.audit_log where operation = 'INSERT' and status = 'success' and table_name = 'packet_store'",
    );
    const recorded = new Set(onRecord.map(({ row_id }) => row_id));
    expect(onRecord).toHaveLength(recorded.size);
    expect([...acknowledged.keys()].filter((id) => !recorded.has(id))).toStrictEqual([]);
    const stored = await rootSql('select packet_id from public.packet_store');
    expect(stored.map(({ packet_id }) => packet_id).sort()).toStrictEqual([...recorded].sort());
    const [verified] = await rootSql(`select v.* from public.verify_audit(${head ? `head => '${head}'` : ''}) v`);
    expect(verified.ok, verified.reason).toBe(true);
    expect(Number(verified.rows), 'and it was sealed meanwhile').toBeGreaterThan(0);
  });

  it('embeds each memory of an interrupted backlog once', async () => {
    const [lasting] = await sql(counts);
    const first = await home.serve();
    const key = home.key('C');
    const sentence = 'A long memory is cut into chunks, each with a vector of its own, which takes the model a while. ';
    await Promise.all(
      Array.from({ length: 16 }, (_, n) =>
        callToolUntilServed(first.url, key, 'save_memory', {
          content: `Number ${n}. ${sentence.repeat(15)}`,
          project_id: 'backlog',
        }),
      ),
    );
    await eventually(async () => (await metric(first.url, 'l9_embedded_memories_total')) >= 3);
    kill(first.pid);
    await first.exit;

    const [before] = await sql(counts);
    expect(before.pending, 'the backlog was not done').toBeGreaterThan(0);
    expect(before.vectors, 'but begun').toBeGreaterThan(lasting.vectors);
    expect([before.embedded + before.pending, before.doubled]).toStrictEqual([before.packets, 0]);

    await endLeases();
    const second = await home.serve();
    await drained(second.url);
    const embeddedAfterwards = await metric(second.url, 'l9_embedded_memories_total');
    second.process.kill('SIGTERM');
    expect(await second.exit).toBe(0);
    const [now] = await sql(counts);
    expect([now.embedded, now.pending, now.doubled]).toStrictEqual([now.packets, 0, 0]);
    expect(embeddedAfterwards, 'what had been embedded was not embedded again').toBe(before.pending);
  });
});

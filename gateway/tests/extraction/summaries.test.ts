// Summaries by a chat model: of the enabled scopes, and visible only to callers who can read all sources.
import { pino } from 'pino';
import { save } from '../../../db/tests/importance/support.ts';
import { openaiChat } from '../../src/extraction/chat.ts';
import { writeSummaries } from '../../src/extraction/write-summaries.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';
import { type ChatServer, startChatServer } from './chat-server.ts';

const logger = pino({ level: 'silent' });
const SUMMARY = {
  summary: 'All is well.',
  key_facts: ['a fact'],
  key_entities: ['Ship'],
  key_decisions: [],
  confidence: 0.7,
};

describe('summaries by a chat model', () => {
  let gateway: TestGateway;
  let server: ChatServer;
  beforeAll(async () => {
    server = await startChatServer();
    gateway = await startTestGateway({ embedder: standIn });
    for (const scope of ['developer', 'l-private']) {
      for (let at = 0; at < 6; at++) {
        await save(gateway, 'L', `step ${at} in ${scope}`, { scope, correlation_id: `T-${scope}` });
      }
    }
  });
  afterAll(async () => {
    await gateway.close();
    await server.close();
  });

  const run = () => {
    const chat = openaiChat({ model: 'a-model', baseUrl: server.baseUrl, apiKey: 'k', timeoutMs: 30_000 }, logger);
    const pool = gateway.instance.database.workerPool;
    return writeSummaries({ pool, chat, logger, leaseMs: 60_000 }, new AbortController().signal);
  };
  const settings = (args: string) => gateway.sql('L', `select public.set_extraction_settings(${args})`);
  const summaries = (caller: string) =>
    gateway.sql(
      caller,
      'select scope_type, scope_value, scope, packet_count, creator from public.memory_summaries order by 3',
    );

  it('writes no summary unless the tenant enabled it', async () => {
    await run();
    await settings("is_enabled => true, kinds => '{note}'");
    await run();
    expect(server.asked).toHaveLength(0);
  });

  it('retries later after an invalid answer', async () => {
    await settings('writes_summaries => true');
    server.answer = () => ({ says: 'no JSON' });
    await run();
    expect(server.asked).toHaveLength(1);
    await run();
    expect(server.asked).toHaveLength(1);
    expect(await summaries('L')).toStrictEqual([]);
    await gateway.asSuperuser('update extraction.summary_leases set next_attempt_at = now()');
  });

  it('discards a summary if a source changed meanwhile', async () => {
    const [{ packet_id: id }] = await gateway.asSuperuser(
      "select packet_id from public.packet_store where content = 'step 3 in developer'",
    );
    let change: Promise<unknown> | undefined;
    server.asked.length = 0;
    server.answer = () => {
      change ??= gateway.sql('L', "select public.update_memory($1, content => 'step 3, another')", [id]);
      return { says: SUMMARY, afterMs: 500 };
    };
    await run();
    await change;
    // Asked once for the old text, and then for the new one.
    expect(server.asked.map(({ data }) => (data.memories as { text: string }[])[3]!.text)).toStrictEqual([
      'step 3 in developer',
      'step 3, another',
    ]);
  });

  it('keeps a summary visible to readers of all its sources, and stores no other fields', async () => {
    const written = {
      scope_type: 'task',
      scope_value: 'T-developer',
      scope: 'developer',
      packet_count: 6,
      creator: 'job',
    };
    expect(await summaries('C')).toStrictEqual([written]);
    expect(await summaries('L'), 'the private scope was not named').toStrictEqual([written]);
    const [row] = await gateway.sql(
      'C',
      "select public.memory_summaries_summary_text(s) as text, s.key_entities, p.metadata ->> 'model' as model from public.memory_summaries s join public.packet_store p on p.packet_id = s.source_packet",
    );
    expect(row).toStrictEqual({ text: 'All is well.', key_entities: ['Ship'], model: 'a-model' });

    server.asked.length = 0;
    server.answer = () => ({
      says: {
        ...SUMMARY,
        scope: 'global',
        source_packet_ids: [],
        key_facts: Array(300).fill('x'.repeat(1_000)),
        confidence: 9,
      },
    });
    await settings("scopes => '{developer,l-private}'");
    await run();
    expect(server.asked).toHaveLength(1);
    expect(server.asked[0]!.body.messages[1]!.content).toContain('in l-private');
    expect(await summaries('C')).toStrictEqual([written]);
    expect((await summaries('L'))[1]).toStrictEqual({ ...written, scope_value: 'T-l-private', scope: 'l-private' });
    const [{ key_facts: facts, confidence }] = await gateway.sql(
      'L',
      "select key_facts, confidence from public.memory_summaries where scope = 'l-private'",
    );
    expect([facts.length, facts[0].length, confidence]).toStrictEqual([20, 200, 1]);
    const tasks = await gateway.sql(
      'C',
      "select status, result from public.tasks where type = 'summarize' order by created_at",
    );
    expect(tasks.map(({ status }) => status)).toStrictEqual(['failed', 'completed', 'completed']);
  });
});

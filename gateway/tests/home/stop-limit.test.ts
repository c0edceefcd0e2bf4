// A server that is told to stop ends within eight seconds, whatever it does, and what its jobs have leased is free again. The providers
// are servers that never answer, so that each job would go on for as long as they are waited for.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { itOnEmbedded, itOnServer } from '../../../db/tests/support/on-engine.ts';
import { type BlobServer, startBlobServer } from '../archive/blob-server.ts';
import { type Asked, type Provider, startProvider, vectors } from '../embeddings/provider.ts';
import { type ChatServer, startChatServer } from '../extraction/chat-server.ts';
import { callTool, cli, createProcessHome, main, type ProcessHome, type Running } from './processes.ts';

const FOREVER_MS = '600000';
// The limit, and some seconds for a machine on which other tests run.
const LIMIT_MS = 8_000 + 5_000;
const DIMENSIONS = 12;

let home: ProcessHome;
let provider: Provider;
let chat: ChatServer;
let blobs: BlobServer;
beforeAll(async () => {
  provider = await startProvider(DIMENSIONS);
  chat = await startChatServer();
  blobs = await startBlobServer();
});
afterAll(async () => {
  await provider.close();
  await chat.close();
  await blobs.close();
});
beforeEach(async () => {
  home = await createProcessHome();
  provider.script.length = 0;
  provider.asked.length = 0;
  chat.asked.length = 0;
  blobs.behaviour = 'honest';
});
afterEach(() => home.close());

const silentProvider = () => ({
  OPENAI_BASE_URL: provider.baseUrl,
  EMBEDDING_MODEL: 'a-model',
  EMBEDDING_DIMENSIONS: String(DIMENSIONS),
  EMBEDDING_TIMEOUT_MS: FOREVER_MS,
});
const silentChat = () => ({ CHAT_MODEL: 'a-model', CHAT_BASE_URL: chat.baseUrl, CHAT_TIMEOUT_MS: FOREVER_MS });
const hangs = () => provider.script.splice(0, provider.script.length, { hang: 'all' });

const save = (url: string, content: string, args: object = {}) =>
  callTool(url, home.key('C'), 'save_memory', { content, project_id: 'l9', ...args });

async function graphql(url: string, query: string) {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${home.key('L')}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  const { errors } = (await response.json()) as { errors?: unknown };
  expect(errors).toBeUndefined();
}

/** Sends the signal, and looks how long the process lives on. */
async function stop(server: Running, signal: NodeJS.Signals = 'SIGTERM', code = 0) {
  const start = performance.now();
  server.process.kill(signal);
  expect(await server.exit).toBe(code);
  expect(performance.now() - start).toBeLessThan(LIMIT_MS);
}

/** Nothing was abandoned. On a server the database can also be asked after the stop. */
async function gaveBack(server: Running, leases: string) {
  expect(server.stdout).not.toContain('without waiting for the work under way');
  if (!home.test.superuserUrl) return;
  const client = new pg.Client({ connectionString: home.test.superuserUrl });
  await client.connect();
  try {
    const { rows } = await client.query(
      `select count(*) filter (where leased_until > now())::int as n, count(*)::int as waiting from ${leases}`,
    );
    expect(rows).toStrictEqual([{ n: 0, waiting: expect.any(Number) }]);
    expect(rows[0].waiting).toBeGreaterThan(0);
  } finally {
    await client.end();
  }
}

// On a server the leases that a job leaves can be looked at afterwards.
describe('a stop', () => {
  // On the embedded engine the next test sends the other signal.
  it.each(
    serverUrl ? (['SIGTERM', 'SIGINT'] as const) : (['SIGTERM'] as const),
  )('ends within its limit while a memory is embedded by a provider that does not answer (%s)', async (signal) => {
    const server = await home.serve([], silentProvider());
    hangs();
    await save(server.url, 'A short memory.');
    await eventually(() => provider.asked.length > 0);
    await stop(server, signal);
    await gaveBack(server, 'embeddings.pending_embeddings');
  });

  itOnEmbedded('ends within its limit while a long memory is embedded by the model on this machine', async () => {
    const server = await home.serve();
    await save(
      server.url,
      'The lighthouse keeper wrote down the weather of the day, and the names of the ships. '.repeat(4_000),
    );
    await sleep(2_000);
    await stop(server, 'SIGINT');
    await gaveBack(server, 'embeddings.pending_embeddings');
  });

  itOnServer('ends within its limit while memories are embedded again, by a server and by the command', async () => {
    const env = silentProvider();
    const server = await home.serve([], env);
    await save(server.url, 'A memory with a vector.');
    const isAgain = ({ body }: Asked) => body.model === 'another-model' && !body.input.includes('ready?');
    provider.script.push((asked) => (isAgain(asked) ? { hang: 'all' } : vectors(asked, DIMENSIONS)));
    const reembed = home.run([cli, 'reembed', '--model', 'another-model'], env);
    await eventually(() => provider.asked.some(isAgain));
    await stop(reembed, 'SIGINT', 1);
    expect(reembed.stderr).toContain('stopped');
    await stop(server);
    await gaveBack(server, 'embeddings.pending_embeddings');
  });

  itOnServer('ends within its limit while facts are extracted', async () => {
    const server = await home.serve([], silentChat());
    chat.answer = () => ({ hang: true });
    await graphql(
      server.url,
      'mutation { admin { setExtractionSettings(isEnabled: true, kinds: ["note"]) { isEnabled } } }',
    );
    await save(server.url, 'The lighthouse at Roca uses a lamp of 1887.');
    await eventually(() => chat.asked.length > 0);
    await stop(server);
    await gaveBack(server, 'extraction.pending_extractions');
  });

  itOnServer('ends within its limit while a summary is written', async () => {
    const first = await home.serve([], silentChat());
    chat.answer = () => ({ hang: true });
    await graphql(
      first.url,
      'mutation { admin { setExtractionSettings(isEnabled: true, kinds: ["note"], writesSummaries: true) { isEnabled } } }',
    );
    for (let step = 0; step < 6; step++) {
      await callTool(first.url, home.key('C'), 'save_memory', {
        content: `Step ${step} of the move.`,
        project_id: 'l9',
        correlation_id: 'the-move',
      });
    }
    await stop(first);
    // The check for due summaries comes with the start.
    const server = await home.serve([], silentChat());
    const nameOf = ({ body }: (typeof chat.asked)[number]) => body.response_format.json_schema.name;
    await eventually(() => chat.asked.some((asked) => nameOf(asked).includes('summary')));
    await stop(server);
    expect(server.stdout).not.toContain('without waiting for the work under way');
  });

  itOnServer(
    'ends within its limit while a session is archived in a store that does not answer, or waits for its summary',
    async () => {
      blobs.behaviour = 'silent';
      const env = {
        ...silentChat(),
        ARCHIVE_STORE: `http:${blobs.url}`,
        ARCHIVE_HTTP_TOKEN: blobs.token,
        ARCHIVE_TIMEOUT_MS: FOREVER_MS,
      };
      const server = await home.serve([], env);
      const session = { session_id: 's1', summary: 'Moved.', messages: [{ role: 'user', text: 'Move it.' }] };
      const archived = callTool(server.url, home.key('C'), 'store_session_to_cascade', { session, project_id: 'l9' });
      await Promise.race([eventually(() => blobs.unanswered > 0), archived]);
      await stop(server);
      await expect(archived).rejects.toThrow();
    },
  );

  itOnEmbedded('ends within its limit while a large document is cut into sections', async () => {
    const server = await home.serve([], silentProvider());
    const section = (place: number) => `## Part ${place}\n\n${`The keeper of lamp ${place} writes. `.repeat(40)}\n\n`;
    const body_md = Array.from({ length: 2_500 }, (_, place) => section(place)).join('');
    const item = { kind: 'document', project_id: 'l9', data: { title: 'The lamps', path: 'lamps.md', body_md } };
    const stored = callTool(server.url, home.key('C'), 'memory_store', { items: [item] }).then(
      () => {},
      () => {},
    );
    await sleep(1_500);
    await stop(server);
    await stored;
  });

  itOnEmbedded('ends within its limit when the last editor has left', async () => {
    const server = await home.serve(['--on-demand'], silentProvider());
    hangs();
    const attached = await fetch(`${server.url}/attach`, { headers: { authorization: `Bearer ${home.key('C')}` } });
    await save(server.url, 'A short memory.');
    await eventually(() => provider.asked.length > 0);
    await attached.body!.cancel();
    const start = performance.now();
    expect(await server.exit).toBe(0);
    // It first waits a while for another editor.
    expect(performance.now() - start).toBeLessThan(5_000 + LIMIT_MS);
    await gaveBack(server, 'embeddings.pending_embeddings');
  });

  itOnEmbedded('ends within its limit while the server starts', async () => {
    const server = home.run([main]);
    await sleep(700);
    const start = performance.now();
    server.process.kill('SIGTERM');
    await server.exit;
    expect(performance.now() - start).toBeLessThan(LIMIT_MS);
  });
});

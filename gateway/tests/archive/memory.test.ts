// How much memory a large session costs the gateway: the most that it ever had beyond what it had before the call.
import { readFileSync, writeFileSync } from 'node:fs';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { signToken } from '../../src/auth/jwt.ts';
import { loadConfig } from '../../src/config/config.ts';
import { loadCredentials } from '../../src/home/credentials.ts';
import { type Provider, startProvider } from '../embeddings/provider.ts';
import { callTool, createProcessHome, type ProcessHome, type Running } from '../home/processes.ts';

const SESSION_BYTES = 20_000_000;
const MAX_RISE_BYTES = 200_000_000;
const DIMENSIONS = 12;

const skip = !serverUrl
  ? 'the embedded engine has PostgreSQL in the same process, whose memory never shrinks'
  : process.platform !== 'linux'
    ? 'only Linux tells the peak of a process'
    : null;

/** A number of bytes in /proc/PID/status. */
function statusOf(pid: number, field: 'VmHWM' | 'VmRSS'): number {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line![1]) * 1024;
}

(skip ? describe.skip : describe)(`a session of 20 MB${skip ? ` (${skip})` : ''}`, () => {
  let home: ProcessHome;
  let provider: Provider;
  let server: Running & { url: string };
  beforeAll(async () => {
    home = await createProcessHome();
    // The bundled model takes and returns memory of its own in the same process.
    provider = await startProvider(DIMENSIONS);
    const keys = `k1:${Buffer.alloc(32, 3).toString('base64')}`;
    // Memory that is given back in an idle moment would make room in the middle of a measurement.
    server = await home.serve([], {
      ARCHIVE_KEY: keys,
      IDLE_SECONDS: '0',
      OPENAI_BASE_URL: provider.baseUrl,
      EMBEDDING_MODEL: 'some-model',
      EMBEDDING_DIMENSIONS: String(DIMENSIONS),
    });
    await graphql('L', 'mutation { admin { setArchiveSettings(archiveFields: ["messages"]) { archiveFields } } }');
  });
  afterAll(async () => {
    await home.close();
    await provider.close();
  });

  /** By how many bytes the process grew at most during a call. */
  async function riseOf<T>(call: () => Promise<T>): Promise<{ rise: number; answer: T }> {
    writeFileSync(`/proc/${server.pid}/clear_refs`, '5');
    const before = statusOf(server.pid, 'VmRSS');
    const answer = await call();
    return { answer, rise: statusOf(server.pid, 'VmHWM') - before };
  }

  async function graphql(caller: string, query: string, variables: object = {}) {
    const config = loadConfig(home.env);
    const token = await signToken(config, loadCredentials(config), { caller, expires: '10m' });
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: answers differ by query
    const { data, errors } = (await response.json()) as any;
    if (errors) throw new Error(errors[0].message);
    return data;
  }

  const call = (name: string, args: object) => callTool(server.url, home.key('C'), name, args);
  // A letter of more than one byte makes V8 keep two bytes for each character of a text.
  const sessionOf = (name: string, line: string, bytes: number) => ({
    session_id: name,
    summary: `Looked at ${name}`,
    messages: Array.from({ length: Math.ceil(bytes / 100_000) }, (_, n) => ({
      role: n % 2 === 0 ? 'user' : 'assistant',
      text: `${n} Ł ${line.repeat(Math.ceil(Math.min(bytes, 100_000) / line.length))}`,
    })),
  });

  const overMcp = {
    store: (session: object) => call('store_session_to_cascade', { project_id: 'app', session }),
    open: async (pointer: string) =>
      (await call('retrieve_session_from_cascade', { pointer })).session_data as { messages: unknown },
  };
  const overGraphql = {
    store: async (session: object) => {
      const input = { projectId: 'app', session };
      const mutation = `mutation ($input: StoreSessionToCascadeInput!) {
        storeSessionToCascade(input: $input) { status pointer findings { pattern } }
      }`;
      return (await graphql('C', mutation, { input })).storeSessionToCascade;
    },
    open: async (pointer: string) => {
      const query = 'query ($pointer: String!) { retrieveSessionFromCascade(pointer: $pointer) { sessionData } }';
      return (await graphql('C', query, { pointer })).retrieveSessionFromCascade.sessionData as { messages: unknown };
    },
  };

  it.each([
    ['MCP', 'first', 'The tests went through this time, and nobody knows why. ', overMcp],
    ['GraphQL', 'second', 'They failed again after lunch, which is no surprise. ', overGraphql],
    ['MCP, once more', 'third', 'Everybody went home, and the build was left as it was. ', overMcp],
  ])('costs less than 200 MB over %s, when it is stored and when it is opened', async (_, name, line, api) => {
    // What a first call loads is not the session's.
    const { pointer } = await api.store(sessionOf(`small ${name}`, line, 1_000));
    await api.open(pointer);

    const session = sessionOf(name, line, SESSION_BYTES);
    const { answer: stored, rise: ofStore } = await riseOf(() => api.store(session));
    expect(stored).toMatchObject({ status: 'inserted', findings: null });
    const { answer: opened, rise: ofOpen } = await riseOf(() => api.open(stored.pointer));
    expect(opened.messages).toStrictEqual(session.messages);
    expect(ofStore).toBeLessThan(MAX_RISE_BYTES);
    expect(ofOpen).toBeLessThan(MAX_RISE_BYTES);
  });
});

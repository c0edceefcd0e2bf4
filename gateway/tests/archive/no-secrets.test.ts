// A session with a secret is refused, wherever the secret stands, and no byte of it stays anywhere.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { type Planted, plantSecrets } from '../../../bench/eval/secrets/planted.ts';
import { PERSONAL, SECRETS } from '../../../db/tests/secrets/support.ts';
import { grepDatabase } from '../../../db/tests/support/dump.ts';
import { engine } from '../../../db/tests/support/engine.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

/** One of each provider. */
const planted = [...new Map(plantSecrets(7).map((one): [string, Planted] => [one.provider, one])).values()];

/** An example of every built-in pattern. A long token is one too, whatever it is for. */
const examples = { ...SECRETS, ...PERSONAL };

/** The longest run of its characters: what would betray it. */
const traceOf = (text: string) =>
  (text.match(/[A-Za-z0-9+/=_.-]{12,}/g) ?? [text]).reduce((longest, run) =>
    run.length > longest.length ? run : longest,
  );

const call = (fields: object) => ({
  messages: [
    { role: 'user', text: 'hello' },
    { role: 'assistant', text: '', tool_calls: [{ name: 'Bash', input: null, ...fields }] },
  ],
});

/** A session with a text in one of its fields: every one that is stored. */
const places: Record<string, (text: string) => object> = {
  session_id: (text) => ({ session_id: text }),
  tool_name: (text) => ({ tool_name: text }),
  summary: (text) => ({ summary: text }),
  tags: (text) => ({ tags: ['plain', text] }),
  role: (text) => ({ messages: [{ role: text, text: 'hello' }] }),
  message: (text) => ({ messages: [{ role: 'user', text }] }),
  'name of a tool': (text) => call({ name: text }),
  input: (text) => call({ input: { command: text } }),
  'input, five levels deep': (text) => call({ input: { a: [{ b: { c: [text] } }] } }),
  'key in the input, five levels deep': (text) => call({ input: { a: [{ b: { c: { [text]: 1 } } }] } }),
  output: (text) => call({ output: text }),
  success: (text) => call({ success: text }),
};

/** Every pattern is tried in these: in a text, and deep in a document. */
const PLACES_OF_ALL = ['message', 'input, five levels deep'];
const SHARE = 4;

/**
 * Every fourth example in each of the other places, in turn. All places are searched by one function with one list of patterns, so
 * that every place and every pattern has to be tried, but not each of them with each other.
 */
const examplesFor = (place: string): [string, string][] => {
  const turn = Object.keys(places).indexOf(place);
  return Object.entries(examples).filter((_, n) => PLACES_OF_ALL.includes(place) || n % SHARE === turn % SHARE);
};

/** Fields of few bytes, which refuse a longer text as too long. */
const MAX_BYTES: Record<string, number> = { session_id: 200, tool_name: 100, tags: 200 };

describe('a session with a secret', () => {
  let gateway: TestGateway;
  let log = '';
  /** All texts that were refused, for one look through everything at the end. */
  const refused = new Set<string>();
  beforeAll(async () => {
    const sink = {
      write(line: string) {
        log += line;
      },
    };
    const logger = pino({ level: 'trace' }, sink);
    gateway = await startTestGateway({
      logger,
      env: { ARCHIVE_KEY: `first:${Buffer.alloc(32, 7).toString('base64')}` },
    });
    await gateway.query(
      'L',
      'mutation { admin { setArchiveSettings(archiveFields: ["messages", "tool_calls"]) { archiveFields } } }',
    );
  });
  afterAll(() => gateway.close());

  const store = (fields: object) =>
    gateway.tool('C', 'store_session_to_cascade', { project_id: 'app', session: { session_id: 's-1', ...fields } });

  /** On the embedded engine the data folder is looked through instead. */
  async function inDatabase(secrets: string[]) {
    if (!gateway.home.superuserUrl) return {};
    const client = new pg.Client(gateway.home.superuserUrl);
    await client.connect();
    try {
      return await grepDatabase(client, secrets);
    } finally {
      await client.end();
    }
  }

  /** That nothing of these texts is in the database, the log and the data folder. */
  async function expectNoTraceOf(texts: readonly string[]) {
    const traces = texts.map(traceOf);
    expect(await inDatabase(traces)).toStrictEqual({});
    expect(traces.filter((trace) => log.includes(trace))).toStrictEqual([]);
    for (const entry of readdirSync(gateway.home.home, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const bytes = readFileSync(join(entry.parentPath, entry.name));
      expect(
        traces.filter((trace) => bytes.includes(trace)),
        entry.name,
      ).toStrictEqual([]);
    }
    expect(await gateway.sql('L', 'select archive_id from public.session_archives')).toStrictEqual([]);
  }

  it.each(Object.keys(places))('is refused in %s, for each pattern by its name', async (place) => {
    const notRefused: string[] = [];
    for (const [pattern, text] of examplesFor(place)) {
      refused.add(text);
      const { isError, text: said, result } = await store(places[place]!(text));
      const isRefused =
        Buffer.byteLength(text) > (MAX_BYTES[place] ?? Number.POSITIVE_INFINITY)
          ? isError && said.includes(`at most ${MAX_BYTES[place]}`) && !said.includes(traceOf(text))
          : result?.status === 'refused' &&
            result.findings.some((found: { pattern: string }) => found.pattern === pattern);
      if (!isRefused) notRefused.push(`${pattern}: ${said}`);
    }
    expect(notRefused).toStrictEqual([]);
  });

  it.each(['project_id', 'tags'])('is refused in the argument %s, too', async (argument) => {
    // Personal data may stand in the name of a project.
    const given = Object.entries(argument === 'tags' ? examples : SECRETS).filter((_, n) => n % SHARE === 0);
    const notRefused: string[] = [];
    for (const [pattern, text] of given) {
      refused.add(text);
      const {
        isError,
        text: said,
        result,
      } = await gateway.tool('C', 'store_session_to_cascade', {
        project_id: 'app',
        session: { session_id: 's-1' },
        [argument]: argument === 'tags' ? ['plain', text] : text,
      });
      if (!isError && result?.status !== 'refused') notRefused.push(`${pattern}: ${said}`);
      expect(said).not.toContain(traceOf(text));
    }
    expect(notRefused).toStrictEqual([]);
  });

  it('is refused for the tokens of all providers, in the surroundings in which people meet them', async () => {
    expect(planted.length).toBeGreaterThan(20);
    const stored: string[] = [];
    // The patterns are the same on both engines: in WebAssembly, where a search takes several times as long, every fourth one.
    const tried = planted.filter((_, n) => engine === 'server' || n % SHARE === 0);
    for (const { provider, text } of tried) {
      refused.add(text);
      const { result } = await store(places.message!(text));
      if (result?.status !== 'refused') stored.push(provider);
    }
    expect(stored).toStrictEqual([]);
  });

  it('has left nothing of any of them in the database, the logs and the data folder', async () => {
    expect(refused.size).toBeGreaterThan(0);
    await expectNoTraceOf([...refused]);
  });
});

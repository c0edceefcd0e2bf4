// A session with a secret is refused, wherever the secret stands, and no byte of it stays anywhere.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { type Planted, plantSecrets } from '../../../bench/eval/secrets/planted.ts';
import { grepDatabase } from '../../../db/tests/support/dump.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

/** One of each provider. */
const planted = [...new Map(plantSecrets(7).map((one): [string, Planted] => [one.provider, one])).values()];

/** The longest run of its characters: what would betray it. */
const secretIn = ({ text }: Planted) =>
  (text.match(/[A-Za-z0-9+/=_.-]{12,}/g) ?? []).reduce(
    (longest, run) => (run.length > longest.length ? run : longest),
    '',
  );

/** A session with a text in one of its fields, the last five levels deep. */
const places: Record<string, (text: string) => object> = {
  summary: (text) => ({ summary: text }),
  tags: (text) => ({ tags: ['plain', text.slice(0, 200)] }),
  message: (text) => ({
    messages: [
      { role: 'user', text: 'hello' },
      { role: 'assistant', text },
    ],
  }),
  output: (text) => ({
    messages: [{ role: 'assistant', text: '', tool_calls: [{ name: 'Bash', input: null, output: text }] }],
  }),
  'tool input': (text) => ({
    messages: [{ role: 'assistant', text: '', tool_calls: [{ name: 'Bash', input: { a: [{ b: { c: [text] } }] } }] }],
  }),
};

describe('a session with a secret', () => {
  let gateway: TestGateway;
  let log = '';
  beforeAll(async () => {
    const sink = {
      write(line: string) {
        log += line;
      },
    };
    const logger = pino({ level: 'trace' }, sink);
    gateway = await startTestGateway({
      logger,
      env: { ARCHIVE_KEYS: `first:${Buffer.alloc(32, 7).toString('base64')}` },
    });
    await gateway.query(
      'L',
      'mutation { setArchiveSettings(input: { archiveFields: ["messages", "tool_calls"] }) { clientMutationId } }',
    );
  });
  afterAll(() => gateway.close());

  const store = (fields: object) =>
    gateway.call('C', 'store_session_to_cascade', { project_id: 'app', session: { session_id: 's-1', ...fields } });

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

  it('is refused in every field and five levels deep, and leaves nothing in the database, the logs and the data folder', async () => {
    expect(planted.length).toBeGreaterThan(20);
    const stored: string[] = [];
    for (const [index, { provider, text }] of planted.entries()) {
      const names = Object.keys(places);
      // Each secret in one of the fields, each field with several secrets.
      const name = names[index % names.length]!;
      const answer = await store(places[name]!(text));
      if (answer.status !== 'refused') stored.push(`${provider} in ${name}`);
    }
    expect(stored).toStrictEqual([]);
    const secrets = planted.map(secretIn).filter((secret) => secret !== '');
    expect(await inDatabase(secrets)).toStrictEqual({});
    expect(secrets.filter((secret) => log.includes(secret))).toStrictEqual([]);
    for (const entry of readdirSync(gateway.home.home, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const bytes = readFileSync(join(entry.parentPath, entry.name));
      expect(
        secrets.filter((secret) => bytes.includes(secret)),
        entry.name,
      ).toStrictEqual([]);
    }
    expect(await gateway.sql('L', 'select archive_id from public.session_archives')).toStrictEqual([]);
  });
});

// What names of writers cost: the answers of the tools that every agent has, with and without them, in bytes.
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const NOTES = [
  'Releases go out on Thursdays after the audit window, never on Fridays; the release captain posts in #releases before and after.',
  'The billing service retries a failed charge three times with exponential backoff, then parks it in the queue charges-parked for a person.',
  'parseConfig() in src/lib/config.ts reads .env first and the environment second, so a variable of the shell wins over the file.',
  'We chose PostgreSQL over DynamoDB for orders because reports join five tables; the cost review of March confirmed it.',
  'ERR_MODULE_NOT_FOUND in CI means that the lock file was written by another version of npm: run npm ci with Node 24.',
  'Feature flags are rows of the table flags, cached for 30 seconds; a kill switch therefore takes half a minute to reach every pod.',
  'The staging cluster lives in Frankfurt, production in Dublin, and backups are copied to Stockholm every six hours.',
  'Integration tests need Docker and take eleven minutes; run npm test -- unit while working, and the rest before pushing.',
  'Customers in Brazil pay by Pix, whose webhook arrives up to two minutes late: never mark an order unpaid before that.',
  'The search page sends a request per keystroke, debounced by 200 ms; without the debounce the rate limit of the API is hit at once.',
];
const LESSONS = [
  'Before a migration of the orders table, set lock_timeout, or a long report blocks the deployment and then everybody else.',
  'The flaky checkout test fails when the clock passes midnight UTC: freeze the time in the fixture instead of retrying it.',
  'Reading the whole log into memory killed the worker twice; stream it line by line, even if it looks small in staging.',
];
const QUESTIONS = [
  'when do releases go out?',
  'how are failed charges retried',
  'which database for orders and why',
  'where does staging run',
  'what breaks the search page',
];

const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** An answer as it would be if it named no writer. Hits of a search have always had their creator. */
function withoutWriters(name: string, { content, structuredContent }: Answer): Answer {
  const plain = structuredClone(structuredContent);
  const rows = [plain.hits, plain.lessons, plain.similar, plain.reflection].flat() as (Row | null | undefined)[];
  for (const row of rows) {
    delete row?.source;
    if (name !== 'search_memory') delete row?.creator;
  }
  const text = content[0]!.text.replaceAll(/ by (?:L-CTO|Cursor-IDE)(?=[\],]|$)/gm, '').replace(/^\[[^\]\n]*\]\n/m, '');
  return { content: [{ type: 'text', text }], structuredContent: plain };
}

type Row = Record<string, unknown>;

interface Answer {
  content: { type: string; text: string }[];
  structuredContent: Row;
}

describe('the size of answers', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  it('grows by at most 8 % for the names of writers, over the tools of the set core', async () => {
    const client = await gateway.mcp('C');
    const sizes = new Map<string, [before: number, after: number]>();
    const ask = async (name: string, args: Record<string, unknown>): Promise<Answer> => {
      const answer = (await client.callTool({ name, arguments: args })) as unknown as Answer & { isError?: boolean };
      expect(answer.isError, JSON.stringify(answer.content)).toBeFalsy();
      const [before, after] = sizes.get(name) ?? [0, 0];
      sizes.set(name, [before + bytes(withoutWriters(name, answer)), after + bytes(answer)]);
      return answer;
    };
    const ids: string[] = [];
    // One in two memories is of somebody else.
    for (const [place, content] of NOTES.entries()) {
      if (place % 2 === 0) ids.push(await gateway.save('L', content));
      else {
        const { structuredContent } = await ask('save_memory', { content, project_id: 'l9', tags: ['team'] });
        ids.push((structuredContent.memory as { packet_id: string }).packet_id);
      }
    }
    for (const [place, content] of LESSONS.entries()) {
      if (place % 2 === 0) await gateway.call('L', 'reflect', { content, project_id: 'l9' });
      else await ask('reflect', { content, project_id: 'l9' });
    }
    const data = { title: 'One queue for all jobs', status: 'accepted', rationale: 'Two queues starved each other.' };
    await ask('memory_store', { items: [{ kind: 'decision', project_id: 'l9', data }] });
    await gateway.embedded();
    for (const query of QUESTIONS) {
      await ask('search_memory', { query, project_id: 'l9', min_relevance: 0 });
      await ask('memory_find', { query, project_id: 'l9', mode: 'deep' });
      await ask('recall_lessons', { query, project_id: 'l9', min_relevance: 0 });
    }
    for (const packet_id of ids) await ask('get_memory', { packet_id });
    await ask('update_memory', { packet_id: ids[1], tags: ['team', 'ci'] });
    const [before, after] = [...sizes.values()].reduce(([b, a], [before, after]) => [b + before, a + after], [0, 0]);
    const growth = (after: number, before: number) => `${((100 * (after - before)) / before).toFixed(1)} %`;
    const report = [...sizes].map(([name, [before, after]]) => `${name} ${growth(after, before)}`).join(', ');
    expect(after / before, report).toBeLessThanOrEqual(1.08);
    expect(after, 'nothing is named').toBeGreaterThan(before);
  });
});

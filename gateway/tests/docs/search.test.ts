// docs/explanation/search.md, whose SQL is run as it is written, and whose figures are those of the schema.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'search.md'), 'utf8');
const blocks = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, body]) => body!);

describe('docs/explanation/search.md', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
    await gateway.save('C', 'Releases go out on Tuesdays.');
  });
  afterAll(() => gateway.close());

  /** The rows of each statement that has any. */
  const run = (block: string) =>
    gateway.inSuperuserSession(async (session) => {
      const answers: Record<string, unknown>[][] = [];
      for (const statement of block.split(/;\n/)) {
        if (!/\S/.test(statement)) continue;
        const { rows } = await session.query(statement);
        if (/^select/.test(statement) && !/act_as/.test(statement)) answers.push(rows);
      }
      return answers;
    });

  it('contains SQL that runs', async () => {
    expect(blocks).toHaveLength(6);
    const [hits, recent, past] = await run(blocks[0]!);
    expect(String(hits![0]!.snippet)).toMatch(/\*\*Releases\*\*/);
    expect(hits![0]!.found_by as string[]).toContain('lexical content');
    expect(recent![0]!.content).toBe('Releases go out on Tuesdays.');
    expect(String(Object.values(past![0]!)[0])).toMatch(/As of that time/);
    const [, indexed] = await run(blocks[1]!);
    expect(indexed).toStrictEqual([{ field: 'status', created_by: 'L' }]);
    const [saved, said] = await run(blocks[2]!);
    expect(saved!.map(({ status }) => status)).toStrictEqual(new Array(4).fill('inserted'));
    expect(said!.map(({ speaker }) => speaker)).toStrictEqual(['Ann', 'Ann']);
    const [settings] = await run(blocks[3]!);
    expect(settings![0]!.half_life_days).toStrictEqual({ default: 180, decision: 365 });
    const [previewed] = await run(blocks[4]!);
    expect(previewed![0]!.content).toBe('Releases go out on Tuesdays.');
    const [, german] = await run(blocks[5]!);
    expect(german![0]!.status).toBe('inserted');
  });

  it('states the bound of the defaults, which the table enforces', async () => {
    const [row] = await gateway.asSuperuser(
      `select (s).recency_boost + (s).importance_boost as both, (select pg_get_constraintdef(oid) from pg_constraint where conname = 'search_boosts_at_most_a_fifth') as bound
       from search.default_settings() s`,
    );
    expect(page).toMatch(new RegExp(`${Math.round(100 / (1 + row.both))} % by default`));
    expect(row.bound).toMatch(/0\.2/);
    expect(page).toMatch(new RegExp(`${Math.round(100 / 1.2)} %`));
  });
});

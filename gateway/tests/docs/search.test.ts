// docs/explanation/search.md, whose SQL is run as it is written, and whose figures are those of the schema.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../support/house.ts';
import { asSuperuser } from '../support/logins.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'search.md'), 'utf8');
const blocks = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, body]) => body!);

describe('docs/explanation/search.md', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
    await house.tool('C', 'save_memory', { content: 'Releases go out on Tuesdays.', project_id: 'l9' });
  });
  after(() => house.close());

  /** The rows of each statement that has any. */
  const run = (block: string) =>
    asSuperuser(house, async (session) => {
      const answers: Record<string, unknown>[][] = [];
      for (const statement of block.split(/;\n/)) {
        if (!/\S/.test(statement)) continue;
        const { rows } = await session.query(statement);
        if (/^select/.test(statement) && !/act_as/.test(statement)) answers.push(rows);
      }
      return answers;
    });

  it('has SQL that runs', async () => {
    assert.equal(blocks.length, 2);
    const [hits, recent, past] = await run(blocks[0]!);
    assert.match(String(hits![0]!.snippet), /\*\*Releases\*\*/);
    assert.ok((hits![0]!.found_by as string[]).includes('lexical content'));
    assert.equal(recent![0]!.content, 'Releases go out on Tuesdays.');
    assert.match(String(Object.values(past![0]!)[0]), /As of that time/);
    const [settings] = await run(blocks[1]!);
    assert.deepEqual(settings![0]!.half_life_days, { default: 180, decision: 365 });
  });

  it('states the bound that the defaults have, and that the table enforces', async () => {
    const [row] = await house.asSuperuser(
      `select (s).recency_boost + (s).importance_boost as both, (select pg_get_constraintdef(oid) from pg_constraint where conname = 'search_boosts_at_most_a_fifth') as bound
       from search.current_search_settings() s`,
    );
    assert.match(page, new RegExp(`${Math.round(100 / (1 + row.both))} % by default`));
    assert.match(row.bound, /0\.2/);
    assert.match(page, new RegExp(`${Math.round(100 / 1.2)} %`));
  });
});

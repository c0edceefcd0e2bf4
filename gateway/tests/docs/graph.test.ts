// docs/explanation/graph.md, whose SQL is run as it is written, and whose figures are those of the schema.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../support/house.ts';
import { asSuperuser } from '../support/logins.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'graph.md'), 'utf8');
const blocks = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, body]) => body!);

describe('docs/explanation/graph.md', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
  });
  after(() => house.close());

  it('has SQL that runs', async () => {
    assert.equal(blocks.length, 1);
    const answers = await asSuperuser(house, async (session) => {
      const found: Record<string, unknown>[][] = [];
      for (const statement of blocks[0]!.split(/;\n/)) {
        if (!/\S/.test(statement)) continue;
        const { rows } = await session.query(statement);
        if (/^select/.test(statement) && !/act_as/.test(statement)) found.push(rows);
      }
      return found;
    });
    const [first, second, alias, paths, hits] = answers;
    assert.deepEqual(first, [{ relationship_type: 'depends_on', confidence: 0.8 }]);
    assert.deepEqual(second, [{ relationship_type: 'runs_on', confidence: 0.6 }]);
    assert.deepEqual(alias, [{ alias: 'PG', entity: 'Postgres' }]);
    assert.deepEqual(paths, [
      { entity: 'Postgres', confidence: '0.80', depth: 1 },
      { entity: 'db-1', confidence: '0.48', depth: 2 },
    ]);
    assert.deepEqual(
      hits!.map(({ content }) => content),
      ['billing-api depends on Postgres', 'Postgres runs on db-1'],
    );
  });

  it('states the bounds that the functions have', async () => {
    const [{ edges }] = await house.asSuperuser('select graph.max_edges_per_name() as edges');
    assert.match(page, new RegExp(`at most ${edges.toLocaleString('en')} relations`));
    const [{ followed }] = await house.asSuperuser('select graph.max_edges_followed() as followed');
    assert.match(page, new RegExp(`${followed.toLocaleString('en')} in one call`));
    const [{ sure }] = await house.asSuperuser('select entities.noisy_or(array[0.8, 0.8]) as sure');
    assert.match(page, new RegExp(`Two mentions of 0\\.8 make ${sure}`));
  });
});

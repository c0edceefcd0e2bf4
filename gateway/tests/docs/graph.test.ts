// docs/explanation/graph.md, whose SQL is run as it is written, and whose figures are those of the schema.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'graph.md'), 'utf8');
const blocks = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, body]) => body!);

describe('docs/explanation/graph.md', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  it('contains SQL that runs', async () => {
    expect(blocks).toHaveLength(1);
    const answers = await gateway.inSuperuserSession(async (session) => {
      const found: Record<string, unknown>[][] = [];
      for (const statement of blocks[0]!.split(/;\n/)) {
        if (!/\S/.test(statement)) continue;
        const { rows } = await session.query(statement);
        if (/^select/.test(statement) && !/act_as/.test(statement)) found.push(rows);
      }
      return found;
    });
    const [first, second, alias, paths, hits] = answers;
    expect(first).toStrictEqual([{ relationship_type: 'depends_on', confidence: 0.8 }]);
    expect(second).toStrictEqual([{ relationship_type: 'runs_on', confidence: 0.6 }]);
    expect(alias).toStrictEqual([{ alias: 'PG', entity: 'Postgres' }]);
    expect(paths).toStrictEqual([
      { entity: 'Postgres', confidence: '0.80', depth: 1 },
      { entity: 'db-1', confidence: '0.48', depth: 2 },
    ]);
    expect(hits!.map(({ content }) => content)).toStrictEqual([
      'billing-api depends on Postgres',
      'Postgres runs on db-1',
    ]);
  });

  it('states the limits of the functions', async () => {
    const [{ edges }] = await gateway.asSuperuser('select graph.max_edges_per_name() as edges');
    expect(page).toMatch(new RegExp(`at most ${edges.toLocaleString('en')} relationships`));
    const [{ followed }] = await gateway.asSuperuser('select graph.max_edges_followed() as followed');
    expect(page).toMatch(new RegExp(`${followed.toLocaleString('en')} in one call`));
    const [{ sure }] = await gateway.asSuperuser('select entities.noisy_or(array[0.8, 0.8]) as sure');
    expect(page).toMatch(new RegExp(`two agents with 0\\.8 make ${sure}`));
  });
});

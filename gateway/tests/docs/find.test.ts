// docs/explanation/find.md, whose SQL is run as it is written, and whose formula is that of the schema.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'explanation', 'find.md'), 'utf8');
const blocks = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(([, body]) => body!);

describe('docs/explanation/find.md', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  const run = (block: string) =>
    gateway.inSuperuserSession(async (session) => {
      const answers: Record<string, unknown>[][] = [];
      for (const statement of block.split(/;\n/))
        if (/\S/.test(statement)) answers.push((await session.query(statement)).rows);
      return answers;
    });

  it('contains SQL that runs, and finds what it says', async () => {
    const [first, second] = blocks;
    const found = (await run(first!)).flat();
    expect(found).toContainEqual(
      expect.objectContaining({
        kind: 'decision',
        fields: expect.objectContaining({ status: 'accepted', component: 'billing' }),
        route_used: 'hybrid',
      }),
    );
    expect((await run(second!)).flat()).toContainEqual(expect.objectContaining({ todo: 14 }));
    expect(blocks).toHaveLength(2);
  });

  it('states the weights of the schema', async () => {
    const [{ s }] = await gateway.asSuperuser('select to_jsonb(find.default_settings()) as s');
    expect(page).toContain(
      `(${s.match_weight} × matches + ${s.recency_weight} × recency + ${s.proximity_weight} × proximity + ${s.citation_weight} × citations)`,
    );
  });
});

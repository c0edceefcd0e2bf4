// Documents by memory_store.
import { useTestDatabase } from '../support/test-database.ts';

describe('memory_store of documents', () => {
  const db = useTestDatabase({ rollsBack: true });

  it('stores the text of those that follow a refused one', async () => {
    const key = `ghp_${'x8Kq2mV9rT4wB7nZ1cF6'}${'hJ3dL5gP0sYaE2uQ'}`;
    const bodies = ['# One\n', `# Two\n\n${key}\n`, '# Three\n', '# Four\n'];
    const items = bodies.map((body_md, n) => ({
      kind: 'document',
      project_id: 'l9',
      data: { title: `Title ${n}`, source_url: `a/${n}.md`, body_md },
    }));
    const answers = await db.sql('C', 'select * from public.memory_store($1)', [JSON.stringify(items)]);
    expect(answers.map(({ status, sqlstate }) => status ?? sqlstate)).toStrictEqual([
      'inserted',
      'L9SEC',
      'inserted',
      'inserted',
    ]);
    for (const n of [0, 2, 3])
      expect(await db.sql('C', 'select body_md from public.get_document($1)', [answers[n]!.packet_id])).toStrictEqual([
        { body_md: bodies[n] },
      ]);
  });
});

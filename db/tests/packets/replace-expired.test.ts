import { callSaveMemory, expireMemories, storedMemories } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('an expired memory', () => {
  const db = useTestDatabase();
  const global = { scope: 'global', project_id: undefined };

  it('lets a save, an update and raw SQL take the content of an expired memory', async () => {
    const { memory: other } = await callSaveMemory(db, 'C', { ...global, content: 'another' });
    const ways: [string, (content: string) => Promise<unknown>][] = [
      ['save', (content) => db.sql('C', "select public.save_memory($1, scope => 'global')", [content])],
      ['update', (content) => db.sql('C', 'select public.update_memory($2, $1)', [content, other.packet_id])],
      [
        'insert',
        (content) =>
          db.sql(
            'C',
            "insert into public.packet_store (envelope, scope) values (jsonb_build_object('content', $1::text), 'global')",
            [content],
          ),
      ],
    ];
    for (const [way, say] of ways) {
      const content = `said before by ${way}`;
      const { memory } = await callSaveMemory(db, 'C', { ...global, content });
      await expireMemories(db, [memory.packet_id]);
      await say(content);
      expect(await storedMemories(db, [memory.packet_id]), way).toStrictEqual([]);
      const now = await db.sql('C', 'select packet_id from public.packet_store where content = $1', [content]);
      expect(now, way).toHaveLength(1);
    }
  });
});

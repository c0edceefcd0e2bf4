// What a save says to the writer of a conversation that is saved as notes.
import { named } from '../support/named.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('the notice of a save', () => {
  const db = useTestDatabase({ rollsBack: true });

  const save = async (given: Record<string, unknown>) => {
    const args = { project_id: 'l9', ...given };
    const query = `select s.status, s.notice, (s.memory).packet_type as kind from public.save_memory(${named(args)}) s`;
    const [row] = await db.sql('C', query, Object.values(args));
    return row;
  };
  const store = async (items: object[]) =>
    db.sql('C', 'select s.* from public.memory_store($1) s', [JSON.stringify(items)]);

  it('tells how a note of a thread is saved that begins with a name or names its speaker', async () => {
    const turns = [
      { content: 'Ann: The import is done.' },
      { content: 'Dr. Julie de Vries: Thanks!' },
      { content: 'user: where do the logs go?' },
      { content: '李明：早上好' },
      { content: 'The export is done, too.', speaker: 'Ann' },
      { content: 'The export is late.', metadata: { speaker: 'Ben' } },
    ];
    for (const turn of turns) {
      const { status, notice, kind } = await save({ ...turn, thread_id: 'standup' });
      expect([status, kind], turn.content).toStrictEqual(['inserted', 'note']);
      expect(notice, turn.content).toContain('kind message, speaker and timestamp');
      expect(notice, turn.content).not.toMatch(/import|Julie|Ann|Ben/);
    }
  });

  it('says it again where the save is repeated, by its text or by its key', async () => {
    const turn = { content: 'Ann: Good morning', thread_id: 'standup', idempotency_key: 'turn 1' };
    const notices = [await save(turn), await save(turn), await save({ ...turn, idempotency_key: null })];
    expect(notices.map(({ status }) => status)).toStrictEqual(['inserted', 'inserted', 'skipped_dedupe']);
    expect(new Set(notices.map(({ notice }) => notice)).size).toBe(1);
  });

  it('says nothing of messages, of other kinds, outside of threads, and of texts that name nobody', async () => {
    const others = [
      { content: 'Ann: The import is done.', thread_id: 'standup', kind: 'message' },
      { content: 'Ann: The import runs daily.', thread_id: 'standup', kind: 'fact' },
      { content: 'Ann: The import is done.' },
      { content: 'Note: the import is done.', thread_id: 'standup' },
      { content: 'https://example.org is down', thread_id: 'standup' },
      { content: 'We agreed on this: no imports on Fridays.', thread_id: 'standup' },
    ];
    for (const other of others) expect((await save(other)).notice, other.content).toBeNull();
  });

  it('stands beside each item of memory_store that it is about', async () => {
    const rows = await store([
      { data: { content: 'Ann: The import is done.' }, project_id: 'l9', thread_id: 'standup' },
      { data: { content: 'The mill is closed.' }, project_id: 'l9', thread_id: 'standup' },
      { data: { content: ' ' }, project_id: 'l9', thread_id: 'standup' },
      { kind: 'message', data: { content: 'Ann: The export is done.' }, project_id: 'l9', thread_id: 'standup' },
      { data: { content: 'Well' }, project_id: 'l9', thread_id: 'standup', speaker: 'Ann' },
    ]);
    expect(rows.map(({ notice }: { notice: string | null }) => notice !== null)).toStrictEqual([
      true,
      false,
      false,
      false,
      true,
    ]);
  });
});

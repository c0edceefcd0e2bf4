// What a save says about a kind that is nearly another one.
import { named } from '../support/named.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('the notice of a save of a free kind', () => {
  const db = useTestDatabase({ rollsBack: true });

  let serial = 0;
  const save = async (caller: string, kind: string, more: Record<string, unknown> = {}) => {
    const args = { content: `text ${serial++}`, project_id: 'l9', kind, ...more };
    const [row] = await db.sql(
      caller,
      `select s.status, s.notice, (s.memory).packet_type as kind from public.save_memory(${named(args)}) s`,
      Object.values(args),
    );
    return row;
  };

  it.each([
    ['desicion', 'decision'],
    ['decisions', 'decision'],
    ['descision', 'decision'],
    ['runbok', 'runbook'],
    ['isseu', 'issue'],
    ['todos', 'todo'],
    ['pr_contxt', 'pr_context'],
    ['realease_note', 'release_note'],
    ['facts', 'fact'],
    ['masage', 'message'],
    ['ecision', 'decision'],
  ])('suggests what %s was to be', async (kind, meant) => {
    expect(await save('C', kind)).toStrictEqual({
      status: 'inserted',
      kind,
      notice: `No kind is named ${kind}; did you mean ${meant}? It was saved as a free kind.`,
    });
  });

  it.each([
    'note',
    'fact',
    'lesson',
    'session',
    'rule',
    'preference',
    'insight',
    'version',
    'passage',
    'recipe',
    'x',
  ])('says nothing of %s', async (kind) => {
    expect((await save('C', kind)).notice).toBeNull();
  });

  it('knows the kinds of the tenant, and none that hidden memories have', async () => {
    await save('L', 'peculiar', { scope: 'l-private' });
    expect((await save('C', 'peculier')).notice).toBeNull();
    await db.sql(
      'L',
      'select public.register_memory_kind(\'peculiar\', \'What is odd.\', \'[{"field": "oddity", "type": "text"}]\')',
    );
    expect((await save('C', 'peculier')).notice).toContain('did you mean peculiar?');
  });

  it('says it of each item of a batch, and beside what else there is to say', async () => {
    const items = [
      { kind: 'desicion', project_id: 'l9', data: { content: 'one' } },
      { kind: 'note', project_id: 'l9', data: { content: 'two' } },
      { kind: 'desicion', project_id: 'l9', data: { content: 'three' } },
    ];
    const stored = await db.sql('C', 'select s.notice from public.memory_store($1) s', [JSON.stringify(items)]);
    expect(stored.map(({ notice }) => notice?.includes('decision') ?? null)).toStrictEqual([true, null, true]);
  });
});

// Who said it: metadata.speaker, or the name that begins a message.
import { errorOf } from '../support/errors.ts';
import { callSaveMemory, callUpdateMemory, saveMemory, searchMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('the speaker of a memory', () => {
  const db = useTestDatabase();
  const ofMessage = async (content: string, args: object = {}) =>
    (await callSaveMemory(db, 'C', { content, kind: 'message', thread_id: 't', ...args })).memory.speaker;

  it.each([
    ['Ann: good morning', 'Ann'],
    ['  Ann:\ngood morning', 'Ann'],
    ['user: hello', 'user'],
    ['l-cto: done', 'l-cto'],
    ['Speaker 12: hello', 'Speaker 12'],
    ['Project Manager: so', 'Project Manager'],
    ["Dr. Jane O'Neil (guest): yes", "Dr. Jane O'Neil (guest)"],
    ['Ludwig van Beethoven: ja', 'Ludwig van Beethoven'],
    ['Émile Zola: oui', 'Émile Zola'],
    ['Мария Ивановна: да', 'Мария Ивановна'],
    ['小明：你好', '小明'],
    [`${'n'.repeat(60)}: hello`, 'n'.repeat(60)],
  ])('is the name that begins the message %j', async (content, speaker) => {
    expect(await ofMessage(content)).toBe(speaker);
  });

  it.each([
    'http://example.org is down',
    'http: is what it says',
    '12:30: lunch',
    'Ann:no space',
    'Ann:',
    'I have one question: what is it?',
    'Well, Ann: no',
    'Note: the door is open',
    'Ann\nBob: hello',
    'C:\\temp is full',
    `${'n'.repeat(61)}: hello`,
    'no name at all',
  ])('is not taken from the message %j', async (content) => {
    expect(await ofMessage(content)).toBeNull();
  });

  it('is not taken from the text of other kinds', async () => {
    const { memory } = await callSaveMemory(db, 'C', { content: 'Ann: owns the build', kind: 'fact' });
    expect(memory.speaker).toBeNull();
  });

  it('is the one that the writer gives, as an argument or in metadata, for every kind', async () => {
    expect(await ofMessage('Ann: said Ben', { speaker: ' Ben ' })).toBe('Ben');
    const { memory } = await callSaveMemory(db, 'C', { content: 'a saying', metadata: { speaker: 'Cleo' } });
    expect([memory.speaker, memory.metadata.speaker]).toStrictEqual(['Cleo', 'Cleo']);
    const [row] = await db.sql(
      'C',
      `insert into public.packet_store (envelope, project_id, metadata) values ('{"content": "by SQL"}', 'l9', '{"speaker": "Dan"}') returning speaker`,
    );
    expect(row.speaker).toBe('Dan');
  });

  it.each([
    { speaker: '' },
    { speaker: 'two\nlines' },
    { speaker: 'x'.repeat(201) },
    { metadata: { speaker: { name: 'Ann' } } },
  ])('is refused if it is no name: %j', async (args) => {
    const error = await errorOf(callSaveMemory(db, 'C', { content: 'who is it?', ...args }));
    expect([error.code, error.column]).toStrictEqual(['L9VAL', 'speaker']);
  });

  it('follows an update of text, kind and metadata', async () => {
    const id = await saveMemory(db, 'C', { content: 'Ann: I will go', kind: 'message' });
    const updated = async (args: object) => (await callUpdateMemory(db, 'C', id, args)).memory.speaker;
    expect(await updated({ content: 'Ben: I will go' })).toBe('Ben');
    expect(await updated({ speaker: 'Cleo' })).toBe('Cleo');
    expect(await updated({ metadata: { speaker: null } })).toBe('Ben');
    expect(await updated({ kind: 'note' })).toBeNull();
  });

  it('cannot be written directly', async () => {
    const error = await errorOf(
      db.sql(
        'L',
        `insert into public.packet_store (envelope, project_id, speaker) values ('{"content": "x"}', 'l9', 'Ann')`,
      ),
    );
    expect(['42501', '428C9']).toContain(error.code);
  });

  it('filters a search, in any case of letters, and finds nothing of a scope that the caller cannot read', async () => {
    const project_id = 'voices';
    const ann = await saveMemory(db, 'C', { project_id, content: 'Ann: the lighthouse is red', kind: 'message' });
    await saveMemory(db, 'C', { project_id, content: 'Ben: the lighthouse is white', kind: 'message' });
    const hidden = { project_id, scope: 'l-private', kind: 'message' };
    const secret = await saveMemory(db, 'L', { ...hidden, content: 'Ann: the lighthouse is dark' });
    const search = async (caller: string, args: object) =>
      (await searchMemory(db, caller, { project_id, speaker: 'ANN', ...args })).hits;
    for (const args of [{ query: 'lighthouse', mode: 'lexical' }, {}]) {
      const hits = await search('C', args);
      expect(hits.map(({ packet_id, speaker }) => [packet_id, speaker])).toStrictEqual([[ann, 'Ann']]);
      expect((await search('L', args)).map(({ packet_id }) => packet_id).sort()).toStrictEqual([ann, secret].sort());
    }
    const [row] = await db.sql(
      'C',
      'select count(*)::int as n from public.packet_store where speaker = $1 and project_id = $2',
      ['Ann', project_id],
    );
    expect(row.n).toBe(1);
  });

  it('is hidden, in an earlier version, from all who may not read that version', async () => {
    const id = await saveMemory(db, 'L', { content: 'Mole: nobody knows', kind: 'message', scope: 'l-private' });
    await callUpdateMemory(db, 'L', id, { content: 'Everybody: it is known', scope: 'developer' });
    const versions = (caller: string) =>
      db.sql(caller, 'select speaker from public.packet_versions where packet_id = $1', [id]);
    expect(await versions('L')).toStrictEqual([{ speaker: 'Mole' }]);
    expect(await versions('C')).toStrictEqual([]);
    const history = await db.sql('C', 'select state from public.memory_history($1)', [id]);
    expect(history.map(({ state }) => state.speaker)).toStrictEqual(['Everybody']);
  });
});

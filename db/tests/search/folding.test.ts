// That words are found however their accents, marks and invisible characters are written, and symbols as words.
import { saveMemory, searchMemory } from '../support/memories.ts';
import { named } from '../support/named.ts';
import { useTestDatabase } from '../support/test-database.ts';

const SOFT_HYPHEN = '\u00ad';
const ZERO_WIDTH_SPACE = '\u200b';
const NON_JOINER = '\u200c';
const JOINER = '\u200d';
const WORD_JOINER = '\u2060';
const BYTE_ORDER_MARK = '\ufeff';
const LEFT_TO_RIGHT = '\u200e';

describe('a search by words', () => {
  const db = useTestDatabase();

  const found = async (query: string, more: object = {}) => {
    const { hits } = await searchMemory(db, 'C', { query, mode: 'lexical', ...more });
    return hits.map(({ content }) => content);
  };
  const quickly = async (query: string) => {
    const args = { query, mode: 'fast' };
    const [{ hits }] = await db.sql(
      'C',
      `select to_jsonb(r.hits) as hits from public.memory_find(${named(args)}) r`,
      Object.values(args),
    );
    return (hits as { snippet: string; confidence: number }[]).map(({ snippet }) => snippet);
  };

  beforeAll(async () => {
    for (const n of [1, 2, 3]) await saveMemory(db, 'C', { content: `Nothing of interest happened on day ${n}.` });
  });

  it.each([
    ['Jürgen', ['Jurgen', 'Juergen', 'JÜRGEN', 'Ju\u0308rgen', 'juergen']],
    ['Juergen', ['Jürgen']],
    ['Jurgen', ['Jürgen']],
    ['Weißbier', ['Weissbier', 'WEISSBIER', 'WEIẞBIER']],
    ['Strasse', ['Straße']],
    ['Ørsted', ['Orsted', 'Oersted', 'ørsted']],
    ['Århus', ['Arhus', 'Aarhus', 'A\u030arhus']],
    ['Łódź', ['Lodz', 'łodz', 'ŁÓDŹ']],
    ['Đặng', ['Dang', 'đang', 'Đa\u0323\u0306ng']],
    ['Nguyễn', ['Nguyen']],
    ['Æthelstan', ['Aethelstan']],
    ['œuvre', ['oeuvre']],
    ['Þórr', ['Thorr']],
    ['Guðrún', ['Gudrun']],
    ['İstanbul', ['istanbul', 'Istanbul', 'ISTANBUL']],
    ['Diyarbakır', ['diyarbakir', 'DIYARBAKIR']],
    ['café', ['cafe', 'cafes', 'CAFÉ']],
    ['résumé', ['resume']],
    ['naïve', ['naive']],
    ['Žižek', ['Zizek']],
    ['Brâncuși', ['Brancusi', 'Brâncuşi']],
    ['Kraków', ['Krakow']],
    ['Hawaiʻi', ['Hawaii']],
    ['ﬁnance', ['finance']],
    ['Ｔｏｋｙｏ', ['Tokyo', 'tokyo']],
    ['الشَّرِكَةُ', ['الشركة', 'الشركه']],
    ['أحمد', ['احمد', 'إحمد', 'آحمد']],
    ['محـــمد', ['محمد']],
    ['مصطفى', ['مصطفي']],
    ['٢٠٢٦', ['2026', '۲۰۲۶']],
    ['שָׁלוֹם', ['שלום']],
    ['ёлка', ['елка', 'Ёлка', 'ЕЛКА']],
    ['замо́к', ['замок']],
    ['Οδυσσέας', ['Οδυσσεας', 'ΟΔΥΣΣΕΑΣ', 'Ὀδυσσέας']],
    [`Wei${SOFT_HYPHEN}zen${SOFT_HYPHEN}bier`, ['Weizenbier']],
    ['Weizenbier', [`Wei${SOFT_HYPHEN}zenbier`, `Weizen${ZERO_WIDTH_SPACE}bier`]],
    [`data${ZERO_WIDTH_SPACE}base`, ['database']],
    [`data${WORD_JOINER}base`, ['database']],
    [`data${BYTE_ORDER_MARK}base`, ['database']],
    [`data${LEFT_TO_RIGHT}base`, ['database']],
    [`می${NON_JOINER}خواهم`, ['میخواهم', 'ميخواهم']],
    [`क्${JOINER}ष`, ['क्ष']],
    ['✅', ['✅', '✅\ufe0f']],
    ['🚀', ['🚀']],
    ['❤️', ['❤', '❤️']],
    ['🇩🇪', ['🇩🇪']],
    ['👨‍👩‍👧', ['👨‍👩‍👧', '👨', '👧']],
    ['👍🏽', ['👍🏽', '👍']],
    ['🤷‍♂️', ['🤷', '🤷‍♂️']],
    ['1️⃣', ['1️⃣']],
    ['→', ['→']],
    ['€', ['€']],
    ['™', ['™']],
    ['☕', ['☕']],
  ])('finds %s, and marks it', async (word, queries) => {
    const content = `Here ${word} stands.`;
    const id = await saveMemory(db, 'C', { content, kind: 'note', tags: ['folded'] });
    const misses: string[] = [];
    for (const query of queries) {
      if ((await found(query)).join() !== content) misses.push(`search_memory: ${query}`);
      if ((await quickly(query)).join().replaceAll('**', '') !== content) misses.push(`memory_find: ${query}`);
      const [first] = await quickly(query);
      if (!first?.includes('**')) misses.push(`snippet of ${query}: ${first}`);
    }
    await db.sql('C', 'select public.delete_memory($1)', [id]);
    expect(misses).toStrictEqual([]);
  });

  it.each([
    ['Weissbier', 'Weißbier'],
    ['Weißbier', 'Weissbier'],
    ['Jurgen', 'Jürgen'],
    ['Juergen', 'Jürgen'],
    ['Jürgen', 'Jurgen'],
    ['ёлка', 'елка'],
    ['елка', 'ёлка'],
    ['👍🏽', '👍'],
    ['👍', '👍🏽'],
  ])('puts %s as it is written before %s', async (query, other) => {
    const [exact, folded] = [query, other].map((word) => `What ${word} is called in the ledger`);
    const ids: string[] = [];
    // The newer one would come first among equals.
    for (const content of [exact!, folded!]) ids.push(await saveMemory(db, 'C', { content }));
    const hits = await found(query);
    for (const id of ids) await db.sql('C', 'select public.delete_memory($1)', [id]);
    expect(hits[0]).toBe(exact);
    if (query !== '👍🏽') expect(hits).toStrictEqual([exact, folded]);
  });

  it('counts a word as found in any of its forms', async () => {
    await saveMemory(db, 'C', { content: 'Jurgen repaired the loom.' });
    const { hits } = await searchMemory(db, 'C', { query: 'Jürgen', mode: 'lexical' });
    expect(hits[0]).toMatchObject({ content: 'Jurgen repaired the loom.', relevance: 1 });
    expect(await quickly('"jürgen repaired"')).toStrictEqual(['**Jurgen** **repaired** the loom.']);
  });

  it('tells that a query has only common words', async () => {
    for (const query of ['the', 'what is it', '…!?']) {
      const { searched, hits } = await searchMemory(db, 'C', { query, mode: 'lexical' });
      expect(hits).toStrictEqual([]);
      expect(searched.notice).toMatch(/^The query has only common words or signs/);
      const args = { query, mode: 'fast' };
      const [{ notice }] = await db.sql(
        'C',
        `select r.searched ->> 'notice' as notice from public.memory_find(${named(args)}) r`,
        Object.values(args),
      );
      expect(notice).toMatch(/^The query has only common words or signs/);
    }
    expect((await searchMemory(db, 'C', { query: 'the loom', mode: 'lexical' })).searched.notice).toBeNull();
  });

  it('finds no unrelated memory by a symbol that none has', async () => {
    expect(await found('🦖')).toStrictEqual([]);
    expect(await quickly('🦖')).toStrictEqual([]);
  });

  it('keeps letters apart that are no accents of each other', async () => {
    await saveMemory(db, 'C', { content: 'Тайга и майка' });
    expect(await found('маика')).toStrictEqual([]);
    expect(await found('майка')).toStrictEqual(['Тайга и майка']);
  });

  it('finds what a memory said at an earlier time by its plain form', async () => {
    const id = await saveMemory(db, 'C', { content: 'Käthe hütet die Zürcher Schafe.' });
    const [{ now }] = await db.sql('C', 'select clock_timestamp()::text as now');
    await db.sql('C', "select public.update_memory($1, content => 'Nobody herds.')", [id]);
    for (const query of ['Zurcher', 'Zuercher', 'Zürcher'])
      expect(await found(query, { as_of: now }), query).toStrictEqual(['Käthe hütet die Zürcher Schafe.']);
  });

  it('marks a word with accents far inside a long memory', async () => {
    const content = `${'Plain words fill this page. '.repeat(100)}At last Zoë came.`;
    await saveMemory(db, 'C', { content });
    const [snippet] = await quickly('Zoe came');
    expect(snippet).toContain('At last **Zoë** **came**');
  });
});

import { saveMemory, searchMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('a search by words', () => {
  const db = useTestDatabase();

  const contents = {
    zh: '北京是中华人民共和国的首都,故宫位于市中心。',
    ja: '東京タワーは港区にある高さ333メートルの電波塔である。',
    ko: '서울은 대한민국의 수도이며 한강이 도시를 가로지른다.',
    th: 'กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย',
    code: 'getUserName() in src/lib/parseConfig.ts throws ERR_MODULE_NOT_FOUND since pkg@1.2.3 (ABC-123).',
    prose: 'The running dogs were barking at the postman.',
  };
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    for (const [name, content] of Object.entries(contents)) ids[name] = await saveMemory(db, 'C', { content });
    ids.de = await saveMemory(db, 'C', { content: 'Die alten Häuser stehen am Marktplatz.', language: 'german' });
  });

  it.each([
    ['zh', '首都', '北京是中华人民共和国的**首都**,故宫位于市中心。'],
    ['zh', '故宫', '北京是中华人民共和国的首都,**故宫**位于市中心。'],
    ['zh', '宫', '北京是中华人民共和国的首都,故**宫**位于市中心。'],
    ['ja', '電波塔', '東京タワーは港区にある高さ333メートルの**電波塔**である。'],
    ['ja', '東京タワー', '**東京タワー**は港区にある高さ333メートルの電波塔である。'],
    ['ko', '대한민국', '서울은 **대한민국**의 수도이며 한강이 도시를 가로지른다.'],
    ['th', 'เมืองหลวง', 'กรุงเทพมหานครเป็น**เมืองหลวง**ข**อง**ประเทศไทย'],
    [
      'code',
      'user',
      'get**User**Name() in src/lib/parseConfig.ts throws ERR_MODULE_NOT_FOUND since pkg@1.2.3 (ABC-123).',
    ],
    [
      'code',
      'getUserName',
      '**getUserName**() in src/lib/parseConfig.ts throws ERR_MODULE_NOT_FOUND since pkg@1.2.3 (ABC-123).',
    ],
    [
      'code',
      'module',
      'getUserName() in src/lib/parseConfig.ts throws ERR_**MODULE**_NOT_FOUND since pkg@1.2.3 (ABC-123).',
    ],
    [
      'code',
      'err_module_not_found',
      'getUserName() in src/lib/parseConfig.ts throws **ERR_MODULE_NOT_FOUND** since pkg@1.2.3 (ABC-123).',
    ],
    [
      'code',
      'parseConfig.ts',
      'getUserName() in src/lib/**parseConfig.ts** throws ERR_MODULE_NOT_FOUND since pkg@1.2.3 (ABC-123).',
    ],
    [
      'code',
      '1.2.3',
      'getUserName() in src/lib/parseConfig.ts throws ERR_MODULE_NOT_FOUND since pkg@**1.2.3** (ABC-123).',
    ],
    [
      'code',
      'abc-123',
      'getUserName() in src/lib/parseConfig.ts throws ERR_MODULE_NOT_FOUND since pkg@1.2.3 (**ABC-123**).',
    ],
    ['prose', 'run dog', 'The **running** **dogs** were barking at the postman.'],
  ])('finds the text %s by "%s" and marks it', async (name, query, snippet) => {
    const { hits } = await searchMemory(db, 'C', { query, mode: 'lexical' });
    expect(hits[0]?.packet_id).toBe(ids[name]);
    expect(hits[0]!.snippet).toBe(snippet);
  });

  it('finds inflected words in the language that the search names', async () => {
    const find = async (language: string) =>
      (await searchMemory(db, 'C', { query: 'alter', mode: 'lexical', language })).hits;
    expect(await find('english')).toStrictEqual([]);
    const hits = await find('german');
    expect(hits.map(({ packet_id }) => packet_id)).toStrictEqual([ids.de]);
    expect(hits[0]!.snippet).toBe('Die **alten** Häuser stehen am Marktplatz.');
  });

  it('finds words in every language of the tenant', async () => {
    await db.sql('L', "select public.set_search_settings(languages => '{english,german}')");
    for (const [query, name] of [
      ['alter', 'de'],
      ['dog', 'prose'],
    ] as const) {
      const { hits } = await searchMemory(db, 'C', { query, mode: 'lexical' });
      expect(hits.map(({ packet_id }) => packet_id)).toStrictEqual([ids[name]]);
    }
  });

  it('finds what a memory said before in its former language', async () => {
    const id = await saveMemory(db, 'C', { content: '数据库的备份在星期日', project_id: 'past' });
    const [{ now: as_of }] = await db.sql('C', 'select clock_timestamp() as now');
    await db.sql('C', "select public.update_memory($1, content => 'moved')", [id]);
    const { hits } = await searchMemory(db, 'C', { query: '备份', mode: 'lexical', project_id: 'past', as_of });
    expect(hits.map(({ packet_id }) => packet_id)).toStrictEqual([id]);
  });
});

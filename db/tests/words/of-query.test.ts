import { useTestDatabase } from '../support/test-database.ts';

describe('words.of_query', () => {
  const db = useTestDatabase({ rollsBack: true });

  const wordsOf = async (query: string, language = 'english') => {
    const [{ lexemes }] = await db.asSuperuser('select words.of_query($1, $2) as lexemes', [query, language]);
    return lexemes as string[];
  };
  /** Whether a memory has any word of the query, and whether it has all of them. */
  const matches = async (content: string, query: string, language = 'english') => {
    const [{ some, all }] = await db.asSuperuser(
      `select words.of_query($2, $3) && held.words as some, words.of_query($2, $3) <@ held.words as all
       from (select tsvector_to_array(words.of_memory($1, $3, null, 'note')) as words) held`,
      [content, query, language],
    );
    return { some, all };
  };
  const every = { some: true, all: true };
  const none = { some: false, all: false };

  it('lists each word once, in the order of the query, without stop words', async () => {
    expect(await wordsOf('The zebras and a cat saw the zebra')).toStrictEqual(['zebra', 'cat', 'saw']);
    expect(await wordsOf('of the and')).toStrictEqual([]);
  });

  it('lists whole identifiers first', async () => {
    expect(await wordsOf('does getUserName throw ERR_NOT_FOUND')).toStrictEqual([
      'err_not_found',
      'getusernam',
      'get',
      'user',
      'name',
      'throw',
      'err',
      'found',
    ]);
  });

  it.each([
    ['parseConfig()', ['config', 'parse', 'parseconfig', 'ParseConfig', 'parse_config', 'parse-config']],
    ['HTTPServer', ['http server', 'httpserver']],
    ['read_file_sync', ['readFileSync', 'file', 'read_file_sync']],
    ['kebab-case', ['kebab', 'kebab-case']],
    ['see src/lib/parseConfig.ts', ['parseConfig.ts', 'src/lib/parseConfig.ts', 'lib', 'config']],
    ['C:\\tools\\setup.exe', ['setup.exe', 'tools']],
    ['code ERR_MODULE_NOT_FOUND', ['ERR_MODULE_NOT_FOUND', 'err_module_not_found', 'module not found']],
    ['pkg@1.2.3', ['pkg', '1.2.3', '1.2', 'pkg@1.2.3']],
    ['node v22.18.0', ['22.18.0', 'v22.18.0', '22.18', 'node 22.18.0']],
    ['fixes ABC-123', ['ABC-123', 'abc-123', 'ABC 123']],
    ['owner/repo#42', ['repo', '42', 'owner/repo#42']],
    ['std::vector<Foo>', ['vector', 'foo', 'std::vector']],
    ['request.headers', ['headers', 'request.headers']],
    ['Array<string>', ['string', 'array']],
    ['the GPT-4o model', ['gpt-4o', 'gpt 4o']],
    ['C++ and C#', ['c++', 'C#']],
    ['on 2023-05-12', ['2023-05-12', '2023']],
    ['ada@example.com', ['example.com', 'ada', 'ada@example.com']],
  ])('finds %s by its parts and whole', async (content, queries) => {
    for (const query of queries) expect((await matches(content, query)).some, query).toBe(true);
  });

  it('keeps the numbers of a version together', async () => {
    expect(await matches('pkg@1.2.3', '3')).toStrictEqual(none);
    expect(await matches('costs 2.50', '50')).toStrictEqual(none);
  });

  it.each([
    ['数据库系统存储数据', ['数据库', '系统', '库', '存储数据']],
    ['東京タワーは港区にある', ['東京タワー', '港区', '区']],
    ['서울은 대한민국의 수도이다', ['서울', '대한민국', '수도']],
    ['กรุงเทพเป็นเมืองหลวง', ['กรุงเทพ', 'เมือง']],
    ['用PostgreSQL存储', ['postgresql', 'PostgreSQL', '存储']],
    ['ＰｏｓｔｇｒｅＳＱＬ と ｶﾀｶﾅ', ['postgresql', 'カタカナ']],
  ])('finds the words of %s', async (content, queries) => {
    for (const query of queries) expect(await matches(content, query), query).toStrictEqual(every);
    for (const query of ['天气', '猫', '날씨', 'แมว']) expect(await matches(content, query), query).toStrictEqual(none);
  });

  it('writes words of other scripts in lower case, and without quotation marks', async () => {
    expect(await wordsOf('“ÉTÉ” ΑΘΗΝΑ — «ПРИВЕТ»', 'none')).toStrictEqual(['ete', 'été', 'αθηνα', 'привет']);
  });

  it.each([
    ['german', 'Die Häuser stehen', 'Haus stehend'],
    ['french', 'Les chevaux mangeaient', 'manger'],
    ['spanish', 'Las casas antiguas', 'casa antigua'],
    ['russian', 'красивые машины', 'машина'],
  ])('stems %s', async (language, content, query) => {
    expect((await matches(content, query, language)).some).toBe(true);
    expect(await matches(content, query, 'none')).toStrictEqual(none);
  });

  it('neither stems nor leaves out words of no language', async () => {
    expect(await wordsOf('The running dogs', 'none')).toStrictEqual(['the', 'running', 'dogs']);
  });

  it('knows every language that it names', async () => {
    const [{ count, missing }] = await db.asSuperuser(
      `select count(words.of_query('running', l))::integer as count,
         (select array_agg(cfgname) from pg_ts_config where cfgname <> all (words.languages() || '{simple}'::text[])) as missing
       from unnest(words.languages()) as l`,
    );
    expect({ count, missing }).toStrictEqual({ count: 30, missing: null });
  });
});

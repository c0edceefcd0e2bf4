import { saveMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('the words of a memory', () => {
  const db = useTestDatabase({ rollsBack: true });

  const wordsOf = async (content: string, kind = 'note', eventTime: string | null = null) => {
    const [{ lexemes }] = await db.asSuperuser(
      "select tsvector_to_array(words.of_memory($1, 'english', $2, $3)) as lexemes",
      [content, eventTime, kind],
    );
    return lexemes as string[];
  };
  const stored = async (id: string) => {
    const [{ words }] = await db.sql('C', 'select words::text from public.packet_store where packet_id = $1', [id]);
    return words as string;
  };

  it('follows the content', async () => {
    const id = await saveMemory(db, 'C', { content: 'The cats sleep' });
    expect(await stored(id)).toBe("'cat':2 'sleep':3");
    await db.sql('C', "select public.update_memory($1, content => 'The dogs bark')", [id]);
    expect(await stored(id)).toBe("'bark':3 'dog':2");
  });

  it('cannot be set by callers', async () => {
    await saveMemory(db, 'C', { content: 'The cats sleep' });
    await expect(db.sql('C', "update public.packet_store set words = ''")).rejects.toMatchObject({ code: '42501' });
  });

  it('holds the date of the event of a message', async () => {
    expect(await wordsOf('Thanks', 'message', '2023-09-15T10:00:00Z')).toStrictEqual(
      expect.arrayContaining(['15', '2023', '2023-09-15', 'friday', 'september', 'septemb', 'thank']),
    );
    expect(await wordsOf('Thanks', 'note', '2023-09-15T10:00:00Z')).toStrictEqual(['thank']);
    expect(await wordsOf('Thanks', 'message', 'infinity')).toStrictEqual(['thank']);
  });

  it.each([
    'On Friday',
    'in May 2023',
    'on 12 May',
    'FRIDAY 12',
  ])('has every word of the date "%s", in any language', async (query) => {
    for (const language of ['english', 'none']) {
      const [{ all }] = await db.asSuperuser(
        `select words.of_query(replace(replace(lower($1), 'on ', ''), 'in ', ''), $2)
             <@ tsvector_to_array(words.of_memory('x', 'english', '2023-05-12 23:00+00', 'message')) as all`,
        [query, language],
      );
      expect(all).toBe(true);
    }
  });

  it('counts each word as often as it occurs, and dates and whole identifiers once', async () => {
    const [{ length }] = await db.asSuperuser(
      "select words.length(words.of_memory('call parseConfig twice, call it', 'english', '2023-05-12', 'message')) as length",
    );
    // call, call, parse, config, parseconfig, twice; year, month, day, weekday and date.
    expect(length).toBe(11);
  });

  it('is truncated if a content of 1 MiB has too many words', async () => {
    const content = Array.from({ length: 130_000 }, (_, n) => `w${n.toString(36)}q`).join(' ');
    const id = await saveMemory(db, 'C', { content });
    const [{ count, indexed }] = await db.sql(
      'C',
      `select length(words) as count, length(to_tsvector('simple', words.index_text(words))) as indexed
       from public.packet_store where packet_id = $1`,
      [id],
    );
    expect(count).toBeGreaterThan(20_000);
    expect(indexed).toBe(count);
  });

  it.each([
    [
      'Han',
      "select string_agg(chr(19968 + (n::bigint * 7919 % 20000)::integer), '') as text from generate_series(1, 300000) n",
    ],
    ['paths', "select string_agg(format('a%s/b%s.c%s', n, n, n), ' ') as text from generate_series(1, 40000) n"],
  ])('fits into the index if 1 MiB holds %s', async (_, text) => {
    const [{ indexed, count }] = await db.asSuperuser(
      `select length(w) as count, length(to_tsvector('simple', words.index_text(w))) as indexed
       from (select words.of_memory(text, 'english', null, 'note') as w from (${text}) t offset 0) x`,
    );
    expect(count).toBeGreaterThan(20_000);
    expect(indexed).toBe(count);
  });

  it('leaves out words over 2 kB', async () => {
    expect(await wordsOf(`${'x'.repeat(3000)} cats`)).toStrictEqual(['cat']);
  });
});

describe('words.index_text', () => {
  const db = useTestDatabase({ rollsBack: true });

  it('repeats the token of a word as often as the word occurs', async () => {
    const [{ text, cat, dog }] = await db.asSuperuser(
      `select words.index_text(to_tsvector('english', 'cats cat dog')) as text,
         words.index_token('cat') as cat, words.index_token('dog') as dog`,
    );
    expect(text.trim().split(' ')).toStrictEqual([cat, cat, dog]);
  });

  it('survives the parser of a BM25 index', async () => {
    const [{ lost }] = await db.asSuperuser(
      `select count(*)::integer as lost from generate_series(1, 5000) n
       where tsvector_to_array(to_tsvector('simple', words.index_token(n::text))) <> array[words.index_token(n::text)]`,
    );
    expect(lost).toBe(0);
  });
});

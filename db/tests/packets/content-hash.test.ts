import { useTestDatabase } from '../support/test-database.ts';

describe('content_hash', () => {
  const db = useTestDatabase({ rollsBack: true });

  it('gives texts that differ only in case and white space the same hash, for any white space', async () => {
    const written = [
      'a b',
      ' a b',
      'a b ',
      'A  B',
      'a\tb',
      'a\nb',
      '\n a \r\n b\t',
      'a\u2003b',
      'a \u00a0b',
      '\u3000a b',
    ];
    const slowly = `sha256(convert_to(lower(btrim(regexp_replace(t, '\\s+', ' ', 'g'))), 'UTF8'))`;
    const rows = await db.asSuperuser(
      `select t, packets.content_hash(t) = ${slowly} as is_so, packets.content_hash(t) as hash from unnest($1::text[]) as t`,
      [written],
    );
    expect(rows.filter(({ is_so }) => !is_so)).toStrictEqual([]);
    expect(new Set(rows.slice(0, 7).map(({ hash }) => hash.toString('hex'))).size).toBe(1);
  });

  it.each([
    'Jürgen isst Crème brûlée',
    'Việt Nam',
    'Ἀθῆναι',
    'йога',
    '서울',
    'がぎぐ',
  ])('is the same for %s with accents within letters and beside them', async (text) => {
    const [{ hashes }] = await db.asSuperuser(
      'select count(distinct packets.content_hash(t))::integer as hashes from unnest($1::text[]) as t',
      [[text.normalize('NFC'), text.normalize('NFD')]],
    );
    expect(text.normalize('NFC')).not.toBe(text.normalize('NFD'));
    expect(hashes).toBe(1);
  });
});

// The table of providers' token formats: what it generates finds a made-up token of each format, in every tenant's writes.
import { crc32 } from 'node:zlib';
import { makerFrom } from '../../../bench/eval/secrets/made-up.ts';
import { DEFAULT_TENANT } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ALPHABETS: Readonly<Record<string, string>> = {
  digit: '0123456789',
  hex: '0123456789abcdef',
  anyhex: '0123456789abcdefABCDEF',
  lower: 'abcdefghijklmnopqrstuvwxyz',
  base32: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  base36: '0123456789abcdefghijklmnopqrstuvwxyz',
  upper36: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  base62: BASE62,
  word: BASE62,
  base64: BASE62,
  url64: BASE62,
  base64url: BASE62,
};

interface Format {
  pattern: string;
  provider: string;
  starts: string[];
  body: string;
}

/** A made-up token of a format, of the least length. */
function tokenOf({ starts, body }: Format, seed: number): string {
  const { of } = makerFrom(seed);
  return (
    (starts[seed % Math.max(starts.length, 1)] ?? '') +
    body.replace(/\{([a-z0-9]+)[^ }]* (\d+)[^}]*\}/g, (_, name: string, length: string) =>
      of(ALPHABETS[name]!, Number(length)),
    )
  );
}

describe('the table of token formats', () => {
  const db = useTestDatabase({ rollsBack: true });
  const formats = (): Promise<Format[]> => db.asOwner('select * from secrets.token_formats()') as Promise<Format[]>;
  const patternsIn = async (text: string) =>
    (
      await db.asOwner(
        "select pattern from secrets.find_in_text($1, '00000000-0000-0000-0000-000000000000', '{credential}') where secrets.needs_look($1, null, false)",
        [text],
      )
    ).map(({ pattern }) => pattern);

  /** The patterns in each of these texts, which are lines of one text: one search takes as long as one of a single line. */
  const patternsInEach = async (texts: string[]): Promise<string[][]> => {
    const found = await db.asOwner(
      `select f.pattern, regexp_count(left($1, f.position - 1), '\n')::integer as line
       from secrets.find_in_text($1, '00000000-0000-0000-0000-000000000000', '{credential}') f`,
      [texts.join('\n')],
    );
    // A line whose quick test fails would be found nowhere if it stood alone.
    const passing = await db.asOwner(
      'select secrets.needs_look(t.content, null, false) as passes from unnest($1::text[]) with ordinality t (content, n) order by t.n',
      [texts],
    );
    return texts.map((_, n) =>
      passing[n].passes ? found.filter(({ line }) => line === n).map(({ pattern }) => pattern) : [],
    );
  };

  it('covers at least sixty providers, each with its source', async () => {
    const rows = await db.sql('C', 'select name, source from public.secret_patterns where severity = $1', [
      'credential',
    ]);
    const patterns = new Set((await formats()).map(({ pattern }) => pattern));
    expect(patterns.size).toBeGreaterThan(60);
    expect(rows.filter(({ name }) => patterns.has(name))).toHaveLength(patterns.size);
    expect(rows.every(({ source }) => source.length > 2)).toBe(true);
  });

  it('finds a token of each, in a sentence, in JSON and behind an escaped line break', async () => {
    const all = await formats();
    for (const textOf of [
      (token: string) => `use ${token} for it`,
      (token: string) => JSON.stringify({ a: { b: token } }),
      (token: string) => `"first\\n${token}\\nlast"`,
    ]) {
      const found = await patternsInEach(all.map((format, n) => textOf(tokenOf(format, n))));
      for (const [n, { pattern, provider }] of all.entries())
        expect(found[n], `${pattern} (${provider})`).toContain(pattern);
    }
  });

  it('looks behind at one character only, because more make the time for many matches grow with their square', async () => {
    const expressions = await db.asSuperuser(
      String.raw`select name from public.secret_patterns where tenant_id is null and expression ~ '\(\?<[=!](?!\[[^]]*\]\))'`,
    );
    expect(expressions).toStrictEqual([]);
  });

  it('leaves an escaped line break before a token where it is', async () => {
    const all = await formats();
    const [{ redacted }] = await db.asSuperuser(`select (secrets.redact_text($1, $2, '{credential}')).redacted`, [
      all.map((format, n) => `"first\\n${tokenOf(format, n)}\\nlast"`).join('\n'),
      DEFAULT_TENANT,
    ]);
    const lines = redacted.split('\n');
    expect(lines).toHaveLength(all.length);
    for (const [n, { provider }] of all.entries()) expect(lines[n], provider).toMatch(/^"first\\n\[redacted: /);
  });

  it('takes no short text for a token', async () => {
    const all = await formats();
    const shortOf = (token: string) => token.slice(0, Math.ceil(token.length / 3));
    const found = await patternsInEach(all.map((format, n) => `use ${shortOf(tokenOf(format, n))} for it`));
    for (const [n, { pattern, provider }] of all.entries()) expect(found[n], provider).not.toContain(pattern);
  });

  it('finds a token that is proved by its checksum, whatever words stand in it', async () => {
    const body = `${'dummy'.repeat(2)}${'Zz9'.repeat(6)}x7`;
    let sum = crc32(body);
    let check = '';
    for (let n = 0; n < 6; n++, sum = Math.floor(sum / 62)) check = BASE62[sum % 62] + check;
    expect(body).toHaveLength(30);
    const start = `gh${'p_'}`;
    expect(await patternsIn(`use ${start}${body}${check}`)).toStrictEqual(['github-token']);
    const wrong = check[5] === '0' ? '1' : '0';
    expect(await patternsIn(`use ${start}${body}${check.slice(0, 5)}${wrong}`)).not.toContain('github-token');
  });
});

// Neither a pattern nor the search for all of them takes long on a long text, whatever it holds.
import { itOnServer } from '../support/on-engine.ts';
import { DEFAULT_TENANT } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { PERSONAL, SECRETS } from './support.ts';

/** The greatest size of a text. */
const MEBIBYTE = 1_048_576;
/** Of most texts here: a search whose time grows with the square of the text exceeds the limits by far at these sizes, too. */
const USUAL = MEBIBYTE / 2;
const OF_ONE_PATTERN = MEBIBYTE / 4;
const textOf = (piece: string, size: number) => piece.repeat(Math.ceil(size / piece.length)).slice(0, size);

/** Pieces that make long texts on which a search that is not linear would take hours. */
const SHAPES: Readonly<Record<string, string>> = {
  'short encoded words': 'a%3Ab ',
  'encoded URLs': 'https://x?q=a%20b%3Ac&next=%2Fhome ',
  'encoded URLs that differ': [...Array(4096).keys()].map((n) => `https://x${n}?q=a%20b%3Ac&next=%2Fh${n} `).join(''),
  'encoded secrets': [...Array(4096).keys()].map((n) => `password%3Ax${n}!aB7 `).join(''),
  'words encoded twice': 'a%253Ab ',
  'signs that are encoded': '%3A%2F',
  'equals signs': '=',
  colons: ':',
  dots: '.',
  'names with dots': 'ab.cd.',
  'at signs': 'a@',
  'a single word': 'aB3',
  slashes: 'abc/def/',
  'lines of base64': `${SECRETS['long-random-token']!.repeat(2)}x/\n`,
  'beginnings of keys without an end': `${'-'.repeat(5)}BEGIN RSA ${'PRIVATE'} KEY${'-'.repeat(5)}\n`,
  'ends of keys': `${'Ab3+'.repeat(8)}\n${'-'.repeat(5)}END RSA ${'PRIVATE'} KEY${'-'.repeat(5)}\n`,
  'names of secrets': '"password": "',
  'beginnings of URLs': 'http://a:b://',
  'beginnings of tokens': 'eyJhbGciOiJIUzI1NiJ9.',
  quotes: '"\\',
};

/** The shapes that take the longest are tried at the greatest size. */
const sizeOf = (shape: string) => (['encoded URLs that differ', 'encoded secrets'].includes(shape) ? MEBIBYTE : USUAL);

/** Text made of the characters that stand in an expression, in the same order on each run. */
function charactersOf(expression: string): string {
  const characters = [...new Set(expression.replaceAll(/\\[a-zA-Z]/g, ' \n'))];
  let seed = 20_261_123;
  return Array.from({ length: 4_096 }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return characters[(seed >> 8) % characters.length];
  }).join('');
}

describe('a pattern on long texts', () => {
  const db = useTestDatabase({ rollsBack: true });

  // The embedded engine has no statement_timeout, and the same expressions.
  itOnServer(
    'does not backtrack for long',
    async () => {
      const patterns = await db.asSuperuser(
        'select name, expression, hint from public.secret_patterns where tenant_id is null',
      );
      expect(patterns.length).toBeGreaterThan(30);
      for (const { name, expression, hint } of patterns) {
        const sample = SECRETS[name] ?? PERSONAL[name] ?? 'aB3_';
        const pieces = ['a', sample.slice(0, -1), charactersOf(expression)];
        await db.inSuperuserSession(async (client) => {
          // A pattern that backtracks takes minutes or hours. The others take a fraction of a second, or some for 15,000 matches.
          await client.query("set statement_timeout = '60s'");
          for (const piece of pieces) {
            const result = await client
              .query(
                "select count(*) from regexp_matches($1, secrets.in_group($2), 'g') where $1 ~ coalesce($3, 'a')",
                [textOf(piece, OF_ONE_PATTERN), expression, hint],
              )
              .catch((error: Error) => error);
            expect({ name, result }).not.toMatchObject({ result: expect.any(Error) });
          }
        });
      }
    },
    900_000,
  );

  itOnServer.each(Object.keys(SHAPES))(
    'does not keep the search for all of them and the redaction of %s',
    async (shape) => {
      const content = textOf(SHAPES[shape]!, sizeOf(shape));
      await db.inSuperuserSession(async (client) => {
        // A search whose time grows with the square of the text takes more than ten minutes.
        await client.query("set statement_timeout = '90s'");
        const severities = '{credential,personal,strict}';
        const { rows: found } = await client.query(
          'select pattern, position, length from secrets.find_in_text($1, $2, $3) order by position',
          [content, DEFAULT_TENANT, severities],
        );
        const { rows } = await client.query('select * from secrets.redact_text($1, $2, $3)', [
          content,
          DEFAULT_TENANT,
          severities,
        ]);
        expect(rows[0].replaced > 0).toBe(found.length > 0);
      });
    },
    240_000,
  );
});

describe('an encoded word in a long text', () => {
  const db = useTestDatabase({ rollsBack: true });
  const find = (text: string) =>
    db.sql('C', 'select pattern, position, length from public.find_secrets($1) order by position', [text]);

  it('is found wherever it is found alone, with the same pattern', async () => {
    const words = [...Object.values(SECRETS), ...Object.values(PERSONAL)]
      .map((text) => encodeURIComponent(text))
      .filter((word) => word.includes('%'));
    expect(words.length).toBeGreaterThan(10);
    // Something that needs a second look, so that every word gets one.
    const before = 'a%3Ab ';
    const expected = [];
    let text = before;
    for (const word of words) {
      for (const { pattern, position, length } of await find(before + word))
        expected.push({ pattern, position: position - before.length + text.length, length });
      text += `${word} 100%2C5 "plain" `;
    }
    expect(expected.length).toBeGreaterThan(10);
    expect(await find(text)).toStrictEqual(expected);
  });

  it('is redacted, unless it holds no secret', async () => {
    const secret = encodeURIComponent(SECRETS['named-secret']!);
    const plain = Array.from({ length: 200 }, (_, n) => `https://x?n=${n}&next=%2Fhome%3A`).join(' ');
    const [row] = await db.sql('C', 'select (secrets.redact_document(to_jsonb($1::text), true)).*', [
      `${plain} ${secret} ${plain} ${secret}`,
    ]);
    expect(row).toStrictEqual({
      document: `${plain} [redacted: named-secret] ${plain} [redacted: named-secret]`,
      replaced: 2,
    });
  });

  it('is found if it was encoded twice, and where a word imitates the beginning of the next one', async () => {
    const twice = encodeURIComponent(encodeURIComponent(`https://app:${'Xq7wz3K9'}@db/app`));
    expect(await find(`see ${twice}`)).toMatchObject([{ pattern: 'url-credentials', position: 5 }]);
    const imitation = 'a%0A\u0001-\u0001%0Ab';
    const secret = encodeURIComponent(SECRETS['named-secret']!);
    expect(await find(`${imitation} ${secret} ${imitation}`)).toStrictEqual([
      { pattern: 'named-secret', position: imitation.length + 2, length: secret.length },
    ]);
  });
});

// Secrets in disguise: in letters that look like others, with characters between them that are not seen, encoded, set apart or cut.
import { useTestDatabase } from '../support/test-database.ts';
import { token } from './support.ts';

const moved = (text: string, by: (code: number) => number) =>
  [...text].map((sign) => String.fromCodePoint(by(sign.codePointAt(0)!))).join('');
const fullWidth = (text: string) => moved(text, (code) => (code > 32 && code < 127 ? code + 0xfee0 : code));
/** Letters in one of the alphabets of mathematics, which begins at a code, with the digits at another. */
const mathematical = (letters: number, digits: number) => (text: string) =>
  moved(text, (code) => {
    const sign = String.fromCodePoint(code);
    if (/[A-Z]/.test(sign)) return letters + code - 65;
    if (/[a-z]/.test(sign)) return letters + 26 + code - 97;
    return /[0-9]/.test(sign) ? digits + code - 48 : code;
  });
const circled = (text: string) =>
  text
    .replace(/[A-Z]/g, (c) => String.fromCodePoint(0x24b6 + c.charCodeAt(0) - 65))
    .replace(/[a-z]/g, (c) => String.fromCodePoint(0x24d0 + c.charCodeAt(0) - 97));
const between = (sign: string) => (text: string) => [...text].join(sign);
const at =
  (between: string, ...places: number[]) =>
  (text: string) =>
    places.reduceRight((cut, place) => cut.slice(0, place) + between + cut.slice(place), text);

const DISGUISES: Readonly<Record<string, (text: string) => string>> = {
  'full-width letters': fullWidth,
  'full-width letters in part': (text) => text.slice(0, 8) + fullWidth(text.slice(8, 12)) + text.slice(12),
  'bold letters of mathematics': mathematical(0x1d400, 0x1d7ce),
  'letters of a typewriter': mathematical(0x1d670, 0x1d7f6),
  'letters without serifs': mathematical(0x1d5a0, 0x1d7e2),
  'circled letters': circled,
  'soft hyphens': between('\u00ad'),
  'spaces of no width': between('\u200b'),
  'word joiners': between('\u2060'),
  'marks of direction': between('\u200e'),
  'variation selectors': between('\ufe0f'),
  'decimal entities': (text) => text.replace(/[a-z]/g, (c) => `&#${c.charCodeAt(0)};`),
  'hexadecimal entities': (text) => text.replace(/[A-Z]/g, (c) => `&#x${c.charCodeAt(0).toString(16)};`),
  'encoded letters of URLs': (text) => text.replace(/[a-z]/g, (c) => `%${c.charCodeAt(0).toString(16)}`),
  'spaced letters': between(' '),
  'a line break': at('\n', 17),
  'a line break of Windows': at('\r\n', 17),
  'two line breaks': at('\n', 14, 27),
  'a line break with an indent': at('\n    ', 20),
  'a line break of a quoted mail': at('\n> ', 20),
  'a line that goes on in a shell': at('\\\n', 20),
  'a line that goes on in a mail': at('=\n', 20),
};

describe('a secret in disguise', () => {
  const db = useTestDatabase({ rollsBack: true });
  const find = (text: string) => db.sql('C', 'select pattern, position, length from public.find_secrets($1)', [text]);
  const save = (content: string) => db.sql('C', "select public.save_memory($1, project_id => 'l9')", [content]);

  it.each(Object.keys(DISGUISES))('is found where it is, and refused: %s', async (disguise) => {
    const hidden = DISGUISES[disguise]!(token);
    const text = `Gründe 🔑:\nuse it (${hidden}), then ask Ada.`;
    const found = (await find(text)).filter(({ pattern }) => pattern === 'github-token');
    expect(found).toHaveLength(1);
    const whole = [...text].slice(found[0].position - 1, found[0].position - 1 + found[0].length).join('');
    expect(whole).toContain(hidden.slice(-4));
    await expect(save(text)).rejects.toMatchObject({ code: 'L9SEC' });
    const [row] = await db.sql('C', 'select (secrets.redact_document(to_jsonb($1::text), false)).*', [text]);
    expect(row.replaced).toBe(1);
    expect(row.document).toContain('[redacted: github-token]');
    expect(row.document).not.toContain(hidden.slice(-4));
  });

  it('is found behind a label in full-width letters, and in a value of a document', async () => {
    const text = fullWidth(`password:${'Xq7wz3K9'}!`);
    expect(await find(`so: ${text}`)).toMatchObject([{ pattern: 'assigned-secret' }]);
    expect(await find(`pass${'word'}：Xq7wz3K9!`)).toHaveLength(1);
    const document = JSON.stringify({ password: fullWidth('Xq7wz3K9!') });
    expect(await db.sql('C', 'select pattern from secrets.find_in_document($1, false)', [document])).toStrictEqual([
      { pattern: 'named-secret' },
    ]);
  });

  it.each([
    'C H A P T E R  O N E\n\nT h e   b e g i n n i n g   o f   t h e   s t o r y',
    '0 1 1 0 1 0 0 1 1 0 0 1 0 1 1 0 1 0 0 1 0 1 1 0\na b c d e f g h i j k l m n o p q r s t u v w x y z',
    'ＡＰＩは２０２６年３月に公開。パスワード：１２文字以上、最大６４文字。',
    'E = mc², 10⁻³ m, H₂O, ½ and № 5 at 20 °C — “quoted” … and so on',
    'npm_config_cache\nnpm_config_registry\nhf_hub_download\nre_compile\nsk_toolbar_button',
    'Fish &amp; chips cost &#163;7&nbsp;&mdash; &quot;fresh&quot; &#8230; and \\u00e9t\\u00e9 at 100%25',
    `${'0f1e2d3c4b5a69788796a5b4c3d2e1f001234567'}\n${'89abcdef0123456789abcdef0123456789abcdef'}`,
    '👩‍💻 and ❤️ and می\u200Cخواهم and Donau\u00addampf\u00adschiff',
  ])('is not seen in %s', async (text) => {
    expect(await find(text)).toStrictEqual([]);
    const [row] = await db.sql('C', 'select (secrets.redact_document(to_jsonb($1::text), false)).*', [text]);
    expect(row).toStrictEqual({ document: text, replaced: 0 });
  });

  it('stands for as many characters as it has, so that places stay right', async () => {
    const [row] = await db.asOwner(`
      select count(*)::integer as wrong from generate_series(128, 131071) as code
      where code not between 55296 and 57343 and length(secrets.fold(chr(code) || 'a')) <> 2`);
    expect(row).toStrictEqual({ wrong: 0 });
  });
});

// The Markdown of a document, cut into sections.
import fc from 'fast-check';
import { useTestDatabase } from '../support/test-database.ts';

interface Piece {
  position: number;
  heading: string;
  level: number;
  body_md: string;
}

const LEAST = 1024;
const MOST = 3072;
const bytes = (text: string) => Buffer.byteLength(text);

describe('the sections of a Markdown', () => {
  const db = useTestDatabase({ rollsBack: true });
  const cut = (markdown: string): Promise<Piece[]> =>
    db.sql('C', 'select n as "position", heading, level, body_md from documents.with_headings(documents.cut($1), $2)', [
      markdown,
      'The title',
    ]);
  const headings = async (markdown: string) => (await cut(markdown)).map(({ level, heading }) => `${level} ${heading}`);
  const text = (length: number, word = 'lorem ') =>
    `${word.repeat(Math.ceil(length / word.length)).slice(0, length)}\n`;

  it('gives pieces that joined are the text, none of them blank, of about 1 to 3 KB', async () => {
    const line = fc.oneof(
      { weight: 4, arbitrary: fc.lorem({ maxCount: 30 }) },
      { weight: 2, arbitrary: fc.constantFrom('', '  ', '\t') },
      fc.constantFrom(
        '# One',
        '## Two ##',
        '#',
        '#No heading',
        'Three\n===',
        '---',
        '```',
        '~~~~ js',
        '    ```',
        '- item',
        '...',
      ),
      fc.string({ unit: 'grapheme', maxLength: 50 }).filter((it) => !it.includes('\0')),
      fc.integer({ min: 2000, max: 9000 }).map((length) => text(length, 'größer 漢字 ').trimEnd()),
    );
    const ending = fc.constantFrom('\n', '\r\n');
    const markdown = fc
      .tuple(fc.array(line, { maxLength: 120, size: 'max' }), ending, fc.boolean())
      .map(([lines, end, isEnded]) => lines.join(end) + (isEnded ? end : ''))
      // What PostgreSQL counts as white space decides, and the alphabet has white space of Unicode.
      .filter((it) => /[\w#~`]/.test(it));
    await fc.assert(
      fc.asyncProperty(markdown, async (it) => {
        const pieces = await cut(it);
        expect(pieces.map(({ body_md }) => body_md).join('')).toBe(it);
        expect(pieces.map(({ position }) => position)).toStrictEqual(pieces.map((_, index) => index + 1));
        for (const { body_md, heading, level } of pieces) {
          expect(body_md).toMatch(/\S/);
          expect(heading).toMatch(/\S/);
          expect(level).toBeLessThanOrEqual(6);
          // A line that is too long is cut at characters, which have up to four bytes.
          expect(bytes(body_md)).toBeLessThanOrEqual(2 * MOST);
        }
      }),
      { numRuns: 100, seed: 15 },
    );
  });

  it('joins short sections with their neighbours and cuts long ones between paragraphs', async () => {
    const short = (name: string) => `## ${name}\n\n${text(520)}\n`;
    const long = `## Long\n\n${Array.from({ length: 8 }, () => text(800)).join('\n')}\n`;
    const pieces = await cut(`# Top\n\n${short('A')}${short('B')}${short('C')}${short('D')}${long}## End\n\nShort.\n`);
    for (const { body_md } of pieces) {
      expect(bytes(body_md)).toBeGreaterThanOrEqual(LEAST);
      expect(bytes(body_md)).toBeLessThanOrEqual(MOST);
    }
    expect(pieces.map(({ heading }) => heading)).toStrictEqual(['Top', 'C', 'Long', 'Long', 'Long']);
    for (const { body_md } of pieces.slice(3)) expect(body_md).toMatch(/^lorem/);
    expect(pieces.at(-1)!.body_md).toContain('## End');
  });

  it('gives each piece the heading that it begins with or stands under, and the title before the first one', async () => {
    const long = text(1200);
    expect(
      await headings(`${long}\n# One #\n\n${long}\n${long}\n${long}\n\nTwo\n---\n${long}###### Six\n\n${long}`),
    ).toStrictEqual(['0 The title', '1 One', '1 One', '2 Two', '6 Six']);
    expect(await headings('Only text.')).toStrictEqual(['0 The title']);
    expect(await headings('#\n\nText below an empty heading.')).toStrictEqual(['1 The title']);
  });

  it('sees no heading in fenced code, in front matter, in a list or below a table', async () => {
    const long = text(1200);
    for (const hidden of [
      `\`\`\`sh\n${long}# install\n${long}\`\`\`\n`,
      `~~~~\n${long}\n~~~\n# still code\n\n${long}~~~~\n`,
      `${long}\n- item\n---\n${long}`,
      `${long}\n| a |\n---\n${long}`,
      `${long}\n    # code\n${long}`,
      `${long}\n#hashtag\n${long}`,
      `${long}\ntwo lines\nof text\n---\n${long}`,
      `\`\`\`never closed\n${long}\n# in it\n${long}`,
    ])
      expect(new Set(await headings(hidden))).toStrictEqual(new Set(['0 The title']));
    expect(await headings(`---\n# a comment\ntitle: x\n---\n\n# Real\n`)).toStrictEqual(['0 The title']);
    expect(await headings(`---\r\nname: ${text(1200)}\r\n---\r\n# Real\r\n`)).toStrictEqual(['0 The title']);
  });

  const titleOf = async (markdown: string, source: string | null = null) =>
    (await db.sql('C', 'select documents.title_of($1, $2) as title', [markdown, source]))[0].title;

  it.each([
    ['a comment', '<!-- draft\n# No heading\nNo heading\n===\n-->\n# Real\n'],
    ['a comment on one line', '<!-- # No heading -->\n# Real\n'],
    [
      'two comments, one of them in a fence',
      '```\n<!--\n```\n<!-- a -->\n  <!-- b\n# No\n  end --> text\n---\n# Real\n',
    ],
    ['a comment that ends in a fence of its own', '<!--\n```\n-->\n# Real\n'],
    ['front matter in YAML', '---\n# comment\ntitle: x\n---\n# Real\n'],
    ['front matter in TOML', '+++\n# comment\ntitle = "x"\n+++\n# Real\n'],
    ['front matter behind a byte order mark', '\uFEFF---\r\n# comment\r\ntitle: x\r\n...\r\n# Real\r\n'],
    ['nothing but a byte order mark', '\uFEFF# Real\n'],
    ['a byte order mark before a line that is underlined', '\uFEFFReal\n====\n'],
    ['a heading without text', '#\n\n## Real ##\n'],
  ])('finds the first heading behind %s', async (_, markdown) => {
    expect(await titleOf(markdown)).toBe('Real');
  });

  it('takes the end of the path for the title where there is no heading', async () => {
    expect(await titleOf('<!-- never closed\n# No\n', 'docs/a/plan.md')).toBe('plan.md');
    expect(await titleOf('Text', 'https://example.org/guide/')).toBe('guide');
    expect(await titleOf('Text', 'readme.md')).toBe('readme.md');
    expect([await titleOf('Text'), await titleOf('Text', '///')]).toStrictEqual([null, null]);
  });

  it('keeps a fence whole where it fits, and cuts it between lines where it does not', async () => {
    const code = Array.from({ length: 30 }, (_, n) => `line ${n} ${text(50)}`).join('\n');
    const [first, second] = await cut(`${text(1500)}\n\`\`\`\n${code}\`\`\`\n`);
    expect(first!.body_md).toBe(`${text(1500)}\n`);
    expect(second!.body_md).toMatch(/^```[\s\S]*```\n$/);
    const pieces = await cut(`\`\`\`\n${code.repeat(5)}\`\`\`\n`);
    expect(pieces.length).toBeGreaterThan(2);
    for (const { body_md } of pieces) expect(body_md).toMatch(/\n$/);
  });

  it('refuses a blank text and one of more than 4 MiB', async () => {
    const check = (markdown: string) => db.sql('C', 'select documents.check_body($1)', [markdown]);
    await expect(check(' \r\n\t')).rejects.toMatchObject({ code: 'L9VAL', column: 'body_md' });
    await expect(check('x'.repeat(4 * 1024 * 1024 + 1))).rejects.toMatchObject({ code: 'L9LIM', column: 'body_md' });
  });
});

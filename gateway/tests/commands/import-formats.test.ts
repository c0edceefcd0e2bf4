// What `l9-memory import` recognises by itself: exports of other systems, Markdown, documents of JSON, encodings.
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { readImport } from '../../src/commands/imports/index.ts';
import { lines, useImports } from './support/imports.ts';
import { zip } from './support/zip.ts';

const { file, into, stored } = useImports();

const saved = async (project: string) =>
  (await stored('C', `project_id = '${project}'`)).sort((a, b) => (a.content < b.content ? -1 : 1));
const told = (inserted: number, skipped = 0, failed = 0) =>
  `${inserted} inserted, ${skipped} skipped as duplicates, ${failed} failed\n`;

// Files are read before a database is asked, so one run of these is enough.
describeOnEmbedded('the bar of an import', () => {
  /** The share of a file that the bar may show once the first tenth of its memories is saved. */
  async function afterATenth(name: string, text: string): Promise<number> {
    let taken = 0;
    let before = 0;
    const ends: number[] = [];
    async function* whole() {
      yield text;
    }
    for await (const { part = 1 } of readImport(name, whole(), undefined, (count) => {
      taken += count;
    })) {
      ends.push(before + (taken - before) * part);
      if (part === 1) before = taken;
    }
    return ends[Math.floor(ends.length / 10)]! / text.length;
  }
  const turn = (n: number) => ({
    role: n % 2 ? 'user' : 'assistant',
    content: `turn ${n} of a long talk about the mill`,
  });

  it.each([
    ['lines.jsonl', lines(...Array.from({ length: 2_000 }, (_, n) => ({ content: `memory ${n} of the mill` })))],
    ['list.json', JSON.stringify(Array.from({ length: 2_000 }, (_, n) => ({ content: `memory ${n} of the mill` })))],
    ['table.csv', ['text', ...Array.from({ length: 20_000 }, (_, n) => `memory ${n} of the mill`)].join('\n')],
    ['talk.jsonl', lines(...Array.from({ length: 2_000 }, (_, n) => turn(n)))],
    ['talk.json', JSON.stringify({ session_id: 's', messages: Array.from({ length: 2_000 }, (_, n) => turn(n)) })],
  ])('counts what is saved of %s, not what is read', async (name, text) => {
    const share = await afterATenth(name, text);
    expect(share).toBeGreaterThan(0.05);
    expect(share).toBeLessThan(0.4);
  });
});

describeOnEmbedded('l9-memory import', () => {
  it('reads a bank of Hindsight: a list of its units, lines of them, or the whole bank', async () => {
    const units = [
      {
        ...{ id: 'u-1', text: 'Ann repairs the upper mill.', context: 'work', fact_type: 'world', tags: ['mill'] },
        ...{
          occurred_start: '2026-01-05T10:00:00+00:00',
          mentioned_at: '2026-01-06T10:00:00+00:00',
          document_id: 'd-1',
        },
        ...{ entities: [{ id: 'e', name: 'Ann' }], metadata: { place: 'valley' } },
      },
      {
        id: 'u-2',
        text: 'Ben saw an otter.',
        fact_type: 'experience',
        occurred_start: null,
        mentioned_at: '2026-01-07T10:00:00Z',
      },
      { id: 'u-3', text: '', fact_type: 'world' },
    ];
    const listed = await into(
      'bank',
      file('list.json', JSON.stringify({ items: units, total: 3, limit: 100, offset: 0 })),
    );
    expect([listed.code, listed.out]).toStrictEqual([1, told(2, 0, 1)]);
    expect(listed.err).toMatch(/list\.json:1: text: must be a text/);
    const [ann, ben] = await saved('bank');
    expect([ann.tags, ann.timestamp.toISOString(), ann.envelope]).toMatchObject([
      ['mill'],
      '2026-01-05T10:00:00.000Z',
      { place: 'valley', hindsight: { id: 'u-1', fact_type: 'world', document_id: 'd-1', context: 'work' } },
    ]);
    expect(ben.timestamp.toISOString()).toBe('2026-01-07T10:00:00.000Z');
    const good = units.slice(0, 2);
    expect((await into('bank', file('units.jsonl', lines(...good)))).out).toBe(told(0, 2));
    const bank = {
      version: '1',
      bank: { bank_id: 'valley', mission: 'x'.repeat(100_000) },
      documents: [],
      memory_units: good,
    };
    for (const [name, text] of [
      ['bank.json', JSON.stringify(bank)],
      ['bank-indented.json', JSON.stringify(bank, null, 2)],
    ] as const)
      expect((await into('bank', file(name, text))).out).toBe(told(0, 2));
    // Something with a text that is no unit is not taken for one.
    expect((await into('bank', file('other.jsonl', lines({ text: 'something' })))).err).toMatch(/content: /);
  });

  it('reads the archives that Hindsight and ChatGPT export, and says of others what to do', async () => {
    const fact = { text: 'Ann repairs the lower mill.', fact_type: 'world', mentioned_at: '2026-01-06T10:00:00Z' };
    const observation = {
      text: 'Ann repairs mills.',
      mentioned_at: '2026-01-07T10:00:00Z',
      proof_count: 2,
      sources: [],
    };
    const bank = zip({
      'banks.json': '[{ "bank_id": "valley" }]',
      // The text of a document is longer than what is looked at to tell what a file is.
      'documents/000000.json': JSON.stringify(
        { id: 'd-1', original_text: 'x'.repeat(300_000), facts: [fact] },
        null,
        2,
      ),
      'observations.json': JSON.stringify([observation]),
      'manifest.json': '{ "schema_version": 1 }',
    });
    const path = file('bank.zip', bank);
    expect(await into('valley', path)).toMatchObject({ code: 0, out: told(2), err: '' });
    expect((await into('valley', path)).out).toBe(told(0, 2));
    expect((await saved('valley')).map(({ envelope }) => envelope.hindsight)).toStrictEqual([
      { fact_type: 'observation' },
      { fact_type: 'world', document_id: 'd-1' },
    ]);
    const said = { author: { role: 'user' }, content: { content_type: 'text', parts: ['Where is the weir?'] } };
    const talk = {
      conversation_id: 'c-1',
      mapping: { a: { message: said, children: [] } },
      create_time: 1_767_700_000,
    };
    const history = zip({ 'user.json': '{}', 'conversations.json': JSON.stringify([talk]) });
    expect((await into('talks', file('history.zip', history))).out).toBe(told(1));
    for (const [name, bytes, reason] of [
      [
        'notes.zip',
        zip({ 'notes.md': 'A note.' }),
        'this archive is no export of ChatGPT, Claude or Hindsight: unpack it',
      ],
      ['cut.zip', bank.subarray(0, bank.length - 30), 'this archive is damaged'],
    ] as const)
      expect(await into('valley', file(name, bytes))).toMatchObject({ code: 1, err: expect.stringContaining(reason) });
  });

  it('reads a file of Markdown as one memory, with what its front matter says', async () => {
    const page =
      '\uFEFF---\r\ntitle: The mill\r\ntags: [mill, "#river"]\r\naliases: [Old Mill]\r\ndate: 2026-02-03 10:00\r\n---\r\n# Mill\r\n\r\nIt turns.\r\n';
    const path = file('mill.md', page);
    const first = await into('notes', path);
    expect([first.out, first.err]).toStrictEqual([told(1), expect.stringMatching(/no zone and was read as UTC/)]);
    const [mill] = await saved('notes');
    expect([
      mill.content,
      mill.tags,
      mill.envelope.title,
      mill.envelope.aliases,
      mill.timestamp.toISOString(),
    ]).toStrictEqual(['# Mill\n\nIt turns.', ['mill', 'river'], 'The mill', ['Old Mill'], '2026-02-03T10:00:00.000Z']);
    expect((await into('notes', path)).out).toBe(told(0, 1));
    // The name tells it, or the front matter.
    expect((await into('notes', file('plain.markdown', 'A plain page, with content.\n'))).out).toBe(told(1));
    expect((await into('notes', file('noname', '---\ntitle: Weir\n---\nThe weir is low.\n'))).out).toBe(told(1));
    expect((await into('notes', file('broken.md', '---\ntags: [\n---\nStill a page.\n'))).err).toMatch(/no valid YAML/);
    expect((await into('notes', '--from', 'markdown', file('forced.txt', 'Some text'))).out).toBe(told(1));
    expect((await into('notes', file('empty.md', '---\ntitle: x\n---\n'))).err).toMatch(/empty\.md:1: content: /);
  });

  it('reads documents of JSON that go over several lines, one after the other', async () => {
    const two = [{ content: 'First, with a } in it', nested: { a: [1] } }, { content: 'Second' }];
    const text = two.map((one) => JSON.stringify(one, null, 2)).join('\n\n');
    const path = file('documents.json', `${text}\n{\n  "content": oops\n}\n{ "content": "Fourth" }\n`);
    const ended = await into('documents', path);
    expect([ended.out, ended.err]).toStrictEqual([told(3, 0, 1), `${path}:13: not valid JSON\n`]);
    const [first] = await saved('documents');
    expect(first.envelope.nested).toStrictEqual({ a: [1] });
  });

  it('stores nothing broken of another encoding, and converts it where it is named', async () => {
    const text = '{"content":"Grüße aus Köln"}\n{"content":"Zweite Zeile für Jürgen"}\n';
    const table = 'text;tags\nDie Mühle in Köln;mühle\n';
    const page = '---\ntitle: Mühle\n---\nDie Mühle läuft.\n';
    const utf16be = Buffer.from(`\uFEFF${text}`, 'utf16le').swap16();
    for (const [name, bytes, encoding] of [
      ['latin1.jsonl', Buffer.from(text, 'latin1'), 'latin1'],
      ['utf16.jsonl', Buffer.from(`\uFEFF${text}`, 'utf16le'), 'utf-16'],
      ['utf16be.jsonl', utf16be, 'utf-16'],
      ['latin1.csv', Buffer.from(table, 'latin1'), 'latin1'],
      ['latin1.md', Buffer.from(page, 'latin1'), 'latin1'],
      ['utf16.md', Buffer.from(`\uFEFF${page}`, 'utf16le'), 'utf-16'],
    ] as const) {
      const path = file(name, bytes);
      const project = name.replace('.', '-');
      const refused = await into(project, path);
      expect([refused.code, refused.err]).toStrictEqual([
        1,
        expect.stringMatching(/not UTF-8; --encoding latin1 or utf-16/),
      ]);
      expect(await saved(project), name).toStrictEqual([]);
      const taken = await into(project, '--encoding', encoding, path);
      expect([taken.code, taken.err], name).toStrictEqual([0, '']);
      const contents = (await saved(project)).map(({ content }) => content).join('\n');
      expect(contents, name).toMatch(/Köln|Die Mühle läuft\./);
      expect(contents, name).not.toMatch(/[\uFFFD\uFEFF]|Ã/);
    }
    // What is not in the encoding that is named is refused, too.
    const odd = await into('odd', '--encoding', 'utf-16', file('odd.md', Buffer.from([0x41, 0x00, 0x00, 0xd8, 0x42])));
    expect([odd.code, (await saved('odd')).length]).toStrictEqual([1, 0]);
    const unknown = await into('odd', '--encoding', 'ebcdic', file('any.md', 'x'));
    expect(unknown.err).toBe('--encoding: one of utf-8, latin1, utf-16\n');
    expect((await into('odd', '--from', 'excel', file('any.md', 'x'))).err).toMatch(
      /^--from: one of memories, mem0, .*markdown/,
    );
  });
});

// Documents by memory_store.
import fc from 'fast-check';
import { useTestDatabase } from '../support/test-database.ts';

describe('memory_store of documents', () => {
  const db = useTestDatabase({ rollsBack: true });

  it('gives a document without a title that of its text, and finds it under its aliases', async () => {
    const store = async (data: object) => {
      const items = JSON.stringify([{ kind: 'document', project_id: 'l9', data }]);
      return (await db.sql('C', 'select * from public.memory_store($1)', [items]))[0];
    };
    const { packet_id } = await store({
      source_url: 'notes/marten.md',
      aliases: ['Baummarder'],
      body_md: 'The marten\n===\n\nIt climbs.\n',
    });
    const [{ title, content }] = await db.sql(
      'C',
      'select title, content from public.packet_store where packet_id = $1',
      [packet_id],
    );
    expect([title, content]).toStrictEqual(['The marten', 'The marten\n\n- Baummarder']);
    expect(await store({ body_md: 'Neither a heading nor a source.' })).toMatchObject({ field: 'title' });
    const { packet_id: named } = await store({ source_url: 'notes/owl.md', title: ' ', body_md: 'Neither.' });
    expect(await db.sql('C', 'select title from public.packet_store where packet_id = $1', [named])).toStrictEqual([
      { title: 'owl.md' },
    ]);
  });

  it('stores the text of those that follow a refused one', async () => {
    const key = `ghp_${'x8Kq2mV9rT4wB7nZ1cF6'}${'hJ3dL5gP0sYaE2uQ'}`;
    const bodies = ['# One\n', `# Two\n\n${key}\n`, '# Three\n', '# Four\n'];
    const items = bodies.map((body_md, n) => ({
      kind: 'document',
      project_id: 'l9',
      data: { title: `Title ${n}`, source_url: `a/${n}.md`, body_md },
    }));
    const answers = await db.sql('C', 'select * from public.memory_store($1)', [JSON.stringify(items)]);
    expect(answers.map(({ status, sqlstate }) => status ?? sqlstate)).toStrictEqual([
      'inserted',
      'L9SEC',
      'inserted',
      'inserted',
    ]);
    for (const n of [0, 2, 3])
      expect(await db.sql('C', 'select body_md from public.get_document($1)', [answers[n]!.packet_id])).toStrictEqual([
        { body_md: bodies[n] },
      ]);
  });

  const store = async (data: object, more: object = {}, caller = 'C') =>
    (
      await db.sql(caller, 'select * from public.memory_store($1)', [
        JSON.stringify([{ kind: 'document', project_id: 'l9', ...more, data }]),
      ])
    )[0];
  const approval = { approved_at: '2026-11-01T10:00:00Z', approved_by: 'Ann' };
  const textOf = async (id: string) => {
    const [document] = await db.sql('C', 'select body_md from public.get_document($1)', [id]);
    const [memory] = await db.sql('C', 'select envelope from public.packet_store where packet_id = $1', [id]);
    return { ...document, ...memory };
  };

  it('stores an approved document with its text, and approves one that is there', async () => {
    const whole = { title: 'Approved', body_md: '# Approved\n', ...approval };
    const first = await store(whole);
    expect(first).toMatchObject({ status: 'inserted', sqlstate: null });
    expect(await textOf(first.packet_id)).toMatchObject({ body_md: '# Approved\n', envelope: approval });
    expect(await store(whole)).toMatchObject({ status: 'skipped_dedupe', packet_id: first.packet_id });

    const draft = await store({ title: 'Draft', body_md: '# Draft\n' });
    expect(await store({ title: 'Draft', body_md: '# Final\n', ...approval })).toMatchObject({
      status: 'updated',
      packet_id: draft.packet_id,
    });
    expect(await textOf(draft.packet_id)).toMatchObject({ body_md: '# Final\n', envelope: approval });
    const same = await store({ title: 'Same', body_md: '# Same\n' });
    expect(await store({ title: 'Same', body_md: '# Same\n', ...approval })).toMatchObject({ status: 'updated' });
    expect(await textOf(same.packet_id)).toMatchObject({ envelope: approval });
  });

  it('keeps text and approval of an approved document, and names what is locked', async () => {
    const title = 'Locked';
    const body_md = '# Locked\n';
    const { packet_id } = await store({ title, body_md, ...approval });
    const other = '# Changed\n';
    for (const [field, data] of [
      ['body_md', { body_md: other }],
      ['body_md', { body_md: other, ...approval }],
      ['body_md', { body_md: other, approved_at: '2026-11-02T10:00:00Z' }],
      ['approved_at', { body_md: other, approved_at: null }],
      ['approved_at', { body_md, approved_at: '2026-11-02T10:00:00Z' }],
      ['approved_by', { body_md, ...approval, approved_by: 'Bob' }],
    ] as const)
      expect(await store({ title, ...data }), JSON.stringify(data)).toMatchObject({
        sqlstate: 'L9IMM',
        field,
        message: `${field}: is locked in this document; store a new document under another title or link`,
      });
    expect(await textOf(packet_id)).toMatchObject({ body_md, envelope: approval });
  });

  it('stores nothing of a document whose approval is refused, and lets only its writer approve it', async () => {
    expect(await store({ title: 'Soon', body_md: '# Soon\n', approved_at: 'tomorrow' })).toMatchObject({
      sqlstate: 'L9VAL',
      field: 'approved_at',
    });
    expect(await db.sql('C', "select from public.packet_store where title = 'Soon'")).toStrictEqual([]);
    const ofL = { title: 'Of L', body_md: '# Of L\n' };
    const { packet_id } = await store(ofL, {}, 'L');
    expect(await store({ ...ofL, ...approval })).toMatchObject({ sqlstate: 'L9OWN' });
    expect((await textOf(packet_id)).envelope).not.toHaveProperty('approved_at');
  });

  it.each([5, true, { a: 1 }, ['# One']])('refuses a text that is none: %j', async (body_md) => {
    for (const more of [{}, { idempotency_key: 'no text' }])
      expect(await store({ title: 'No text', body_md }, more)).toMatchObject({
        sqlstate: 'L9VAL',
        field: 'body_md',
        message: 'body_md: must be a text',
      });
  });

  describe('of a text that is stored in several calls', () => {
    /** Calls until the text is whole, and returns what each call answered. */
    async function storeInParts(body_md: string, source_url: string, sections: number, first = false) {
      const items = JSON.stringify([
        { kind: 'document', project_id: 'l9', data: { title: 'Long', source_url, body_md } },
      ]);
      const answers: Row[] = [];
      do {
        const isContinued = first || answers.length > 0;
        const query = 'select * from public.memory_store($1, sections => $2, is_continued => $3)';
        answers.push((await db.sql('C', query, [items, sections, isContinued]))[0]);
      } while (answers.at(-1)!.is_unfinished);
      return answers;
    }
    type Row = { is_unfinished: boolean; packet_id: string; sqlstate: string | null; status: string };
    const sectionsOf = (source_url: string) =>
      db.sql(
        'C',
        `select s.envelope - 'document_id' as fields from public.packet_store d join public.packet_store s on s.part_of = d.packet_id
         where d.envelope ->> 'source_url' = $1 order by (s.envelope ->> 'position')::numeric`,
        [source_url],
      );
    const paragraph = (n: number, length: number) => `${`word${n} of a paragraph `.repeat(length)}\n\n`;

    it('has the sections that one call makes, wherever the calls end', async () => {
      const block = fc.oneof(
        {
          weight: 4,
          arbitrary: fc.tuple(fc.nat(5), fc.integer({ min: 1, max: 90 })).map(([n, length]) => paragraph(n, length)),
        },
        // Of one line several sections have the same text.
        fc.integer({ min: 3000, max: 8000 }).map((length) => `${'la '.repeat(length / 3)}\n`),
        fc.constantFrom(
          '# One\n\n',
          '## Two\n',
          'Three\n===\n\n',
          '```\n# no heading\n\n',
          '```\n',
          '<!-- a\n',
          '-->\n',
          ' \n\n\n',
          '---\n',
        ),
      );
      const front = fc.constantFrom('', '---\ntitle: x\n# no heading\n---\n');
      let n = 0;
      await fc.assert(
        fc.asyncProperty(
          front,
          fc.array(block, { minLength: 20, maxLength: 60, size: 'max' }),
          fc.integer({ min: 3, max: 12 }),
          async (before, blocks, sections) => {
            const body_md = `${before}${blocks.join('')}The end.`;
            n += 1;
            await storeInParts(body_md, `whole-${n}.md`, 10_000);
            await storeInParts(body_md, `parts-${n}.md`, sections);
            expect(await sectionsOf(`parts-${n}.md`).then(withoutSource)).toStrictEqual(
              await sectionsOf(`whole-${n}.md`).then(withoutSource),
            );
          },
        ),
        { numRuns: 5 },
      );
    });
    const withoutSource = (rows: { fields: object }[]) =>
      rows.map(({ fields }) => ({ ...fields, source_url: null, content: null }));

    const SECRET = `password = "${'x9!aBcDeF'}7Q"`;
    const long = Array.from({ length: 60 }, (_, n) => `# Part ${n}\n\n${paragraph(n, 80)}`).join('');

    it('is refused before anything of it is stored if its end has a secret', async () => {
      const [answer] = await storeInParts(`${long}\n\n${SECRET}\n`, 'secret.md', 5);
      expect(answer).toMatchObject({ sqlstate: 'L9SEC' });
      expect(await sectionsOf('secret.md')).toStrictEqual([]);
    });

    it.each([
      ['of another text', async () => void (await storeInParts(long.slice(0, 20_000), 'forged.md', 5))],
      ['of no text', async () => {}],
    ])('has no secret stored by a caller who says that it goes on with one %s', async (_, before) => {
      await before();
      const answers = await storeInParts(`${long}\n\n${SECRET}\n`, 'forged.md', 5, true);
      expect(answers.at(-1)).toMatchObject({ sqlstate: 'L9SEC' });
      const [{ many }] = await db.asSuperuser(
        "select count(*)::integer as many from public.packet_store where strpos(envelope::text, 'x9!aBc') > 0",
      );
      expect(many).toBe(0);
    });

    it('is not changed by a caller who says that it goes on with the document of another', async () => {
      const items = (body_md: string) =>
        JSON.stringify([
          { kind: 'document', project_id: 'l9', data: { title: 'Of L', source_url: 'of-l.md', body_md } },
        ]);
      await db.sql('L', 'select * from public.memory_store($1)', [items(long)]);
      const [{ packet_id }] = await db.sql(
        'C',
        "select packet_id from public.packet_store where envelope ->> 'source_url' = 'of-l.md' and packet_type = 'document'",
      );
      const query = 'select * from public.memory_store($1, sections => 5, is_continued => true)';
      const [answer] = await db.sql('C', query, [items(`${long}# More\n\nof C\n`)]);
      expect(answer.packet_id).not.toBe(packet_id);
      const [{ body_md }] = await db.sql('C', 'select body_md from public.get_document($1)', [packet_id]);
      expect(body_md).toBe(long);
    });
  });
});

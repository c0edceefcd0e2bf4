// The Markdown of a document, kept as its sections.
import { useTestDatabase } from '../support/test-database.ts';

interface Section {
  packet_id: string;
  heading: string;
  level: number;
  position: number;
  body: string;
  occurrence: number | null;
  versions: number;
}

describe('documents.store_body', () => {
  const db = useTestDatabase();
  let count = 0;

  const create = async (more: { scope?: string; tags?: string[]; caller?: string } = {}): Promise<string> =>
    (
      await db.sql(
        more.caller ?? 'C',
        `select (r.memory).packet_id as id from public.save_memory(kind => 'document', project_id => 'l9', envelope => $1, scope => $2, tags => $3) r`,
        [{ title: 'Guide', source_url: `guide-${++count}.md` }, more.scope ?? 'developer', more.tags ?? []],
      )
    )[0].id;
  const store = async (id: string, body: string, caller = 'C'): Promise<boolean> =>
    (
      await db.sql(
        caller,
        'select documents.store_body(p, $2) as changed from public.packet_store p where packet_id = $1',
        [id, body],
      )
    )[0].changed;
  const sections = (id: string): Promise<Section[]> =>
    db.sql(
      'L',
      `select s.packet_id, s.envelope ->> 'heading' as heading, (s.envelope ->> 'level')::integer as level, (s.envelope ->> 'position')::float8 as position,
         s.envelope ->> 'body_md' as body, (s.envelope ->> 'occurrence')::integer as occurrence,
         (select count(*)::integer from public.packet_versions v where v.packet_id = s.packet_id) as versions
       from documents.sections_of($1) s`,
      [id],
    ) as Promise<Section[]>;
  const whole = async (id: string) => (await sections(id)).map(({ body }) => body).join('');
  const auditRows = async () =>
    Object.fromEntries(
      (
        await db.sql(
          'L',
          `select operation, count(*)::integer as n from public.audit_log
           where table_name = 'packet_store' and operation in ('INSERT', 'UPDATE', 'DELETE') group by operation`,
        )
      ).map(({ operation, n }) => [operation, n]),
    ) as Record<string, number>;
  /** How many rows were inserted, updated and deleted. */
  const written = async (work: () => Promise<unknown>) => {
    const before = await auditRows();
    await work();
    const after = await auditRows();
    return ['INSERT', 'UPDATE', 'DELETE'].map((operation) => (after[operation] ?? 0) - (before[operation] ?? 0));
  };

  const part = (name: string, length = 1500) =>
    `## ${name}\n\n${`${name} words `.repeat(length / (name.length + 7))}\n\n`;
  const names = ['Alpha', 'Beta', 'Gamma', 'Delta', 'Epsilon', 'Zeta'];
  const guide = (of = names) => of.map((name) => part(name)).join('');

  it('keeps the text byte for byte and writes nothing when it is stored again', async () => {
    const id = await create({ tags: ['manual'] });
    const body = `\r\n${guide()}  \r\nNo end`;
    expect(await written(() => store(id, body))).toStrictEqual([6, 0, 0]);
    expect(await whole(id)).toBe(body);
    expect((await sections(id)).map(({ heading }) => heading)).toStrictEqual(names);
    expect(await written(async () => expect(await store(id, body)).toBe(false))).toStrictEqual([0, 0, 0]);
    const [row] = await db.sql('C', 'select * from public.packet_store where part_of = $1 limit 1', [id]);
    expect(row).toMatchObject({ packet_type: 'section', scope: 'developer', project_id: 'l9', tags: ['manual'] });
  });

  it('updates a changed section in place, inserts new ones and deletes vanished ones, and touches no other', async () => {
    const id = await create();
    await store(id, guide());
    const before = await sections(id);
    const changed = guide().replace('Gamma words', 'Gamma WORDS and more');
    expect(await written(() => store(id, changed))).toStrictEqual([0, 1, 0]);
    expect(await whole(id)).toBe(changed);
    const after = await sections(id);
    expect(after.map(({ packet_id }) => packet_id)).toStrictEqual(before.map(({ packet_id }) => packet_id));
    expect(after.map(({ versions }) => versions)).toStrictEqual([0, 0, 1, 0, 0, 0]);

    const added = changed.replace('## Delta', `${part('New')}## Delta`);
    expect(await written(() => store(id, added))).toStrictEqual([1, 0, 0]);
    expect(await whole(id)).toBe(added);
    expect((await sections(id))[3]).toMatchObject({ heading: 'New', position: 3.5 });
    const removed = added.replace(part('Beta'), '');
    expect(await written(() => store(id, removed))).toStrictEqual([0, 0, 1]);
    expect(await whole(id)).toBe(removed);
  });

  it('touches only what changed at several places at once', async () => {
    const id = await create();
    const many = Array.from({ length: 30 }, (_, n) => `Part${n}`);
    await store(id, guide(many));
    let body = guide(many);
    for (const n of [2, 9, 17, 29]) body = body.replace(`Part${n} words`, `Part${n} other words`);
    body = body.replace(part('Part12'), '').replace('## Part20', `${part('Between')}## Part20`);
    expect(await written(() => store(id, body))).toStrictEqual([1, 4, 1]);
    expect(await whole(id)).toBe(body);
  });

  it('does not cut elsewhere anew because a section grew or shrank', async () => {
    const id = await create();
    const short = Array.from({ length: 40 }, (_, n) => part(`P${n}`, 450));
    await store(id, short.join(''));
    short[3] = short[3]!.replace('P3 words ', 'P3 words '.repeat(60));
    expect(await written(() => store(id, short.join('')))).toStrictEqual([0, 1, 0]);
    short[20] = part('P20', 30);
    expect(await written(() => store(id, short.join('')))).toStrictEqual([0, 1, 0]);
    expect(await whole(id)).toBe(short.join(''));
  });

  it('joins what is added bit by bit, rather than make a section of every bit', async () => {
    const id = await create();
    let body = part('Log');
    for (let n = 0; n < 20; n++) {
      body += `- entry ${n}: ${'something happened '.repeat(10)}\n`;
      await store(id, body);
    }
    const kept = await sections(id);
    expect(await whole(id)).toBe(body);
    expect(kept.length).toBeLessThanOrEqual(4);
  });

  it('moves a section without changing it, and keeps its id', async () => {
    const id = await create();
    await store(id, guide());
    const before = await sections(id);
    const moved = guide(['Epsilon', ...names.filter((name) => name !== 'Epsilon')]);
    expect(await written(() => store(id, moved))).toStrictEqual([0, 1, 0]);
    const after = await sections(id);
    expect(await whole(id)).toBe(moved);
    expect(after[0]!.packet_id).toBe(before[4]!.packet_id);
  });

  it('tells equal texts apart, and puts a text in the place of another that still has it', async () => {
    const id = await create();
    const twice = ['Same', 'Other', 'Same', 'Same'];
    await store(id, guide(twice));
    expect((await sections(id)).map(({ occurrence }) => occurrence)).toStrictEqual([null, null, 2, 3]);
    for (const next of [
      ['Other', 'Same', 'Same'],
      ['Same', 'SAME', 'same', 'Other', 'Other'],
      ['Other', 'same', 'Same', 'Other', 'SAME'],
      ['B', 'A', 'Same', 'A', 'B'],
      ['A', 'B', 'A', 'B'],
      ['b', 'a', 'b', 'a', 'B', 'A'],
    ]) {
      await store(id, guide(next));
      expect(await whole(id)).toBe(guide(next));
      expect(await store(id, guide(next))).toBe(false);
    }
  });

  it('keeps positions in order though sections are added between the same two again and again', async () => {
    const id = await create();
    const tail = part('Tail');
    let body = part('Head') + tail;
    await store(id, body);
    for (let n = 0; n < 40; n++) {
      body = part('Head') + part(`N${n}`, 1100) + body.slice(part('Head').length);
      await store(id, body);
      expect(await whole(id)).toBe(body);
    }
    const positions = (await sections(id)).map(({ position }) => position);
    expect(positions).toStrictEqual([...new Set(positions)].sort((a, b) => a - b));
  });

  it('gives sections that stay the heading and the tags that changed around them', async () => {
    const id = await create();
    const body = `# Old\n\n${'Many words here. '.repeat(100)}\n\n${'More words here. '.repeat(100)}\n\n${'Last words here. '.repeat(100)}\n`;
    await store(id, body);
    expect((await sections(id)).map(({ heading }) => heading)).toStrictEqual(['Old', 'Old', 'Old']);
    await store(id, body.replace('# Old', '# New'));
    expect((await sections(id)).map(({ heading }) => heading)).toStrictEqual(['New', 'New', 'New']);
    await db.sql('C', "select public.update_memory($1, tags => '{a,b}')", [id]);
    expect(await store(id, body.replace('# Old', '# New'))).toBe(true);
    const tags = await db.sql('C', 'select distinct tags from public.packet_store where part_of = $1', [id]);
    expect(tags).toStrictEqual([{ tags: ['a', 'b'] }]);
  });

  it('stores any text in place of any other', async () => {
    const id = await create();
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 48271) % 2147483647;
      return seed % below;
    };
    const pool = [
      ...names.map((name) => part(name, 300 + 500 * random(4))),
      '\n\n',
      '```\n# code\n',
      '```\n',
      'x\n---\n',
      'word '.repeat(900),
      '\r\n',
    ];
    for (let n = 0; n < 40; n++) {
      const body = `${Array.from({ length: 1 + random(14) }, () => pool[random(pool.length)]).join('')}end`;
      await store(id, body);
      expect(await whole(id)).toBe(body);
      expect(await store(id, body)).toBe(false);
    }
  });

  it('changes nothing of a document that another caller wrote or that is approved', async () => {
    const ofL = await create({ caller: 'L' });
    await store(ofL, guide(), 'L');
    await expect(store(ofL, guide().replace('Beta', 'Two'))).rejects.toMatchObject({ code: 'L9OWN' });
    expect(await store(ofL, guide())).toBe(false);
    const ofC = await create();
    await store(ofC, guide());
    await db.sql('C', 'select public.update_memory($1, envelope => $2)', [
      ofC,
      { approved_at: '2026-11-01T00:00:00Z' },
    ]);
    for (const body of [guide().replace('Beta', 'Two'), guide(['Alpha']), guide([...names, 'More'])])
      await expect(store(ofC, body)).rejects.toMatchObject({ code: 'L9IMM' });
    expect(await store(ofC, guide())).toBe(false);
  });

  it('compares with what is stored where the tenant has secrets replaced', async () => {
    await db.sql('L', "select public.set_secret_settings(on_secret => 'redact')");
    const id = await create();
    const body = guide().replace('Beta words', `ghp_${'x8Kq2mV9rT4wB7nZ1cF6'}${'hJ3dL5gP0sYaE2uQ'} words`);
    await store(id, body);
    expect(await whole(id)).toContain('[redacted');
    expect(await written(() => store(id, body))).toStrictEqual([0, 0, 0]);
  });
});

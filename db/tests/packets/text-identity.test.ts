// Prose says the same in any case; commands, identifiers and code don't.
import { callSaveMemory, callUpdateMemory } from '../support/memories.ts';
import { useTestDatabase } from '../support/test-database.ts';

const telling: [string, string, string][] = [
  ['an option', 'Filter the log with grep -v error', 'Filter the log with grep -V error'],
  ['an option of git', 'git branch -d feature removes it', 'git branch -D feature removes it'],
  ['several options', 'tar -xzf a.tar', 'tar -XZF a.tar'],
  ['a long option', 'curl --data-Binary @x', 'curl --data-binary @x'],
  ['a signal', 'kill -HUP the daemon', 'kill -hup the daemon'],
  ['a variable of the environment', 'Set JAVA_HOME before the build', 'Set java_home before the build'],
  ['a variable of the shell', 'echo $PATH on the host', 'echo $path on the host'],
  ['an assignment', 'export PATH=/usr/bin', 'export path=/usr/bin'],
  ['a path', 'The list is in /etc/Hosts today', 'The list is in /etc/hosts today'],
  ['a path of a source', 'See src/Main.java for it', 'See src/main.java for it'],
  ['a file', 'Compile Main.java first', 'Compile main.java first'],
  ['a path of Windows', 'It is in C:\\Users\\Ann', 'It is in c:\\users\\ann'],
  ['a link', 'https://docs.example/AbC shows it', 'https://docs.example/abc shows it'],
  ['an identifier', 'call getUser in the loop', 'call getuser in the loop'],
  ['a class', 'the XMLParser is slow', 'the xmlparser is slow'],
  ['a key of JSON', '{"userId": 1}', '{"userid": 1}'],
  ['a code span', 'use the `Foo` class', 'use the `foo` class'],
  ['a fence', 'so:\n```\nFoo\n```', 'so:\n```\nfoo\n```'],
  ['a class of characters', 'match \\d+ there', 'match \\D+ there'],
  ['a unit', 'the sensor draws 5 mW', 'the sensor draws 5 MW'],
  ['a unit of data', 'a link of 5 MB/s', 'a link of 5 Mb/s'],
  ['a metal', 'a cloud of Co dust', 'a cloud of CO dust'],
  ['YAML', 'a:\n  b: 1', 'a:\nb: 1'],
  ['a deeper list of YAML', 'steps:\n  - a\n    - b', 'steps:\n  - a\n  - b'],
  ['Python', 'if x:\n    y()\nz()', 'if x:\n    y()\n    z()'],
  ['a Makefile', 'all:\n\tmake it', 'all:\nmake it'],
  ['a loop of the shell', 'for i in x; do\n  echo\ndone', 'for i in x; do\necho\ndone'],
];

const prose: [string, string, string][] = [
  ['emphasis', 'We deploy on Tuesdays', 'we DEPLOY on tuesdays'],
  ['abbreviations', 'The API and its URLs are DOWN', 'the api and its urls are down'],
  ['slashes and hyphens', 'TCP/IP and/or I/O is well-known - Yes', 'tcp/ip AND/OR i/o is Well-Known - yes'],
  ['lines that are wrapped', 'Line one\nof two\n\n\nlines', 'line one of two lines'],
  ['items that are wrapped', '- item\n  and more of it', '- Item and more of it'],
  ['times and dates', 'At 5 pm on 3 May', 'at 5 PM on 3 may'],
  ['sentences', 'We met Ann. Then Bob (really) left!', 'we met ann. then bob (REALLY) left!'],
  ['quarters', 'Q3 results are in, see e.g. the Docs', 'q3 results are in, see e.g. the docs'],
  ['other alphabets', 'МЫ ЖДЁМ Straße ÄÖÜ', 'мы ждём straße äöü'],
];

describe('the identity of a text', () => {
  const db = useTestDatabase();
  let serial = 0;
  const place = () => ({ project_id: `case${++serial}` });
  const saved = async (args: object) =>
    (await callSaveMemory(db, 'C', { project_id: 'l9', ...args })) as never as {
      status: string;
      memory: { packet_id: string };
    };
  const stored = (...items: object[]) =>
    db.sql('C', 'select status, sqlstate, packet_id from public.memory_store($1)', [JSON.stringify(items)]);

  it.each(telling)('holds the case or indentation of %s', async (_, one, other) => {
    const p = place();
    expect((await saved({ ...p, content: one })).status).toBe('inserted');
    expect((await saved({ ...p, content: other })).status).toBe('inserted');
    expect((await saved({ ...p, content: ` ${one}\n` })).status).toBe('skipped_dedupe');
    expect((await saved({ ...p, content: other, on_similar: 'skip' })).status).toBe('skipped_dedupe');
  });

  it.each(prose)('leaves out the case of %s', async (_, one, other) => {
    const p = place();
    const [{ hash }] = await db.sql('C', 'select words.case_hash($1) as hash', [one]);
    expect(hash).toBeNull();
    await saved({ ...p, content: one });
    expect((await saved({ ...p, content: other })).status).toBe('skipped_dedupe');
  });

  it('keeps content_hash as it was for all texts', async () => {
    const rows = await db.sql(
      'C',
      `select packets.content_hash(a) = packets.content_hash(b) as is_same from unnest($1::text[], $2::text[]) as t (a, b)`,
      [[...telling, ...prose].map(([, one]) => one), [...telling, ...prose].map(([, , other]) => other)],
    );
    expect(new Set(rows.map(({ is_same }) => is_same))).toStrictEqual(new Set([true]));
  });

  it('counts for near-duplicates, batches, INSERT in psql and updates alike', async () => {
    const p = place();
    const [one, other] = [
      'Filter the long log of the gateway with grep -v error',
      'Filter the long log of the gateway with grep -V error',
    ];
    const first = await saved({ ...p, content: one });
    expect((await saved({ ...p, content: other, on_similar: 'merge' })).status).toBe('inserted');
    expect(await stored({ ...p, data: { content: one } }, { ...p, data: { content: other } })).toMatchObject([
      { status: 'skipped_dedupe' },
      { status: 'skipped_dedupe' },
    ]);
    const q = place();
    expect(
      await stored(
        { ...q, data: { content: one } },
        { ...q, data: { content: other } },
        { ...q, data: { content: one } },
      ),
    ).toMatchObject([{ status: 'inserted' }, { status: 'inserted' }, { status: 'skipped_dedupe' }]);
    const insert = 'insert into public.packet_store (envelope, project_id) values ($1, $2)';
    await expect(db.sql('C', insert, [{ content: other }, p.project_id])).rejects.toMatchObject({ code: '23505' });
    await expect(callUpdateMemory(db, 'C', first.memory.packet_id, { content: other })).rejects.toMatchObject({
      code: 'L9VAL',
      column: 'content',
    });
    const r = place();
    const alone = await saved({ ...r, content: one });
    await callUpdateMemory(db, 'C', alone.memory.packet_id, { content: other });
    expect((await saved({ ...r, content: one })).status).toBe('inserted');
  });

  it('counts for the fields that identify a memory, for lessons and for the sections of a document', async () => {
    const p = place();
    const todo = (text: string) => ({ ...p, kind: 'todo', data: { text, status: 'open' } });
    expect(await stored(todo('Run git branch -d x'), todo('Run git branch -D x'))).toMatchObject([
      { status: 'inserted' },
      { status: 'inserted' },
    ]);
    const reflect = async (content: string) =>
      (await db.sql('C', 'select (public.reflect($1, project_id => $2)).status', [content, p.project_id]))[0].status;
    expect(await reflect('Before the build of the gateway set JAVA_HOME on the host.')).toBe('inserted');
    expect(await reflect('Before the build of the gateway set java_home on the host.')).toBe('inserted');
    expect(await reflect('BEFORE the build of the gateway set JAVA_HOME on the host.')).toBe('reinforced');
    const document = (body_md: string) => ({
      ...p,
      kind: 'document',
      data: { title: 'Shell', source_url: 'docs/shell.md', body_md },
    });
    await stored(document('# Shell\n\nUse grep -v here.'));
    const [again] = await stored(document('# Shell\n\nUse grep -V here.'));
    expect(again).toMatchObject({ status: 'updated' });
    const rows = await db.sql('C', 'select content from public.packet_store where part_of = $1', [again!.packet_id]);
    expect(rows.map(({ content }) => content).join('\n')).toContain('grep -V');
  });
});

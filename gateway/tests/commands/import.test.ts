// `l9-memory import` against a real gateway: in this process, and where that says more as a process of its own.
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { lockHome } from '../../src/home/lock.ts';
import { lines, useImports } from './support/imports.ts';

const { gateway, folder, file, run, runAlone, stored } = useImports();

const here = (...args: string[]) => ['--url', gateway.instance.url, '--project', 'import', ...args];

describeOnEmbedded('l9-memory import', () => {
  it('saves JSON lines by the fields of save_memory, and skips existing memories', async () => {
    const path = file(
      'lines.jsonl',
      lines(
        { content: 'The mill runs on Tuesdays', kind: 'fact', tags: ['mill'], doc_id: 7, envelope: { page: 2 } },
        '',
        { content: 'Grain is weighed twice', projectId: 'granary', correlation_id: 'g-1', threadId: 't', kind: null },
        // Several are under way at once, so either may come first: they differ in spelling only.
        { content: 'the MILL runs on tuesdays', kind: 'fact', tags: ['mill'], doc_id: 7, envelope: { page: 2 } },
      ),
    );
    const first = await runAlone(here(path));
    expect([first.code, first.out], first.err).toStrictEqual([0, '2 inserted, 1 skipped as duplicates, 0 failed\n']);
    const [mill] = await stored('C', "project_id = 'import' and lower(content) = 'the mill runs on tuesdays'");
    expect([mill.scope, mill.packet_type, mill.tags, mill.envelope.doc_id, mill.envelope.page]).toStrictEqual([
      'developer',
      'fact',
      ['mill'],
      7,
      2,
    ]);
    expect(mill.metadata.creator).toBe('me');
    const [grain] = await stored('C', "project_id = 'granary'");
    expect([grain.packet_type, grain.correlation_id, grain.thread_id]).toStrictEqual(['note', 'g-1', 't']);

    const again = await run(here(path));
    expect([again.code, again.out]).toStrictEqual([0, '0 inserted, 3 skipped as duplicates, 0 failed\n']);
  });

  it('reports bad lines by number without their contents, saves the rest, and exits with 1', async () => {
    const path = file(
      'bad.jsonl',
      lines(
        { content: 'Good line one' },
        '{"content": "hush-1", ',
        '["hush-2"]',
        { text: 'hush-3' },
        { content: { hush: 'hush-4' } },
        { content: '   ' },
        { content: 'hush-5', importance: 3 },
        { content: 'hush-6', tags: { a: 'hush-7' } },
        { content: 'hush-8', parent_ids: ['hush-9'] },
        { content: 'hush-10', project_id: 'a', projectId: 'b' },
        { content: 'hush-11', kind: 'Not A Kind' },
        { content: 'Good line two' },
      ),
    );
    const ended = await runAlone(here(path));
    expect(ended.code).toBe(1);
    expect(ended.out).toBe('2 inserted, 0 skipped as duplicates, 10 failed\n');
    const told = ended.err.trim().split('\n');
    expect(
      told.map((line) => Number(line.slice(path.length + 1).split(':')[0])),
      ended.err,
    ).toStrictEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(told[0]!).toMatch(/:2: not valid JSON$/);
    expect(told[2]!).toMatch(/:4: content: /);
    expect(told[4]!).toMatch(/:6: content: a text is required$/);
    expect(told[5]!).toMatch(/:7: importance: /);
    expect(told[9]!).toMatch(/:11: kind: /);
    expect(ended.err + ended.out).not.toMatch(/hush/);
  });

  it('reports each line whose scope the caller may not write, and saves it for L', async () => {
    const path = file('private.jsonl', lines({ content: 'Only L knows', scope: 'l-private' }, { content: 'All know' }));
    const asC = await run(here('--caller', 'C', path));
    expect(asC.code).toBe(1);
    expect(asC.out).toBe('1 inserted, 0 skipped as duplicates, 1 failed\n');
    expect(asC.err).toMatch(/private\.jsonl:1: /);
    expect((await stored('L', "scope = 'l-private'")).length).toBe(0);

    const asL = await run(here('--caller', 'L', path));
    expect([asL.code, asL.out], asL.err).toStrictEqual([0, '1 inserted, 1 skipped as duplicates, 0 failed\n']);
    expect((await stored('L', "scope = 'l-private'")).length).toBe(1);
  });

  it('applies default scope and kind to objects without them, and no project to global', async () => {
    const path = file(
      'global.jsonl',
      lines({ content: 'Water boils at 100' }, { content: 'A mill', scope: 'developer' }),
    );
    const ended = await run(here('--scope', 'global', '--kind', 'fact', path));
    expect(ended.code, ended.err).toBe(0);
    const [water] = await stored('C', "scope = 'global'");
    expect([water.project_id, water.packet_type]).toStrictEqual([null, 'fact']);
    expect((await stored('C', "project_id = 'import' and envelope ->> 'content' = 'A mill'")).length).toBe(1);
  });

  it('accepts a JSON array, and saves its valid elements if others are broken', async () => {
    const path = file(
      'array.json',
      '\uFEFF[\n  {"content": "Array one, with ] and \\" and , inside", "nested": {"a": [1, 2]}},\n  {broken},\n  {\n    "content": "Array two"\n  }\n]\n',
    );
    const ended = await run(here(path));
    expect([ended.code, ended.out], ended.err).toStrictEqual([1, '2 inserted, 0 skipped as duplicates, 1 failed\n']);
    expect(ended.err).toMatch(/array\.json:3: not valid JSON/);
    const [one] = await stored('C', "envelope ->> 'content' like 'Array one%'");
    expect(one.envelope.nested).toStrictEqual({ a: [1, 2] });
  });

  it('reads stdin, and waits until all memories have vectors', async () => {
    const stdin = lines({ content: 'The ferry crosses at dawn' }, { content: 'Grüße aus Köln, 日本語' });
    const ended = await run(here('--wait', '-'), { stdin });
    expect([ended.code, ended.out], ended.err).toStrictEqual([0, '2 inserted, 0 skipped as duplicates, 0 failed\n']);
    const waiting = await gateway.graphql('C', '{ getMemoryStats { awaitingEmbedding } }');
    expect(waiting.data.getMemoryStats.awaitingEmbedding).toBe(0);
    expect((await stored('C', "envelope ->> 'content' = 'Grüße aus Köln, 日本語'")).length).toBe(1);
  });

  it('finds the server of its folder, and says if there is none', async () => {
    const path = file('one.jsonl', lines({ content: 'Found by the folder' }));
    const none = await run([path]);
    expect(none.code).toBe(1);
    expect(none.err).toMatch(/no server runs on .*npm start/);

    const lock = await lockHome(gateway.home.home);
    try {
      lock.announce({ url: gateway.instance.url, instance: gateway.instance.id, onDemand: false });
      const ended = await run(['--project', 'import', path]);
      expect([ended.code, ended.out], ended.err).toStrictEqual([0, '1 inserted, 0 skipped as duplicates, 0 failed\n']);
    } finally {
      lock.release();
    }
  });

  it('accepts a token, and says why an invalid one or an unknown caller is refused', async () => {
    const path = file('token.jsonl', lines({ content: 'Saved with a token' }));
    const good = await run(here('--token', await gateway.token({ caller: 'L' }), path));
    expect(good.code, good.err).toBe(0);
    const [row] = await stored('L', "envelope ->> 'content' = 'Saved with a token'");
    expect(row.metadata.creator).toBe('L-CTO');

    const bad = await run(here('--token', 'no.such.token', path));
    expect([bad.code, bad.out]).toStrictEqual([1, '']);
    expect(bad.err).toMatch(/refuses this caller: the token is malformed/);
    const stranger = await run(here('--caller', 'Nobody', path));
    expect(stranger.err).toMatch(/refuses this caller: caller: not a known caller/);
  });

  it('names a missing file before anything is saved', async () => {
    const path = file('kept.jsonl', lines({ content: 'Not saved' }));
    const ended = await run(here(path, join(folder(), 'missing.jsonl')));
    expect(ended.code).toBe(1);
    expect(ended.err).toMatch(/missing\.jsonl/);
    expect((await stored('C', "envelope ->> 'content' = 'Not saved'")).length).toBe(0);
  });

  it('retries while the server is starting, and stops if it remains unavailable', async () => {
    const path = file('retry.jsonl', lines({ content: 'Saved at the second try' }, { content: 'And so is this' }));
    let asked = 0;
    const proxy = createServer(async (request, response) => {
      asked += 1;
      if (asked % 2 === 1) return void response.writeHead(503).end();
      const body = (await request.toArray()).join('');
      const headers = { 'content-type': 'application/json', authorization: request.headers.authorization ?? '' };
      const answer = await fetch(`${gateway.instance.url}${request.url}`, { method: 'POST', headers, body });
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as { port: number };
    const url = ['--url', `http://127.0.0.1:${port}`, '--project', 'import'];
    const ended = await run([...url, path]);
    expect([ended.code, ended.out], ended.err).toStrictEqual([0, '2 inserted, 0 skipped as duplicates, 0 failed\n']);
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));

    const gone = await run([...url, path]);
    expect(gone.code).toBe(1);
    expect(gone.err).toMatch(/can't be reached/);
  });

  it('waits after a 429 for as long as the server says, and then saves the line', async () => {
    const path = file('limited.jsonl', lines({ content: 'Saved when the limit allows it again' }));
    const saves: number[] = [];
    const proxy = createServer(async (request, response) => {
      const body = (await request.toArray()).join('');
      if (body.includes('saveMemory') && saves.push(performance.now()) === 1)
        return void response.writeHead(429, { 'retry-after': '2' }).end();
      const headers = { 'content-type': 'application/json', authorization: request.headers.authorization ?? '' };
      const answer = await fetch(`${gateway.instance.url}${request.url}`, { method: 'POST', headers, body });
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as { port: number };
    const ended = await run(['--url', `http://127.0.0.1:${port}`, '--project', 'import', path]);
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
    expect([ended.code, ended.out], ended.err).toStrictEqual([0, '1 inserted, 0 skipped as duplicates, 0 failed\n']);
    expect(saves.length).toBe(2);
    // Without Retry-After the first pause is 200 ms. Timers are not exact, so a few ms may be missing.
    expect(saves[1]! - saves[0]!).toBeGreaterThan(1_900);
  });

  // Last, because the test before that waits for all vectors would wait for these.
  describe('with the turns of conversations', () => {
    const turns = (thread: string) =>
      gateway.sql(
        'C',
        `select content, speaker, "timestamp"::text as at from public.packet_store
         where project_id = 'import' and thread_id = $1 order by "timestamp", packet_id`,
        [thread],
      );
    // Long lines take longer to save than the short ones after them.
    const sayings = Array.from({ length: 60 }, (_, index) =>
      index % 7 === 6 ? 'Ann: Thanks!' : `${index % 2 ? 'Ben' : 'Ann'}: ${`word${index} `.repeat(index % 5 ? 3 : 400)}`,
    );
    const beginning = (content: string) => content.slice(0, 16);
    const increasing = (times: string[]) => times.every((at, index) => index === 0 || times[index - 1]! < at);

    it('keeps the order of the lines of each thread, however long they are, and skips them the next time', async () => {
      const path = file(
        'threads.jsonl',
        lines(
          ...sayings.flatMap((content) =>
            ['order-1', 'order-2'].map((thread_id) => ({ content, thread_id, kind: 'message' })),
          ),
        ),
      );
      const first = await run(here(path));
      expect([first.code, first.out], first.err).toStrictEqual([
        0,
        '120 inserted, 0 skipped as duplicates, 0 failed\n',
      ]);
      for (const thread of ['order-1', 'order-2']) {
        const saved = await turns(thread);
        expect(saved.map(({ content }) => beginning(content))).toStrictEqual(sayings.map(beginning));
        expect(increasing(saved.map(({ at }) => at))).toBe(true);
        expect(saved[1]!.speaker).toBe('Ben');
      }
      const again = await run(here(path));
      expect(again.out).toBe('0 inserted, 120 skipped as duplicates, 0 failed\n');
    });

    it('keeps the order of notes in a thread, too', async () => {
      const notes = sayings.map((content, index) => `${index} ${content}`);
      const path = file('notes.jsonl', lines(...notes.map((content) => ({ content, thread_id: 'order-3' }))));
      expect((await run(here(path))).code).toBe(0);
      expect((await turns('order-3')).map(({ content }) => beginning(content))).toStrictEqual(notes.map(beginning));
    });

    it('takes speaker and time from the lines, and keeps lines of one time in their order', async () => {
      const timestamp = '2023-05-12T10:00:00Z';
      const path = file(
        'times.jsonl',
        lines(
          { content: 'Good morning', thread_id: 'order-4', kind: 'message', speaker: 'Ann', timestamp },
          { content: 'Thanks!', thread_id: 'order-4', kind: 'message', speaker: 'Ben', timestamp },
          { content: 'Thanks!', thread_id: 'order-4', kind: 'message', speaker: 'Ben', timestamp },
          { content: 'You are welcome', thread_id: 'order-4', kind: 'message', speaker: 'Ann' },
          { content: 'Bye', threadId: 'order-4', kind: 'message', timestamp: '2023-05-12T12:00:00+02:00' },
          { content: 'Tomorrow', thread_id: 'order-4', kind: 'message', timestamp: '2123-05-12T12:00:00Z' },
        ),
      );
      const first = await run(here(path));
      expect(first.err).toMatch(/:6: timestamp: /);
      expect(first.out).toBe('5 inserted, 0 skipped as duplicates, 1 failed\n');
      const saved = await turns('order-4');
      expect(saved.map(({ content, speaker }) => `${speaker}: ${content}`)).toStrictEqual([
        'Ann: Good morning',
        'Ben: Thanks!',
        'Ben: Thanks!',
        'Ann: You are welcome',
        'null: Bye',
      ]);
      expect(saved.every(({ at }) => at.startsWith('2023-05-12 10:00:00'))).toBe(true);
      expect(increasing(saved.map(({ at }) => at))).toBe(true);
      expect((await run(here(path))).out).toBe('0 inserted, 5 skipped as duplicates, 1 failed\n');
    });
  });

  it('refuses what is not UTF-8 by file and line, keeps the other lines, and converts what --encoding names', async () => {
    const latin = Buffer.from(
      '{"content":"Tea at four"}\n{"content":"Caf\xe9 at nine"}\n{"content":"Z\xfcrich, caf\xe9"}\n',
      'latin1',
    );
    const path = file('latin.jsonl', latin as never);
    const refused = await run(here('--project', 'latin', path));
    expect(refused).toStrictEqual({
      code: 1,
      out: '1 inserted, 0 skipped as duplicates, 2 failed\n',
      err: [2, 3]
        .map((line) => `${path}:${line}: not UTF-8; --encoding latin1 or utf-16 says what else it is\n`)
        .join(''),
    });
    const converted = await run(here('--project', 'latin', '--encoding', 'latin1', path));
    expect([converted.code, converted.out]).toStrictEqual([0, '2 inserted, 1 skipped as duplicates, 0 failed\n']);
    const wide = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le');
    const little = file('little.jsonl', wide('{"content":"Naïve 😀"}\n') as never);
    const big = file('big.csv', wide('content\nÉtude\n').swap16() as never);
    expect((await run(here('--project', 'latin', '--encoding', 'UTF-16', little, big))).out).toBe(
      '2 inserted, 0 skipped as duplicates, 0 failed\n',
    );
    expect((await stored('C', "project_id = 'latin'")).map(({ content }) => content).sort()).toStrictEqual(
      ['Café at nine', 'Naïve 😀', 'Tea at four', 'Zürich, café', 'Étude'].sort(),
    );
    const array = file(
      'latin.json',
      Buffer.from('[\n{"content":"Plain"},\n{"content":"na\xefve"}]', 'latin1') as never,
    );
    expect((await run(here('--project', 'latin', array))).err).toMatch(/latin\.json:3: not UTF-8/);
    const table = file('latin.csv', Buffer.from('content\r\nPlain\r\nna\xefve\r\n', 'latin1') as never);
    expect(await run(here('--project', 'latin', table))).toMatchObject({
      out: '0 inserted, 1 skipped as duplicates, 1 failed\n',
      err: `${table}:3: not UTF-8; --encoding latin1 or utf-16 says what else it is\n`,
    });
    expect(await run(here('--encoding', 'ebcdic', array))).toMatchObject({
      code: 1,
      err: '--encoding: one of utf-8, latin1, utf-16\n',
    });
  });

  it('leaves out and decodes what operations leave out and decode, and refuses what no memory can hold by its line', async () => {
    const path = file(
      'filled.jsonl',
      [
        '{"content":"Filled in","scope":"","kind":" ","tags":[],"thread_id":null,"timestamp":"","importance":""}',
        '{"content":"Encoded twice","tags":"[\\"a\\",\\"b\\"]","importance":"0.25","metadata":"{\\"x\\":1}"}',
        '{"content":"One for a list","tags":"solo"}',
        `{"content":"Too deep","x":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
        '{"content":"Half \\ud83d"}',
        '{"content":"After them"}',
      ].join('\r'),
    );
    expect(await run(here('--project', 'filled', path))).toMatchObject({
      out: '4 inserted, 0 skipped as duplicates, 2 failed\n',
      err: `${path}:4: x: at most 64 levels deep\n${path}:5: content: must not hold half of a surrogate pair\n`,
    });
    const rows = await stored('C', "project_id = 'filled'");
    const found = Object.fromEntries(
      rows.map(({ content, scope, packet_type, tags }) => [content, [scope, packet_type, tags]]),
    );
    expect(found).toMatchObject({
      'Filled in': ['developer', 'note', []],
      'Encoded twice': ['developer', 'note', ['a', 'b']],
      'One for a list': ['developer', 'note', ['solo']],
    });
  });

  it('refuses a pipe, a device, a folder and a file that is not there before anything is saved', async () => {
    const good = file('before.jsonl', lines({ content: 'Not saved, because another file is refused' }));
    const pipe = join(folder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const [path, reason] of [
      [pipe, 'it is a named pipe, not a file'],
      ['/dev/zero', 'it is a device, not a file'],
      [folder(), 'it is a folder, not a file'],
      [join(folder(), 'none'), 'there is no such file or folder'],
    ] as const)
      expect(await run(here(good, path))).toStrictEqual({ code: 1, out: '', err: `${path}: ${reason}\n` });
    expect(await stored('C', "content like 'Not saved, because%'")).toStrictEqual([]);
  });

  it('reads what other systems export, each in its own shape, and tells them apart itself', async () => {
    // In the order of the texts: several are saved at once, so the order of their ids is not that of the file.
    const asSaved = async (project: string) =>
      (await stored('C', `project_id = '${project}'`))
        .sort((a, b) => (a.envelope.content < b.envelope.content ? -1 : 1))
        .map(({ content, packet_type, tags, timestamp, thread_id, speaker, envelope }) => {
          const { content: _, ...more } = envelope;
          const isDated = timestamp.getTime() < Date.now() - 3_600_000;
          return {
            content,
            kind: packet_type,
            tags,
            time: isDated && timestamp.toISOString(),
            thread_id,
            speaker,
            more,
          };
        });
    const take = async (project: string, path: string, ...more: string[]) =>
      run(['--url', gateway.instance.url, '--project', project, path, ...more]);

    const mem0 = file(
      'export.json',
      JSON.stringify(
        {
          total: 2,
          results: [
            {
              id: 'm1',
              memory: 'Likes the badger theme',
              metadata: { place: 'ui' },
              categories: ['taste'],
              created_at: '2026-01-05T10:00:00.123456-08:00',
              user_id: 'u7',
            },
            {
              id: 'm2',
              memory: 'Lives by the canal',
              metadata: null,
              created_at: '2026-01-06 10:00:00',
              updated_at: null,
            },
          ],
          relations: [{ memory: 'not one of them' }],
        },
        null,
        2,
      ),
    );
    const first = await take('mem0', mem0);
    expect([first.out, first.err]).toStrictEqual([
      '2 inserted, 0 skipped as duplicates, 0 failed\n',
      `${mem0}: 1 time without a zone was read as UTC\n`,
    ]);
    expect(
      (
        await take(
          'mem0',
          file('lines.json', lines({ memory: 'Lives by the canal', id: 'm2', created_at: 1767693600 })),
        )
      ).out,
    ).toBe('0 inserted, 1 skipped as duplicates, 0 failed\n');
    expect(await asSaved('mem0')).toMatchObject([
      {
        content: 'Likes the badger theme',
        tags: ['taste'],
        time: '2026-01-05T18:00:00.123Z',
        more: { place: 'ui', mem0: { id: 'm1', user_id: 'u7' } },
      },
      { content: 'Lives by the canal', time: '2026-01-06T10:00:00.000Z', more: { mem0: { id: 'm2' } } },
    ]);

    const say = (role: string, text: unknown, create_time: number | null = null) => ({
      author: { role },
      create_time,
      content: { content_type: 'text', parts: [text] },
    });
    const talk = file(
      'talks.json',
      JSON.stringify([
        {
          title: 'Badgers',
          conversation_id: 'talk-1',
          create_time: 1772442000,
          current_node: 'c',
          mapping: {
            root: { message: null, parent: null, children: ['s'] },
            s: { message: say('system', 'Be brief'), parent: 'root', children: ['a'] },
            a: { message: say('user', 'Where do badgers sleep?', 1772442000.5), parent: 's', children: ['x', 'b'] },
            x: { message: say('assistant', 'In trees.', 1772442001), parent: 'a', children: [] },
            b: { message: say('assistant', 'In a sett.'), parent: 'a', children: ['c'] },
            c: { message: say('user', { content_type: 'image_asset_pointer' }), parent: 'b', children: [] },
          },
        },
      ]),
    );
    expect((await take('talks', talk)).out).toBe('2 inserted, 0 skipped as duplicates, 0 failed\n');
    expect((await take('talks', talk)).out).toBe('0 inserted, 2 skipped as duplicates, 0 failed\n');
    const message = { kind: 'message', thread_id: 'talk-1', more: { conversation: 'Badgers' } };
    expect(await asSaved('talks')).toMatchObject([
      { ...message, content: 'In a sett.', speaker: 'assistant', time: '2026-03-02T09:00:00.500Z' },
      { ...message, content: 'Where do badgers sleep?', speaker: 'user', time: '2026-03-02T09:00:00.500Z' },
    ]);

    const graph = file(
      'memory.json',
      lines(
        { type: 'entity', name: 'Badger', entityType: 'animal', observations: ['digs at night'] },
        { type: 'relation', from: 'Badger', to: 'Fox', relationType: 'shares_sett_with' },
        { type: 'entity', name: '', entityType: 'x', observations: [] },
      ),
    );
    expect(await take('graph', graph)).toMatchObject({
      out: '3 inserted, 0 skipped as duplicates, 1 failed\n',
      err: `${graph}:3: name: must be a text\n`,
    });
    expect(await asSaved('graph')).toMatchObject([
      { content: 'Badger is a animal', kind: 'fact' },
      {
        content: 'Badger shares sett with Fox',
        kind: 'fact',
        more: { subject: 'Badger', predicate: 'shares_sett_with', object: 'Fox' },
      },
      { content: 'Badger: digs at night', more: { entity: 'Badger' } },
    ]);

    // As the tool read_graph answers.
    const whole = {
      entities: [{ name: 'Otter', entityType: 'animal', observations: ['swims'] }],
      relations: [{ from: 'Otter', to: 'River', relationType: 'lives_in' }],
    };
    for (const [name, text] of [
      ['graph-one.json', JSON.stringify(whole)],
      ['graph-many.json', JSON.stringify(whole, null, 2)],
    ] as const)
      expect((await take(name, file(name, text))).out).toBe('3 inserted, 0 skipped as duplicates, 0 failed\n');

    const table = file(
      'table.csv',
      '\uFEFFText;Tags;timestamp;colour\r\n"Dig; then\r\nrest";a,b;2026-03-02;grey\r\n\r\n"Sleep";;soon;\r\n',
    );
    const tabled = await take('table', table);
    expect([tabled.out, tabled.err]).toStrictEqual([
      '1 inserted, 0 skipped as duplicates, 1 failed\n',
      expect.stringMatching(/table\.csv:5: timestamp: .*\n.*table\.csv: 1 time could not be read\n/),
    ]);
    expect(await asSaved('table')).toMatchObject([
      { content: 'Dig; then\r\nrest', tags: ['a', 'b'], time: '2026-03-02T00:00:00.000Z', more: { colour: 'grey' } },
    ]);
    // A format that is named is not second-guessed.
    expect((await take('table', mem0, '--from', 'csv')).code).toBe(1);
  });
});

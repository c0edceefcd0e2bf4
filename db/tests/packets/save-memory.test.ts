import { startTestGateway, type TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { standIn } from '../../../gateway/tests/support/stand-in.ts';
import { errorOf } from '../support/errors.ts';
import { named } from '../support/named.ts';
import { itOnServer } from '../support/on-engine.ts';

describe('save_memory', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  const save = async (caller: string, args: Record<string, unknown>, claims = {}) => {
    const rows = await gateway.sql(
      caller,
      `select r.status, memories.memory_json(r.memory) as memory from public.save_memory(${named(args)}) r`,
      Object.values(args),
      claims,
    );
    return rows[0];
  };
  const count = async (content: string) =>
    (
      await gateway.sql(
        'L',
        "select count(*)::int as n from public.packet_store where lower(btrim(regexp_replace(content, '\\s+', ' ', 'g'))) = lower($1)",
        [content],
      )
    )[0].n;
  const l9 = { project_id: 'l9' };

  it('keeps the content as it was given, and what was sent beside it', async () => {
    const content = '  Mixed Case\n\n  and   space ';
    const { status, memory } = await save('C', {
      ...l9,
      content,
      kind: 'decision',
      tags: [' a ', 'b', 'a', ''],
      importance: 0.9,
      thread_id: 't1',
      ttl: '2099-01-01T00:00:00Z',
      metadata: { agent: 'me', notes: { why: 'because' } },
      envelope: { title: 'T' },
      routing: { to: 'x' },
      provenance: { from: 'y' },
      correlation_id: 'corr',
      session_id: 'sess',
      trace_id: 'trace',
    });
    expect(status).toBe('inserted');
    expect(memory.content).toBe(content);
    expect({ ...memory, packet_id: 0, timestamp: 0, updated_at: 0, content: 0, ttl: 0 }).toStrictEqual({
      packet_id: 0,
      timestamp: 0,
      updated_at: 0,
      content: 0,
      ttl: 0,
      kind: 'decision',
      scope: 'developer',
      project_id: 'l9',
      tags: ['a', 'b'],
      importance: 0.9,
      thread_id: 't1',
      parent_ids: [],
      envelope: { title: 'T' },
      routing: { to: 'x' },
      provenance: { from: 'y' },
      correlation_id: 'corr',
      session_id: 'sess',
      trace_id: 'trace',
      metadata: {
        creator: 'Cursor-IDE',
        source: 'cursor-ide',
        agent: 'me',
        tool_name: 'sql',
        notes: { why: 'because' },
      },
    });
  });

  it('stamps the writer over whatever the client sent', async () => {
    const forged = { creator: 'L-CTO', source: 'l9-kernel' };
    const { memory } = await save('C', { ...l9, content: 'forged through the function', metadata: forged });
    expect(memory.metadata.creator).toBe('Cursor-IDE');
    const [row] = await gateway.sql(
      'C',
      `insert into public.packet_store (envelope, project_id, metadata) values ('{"content": "forged in SQL"}', 'l9', $1) returning metadata`,
      [forged],
    );
    expect([row.metadata.creator, row.metadata.source]).toStrictEqual(['Cursor-IDE', 'cursor-ide']);
    const viaMcp = await gateway.tool('C', 'save_memory', {
      ...l9,
      content: 'forged over MCP',
      caller: 'L',
      creator: 'L-CTO',
      source: 'l9-kernel',
    });
    expect(viaMcp.result.memory.metadata.creator).toBe('Cursor-IDE');
  });

  describe('of what is already known', () => {
    it('skips it, though case and white space differ, and answers with what is there', async () => {
      const first = await save('C', { ...l9, content: 'Known already' });
      const again = await save('L', { ...l9, content: ' known   ALREADY\n' });
      expect(again.status).toBe('skipped_dedupe');
      expect(again.memory.packet_id).toBe(first.memory.packet_id);
      expect(await count('known already')).toBe(1);
    });

    it('saves it all the same in another project, scope or kind', async () => {
      for (const place of [l9, { project_id: 'future-x' }, { scope: 'global' }, { ...l9, kind: 'decision' }]) {
        expect((await save('C', { content: 'everywhere', ...place })).status).toBe('inserted');
      }
    });

    it('gives C no sign of a private memory with the same text', async () => {
      await save('L', { ...l9, scope: 'l-private', content: 'the same text' });
      expect((await save('C', { ...l9, content: 'the same text' })).status).toBe('inserted');
    });

    it('leaves one row of 20 concurrent savers', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          gateway.tool(i % 2 ? 'C' : 'L', 'save_memory', { ...l9, content: i % 3 ? 'all at once' : ' ALL  at once ' }),
        ),
      );
      expect(answers.map(({ result }) => result.status).sort()).toStrictEqual([
        'inserted',
        ...new Array(19).fill('skipped_dedupe'),
      ]);
      expect(new Set(answers.map(({ result }) => result.memory.packet_id)).size).toBe(1);
      expect(await count('all at once')).toBe(1);
    });

    it('refuses a raw insert of it', () =>
      expect(
        gateway.sql(
          'C',
          `insert into public.packet_store (envelope, project_id) values ('{"content": "known already"}', 'l9')`,
        ),
      ).rejects.toMatchObject({ code: '23505', constraint: 'packet_content_unique' }));

    it('saves anew what has expired', async () => {
      await save('L', { ...l9, content: 'for a moment', ttl: new Date(Date.now() + 60) });
      await new Promise((resolve) => setTimeout(resolve, 120));
      const { status, memory } = await save('C', { ...l9, content: 'for a moment' });
      expect(status).toBe('inserted');
      expect(memory.metadata.creator).toBe('Cursor-IDE');
    });
  });

  describe('with an idempotency key', () => {
    it('gives the first answer again, whatever is sent with it', async () => {
      const first = await save('C', { ...l9, content: 'once only', idempotency_key: 'k1' });
      const again = await save('C', { ...l9, content: 'something else', idempotency_key: 'k1' });
      expect([again.status, again.memory.packet_id]).toStrictEqual(['inserted', first.memory.packet_id]);
      expect(await count('something else')).toBe(0);
    });

    it('knows a key only from the caller that used it', async () => {
      await save('L', { ...l9, scope: 'l-private', content: 'behind a key', idempotency_key: 'k2' });
      const mine = await save('C', { ...l9, content: 'my own', idempotency_key: 'k2' });
      expect([mine.status, mine.memory.content]).toStrictEqual(['inserted', 'my own']);
      const keys = await gateway.sql('C', 'select distinct caller from public.idempotency_keys');
      expect(keys).toStrictEqual([{ caller: 'C' }]);
    });

    it('leads no way back to a memory that has become private: it looks deleted', async () => {
      const { memory } = await save('C', { ...l9, content: 'soon private', idempotency_key: 'k3' });
      await gateway.sql('L', "select public.update_memory($1, scope => 'l-private')", [memory.packet_id]);
      const hidden = await save('C', { ...l9, content: 'soon private', idempotency_key: 'k3' });
      const gone = await save('C', { ...l9, content: 'soon deleted', idempotency_key: 'k4' });
      await gateway.sql('L', 'select public.delete_memory($1)', [gone.memory.packet_id]);
      const again = await save('C', { ...l9, content: 'soon deleted', idempotency_key: 'k4' });
      expect([hidden.status, again.status]).toStrictEqual(['inserted', 'inserted']);
      expect(hidden.memory.packet_id).not.toBe(memory.packet_id);
    });

    it('saves once for 10 concurrent savers', async () => {
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          gateway.tool('C', 'save_memory', { ...l9, content: `racing ${i}`, idempotency_key: 'race' }),
        ),
      );
      expect(new Set(answers.map(({ result }) => result.memory.packet_id)).size).toBe(1);
    });
  });

  describe('with parents', () => {
    const refused = (caller: string, args: object) =>
      expect(save(caller, { ...l9, content: `child ${Math.random()}`, ...args })).rejects.toMatchObject({
        code: 'L9VAL',
        column: 'parent_ids',
      });

    it('keeps those that the writer can see', async () => {
      const parent = (await save('L', { ...l9, content: 'parent' })).memory.packet_id;
      const { memory } = await save('C', { ...l9, content: 'child', parent_ids: [parent, parent] });
      expect(memory.parent_ids).toStrictEqual([parent]);
    });

    it('refuses one that is private to another with the words for one that does not exist', async () => {
      const hidden = (await save('L', { ...l9, scope: 'l-private', content: 'hidden parent' })).memory.packet_id;
      const messages = await Promise.all(
        [hidden, '01900000-0000-7000-8000-000000000000'].map((id) =>
          save('C', { ...l9, content: 'curious child', parent_ids: [id] }).then(
            () => 'saved',
            (error: Error) => error.message,
          ),
        ),
      );
      expect(messages[0]).toBe(messages[1]);
      expect(messages[0]!).toMatch(/^parent_ids: /);
    });

    it('lets no widely read memory rest on a private one, which would show its id', async () => {
      const hidden = (await save('L', { ...l9, scope: 'l-private', content: 'private source' })).memory.packet_id;
      await refused('L', { parent_ids: [hidden] });
      const child = await save('L', { ...l9, scope: 'l-private', content: 'private child', parent_ids: [hidden] });
      await expect(
        gateway.sql('L', "select public.update_memory($1, scope => 'developer')", [child.memory.packet_id]),
      ).rejects.toMatchObject({ code: 'L9VAL', column: 'parent_ids' });
    });

    it('lets no memory rest on one of another project, org or user, whose id its readers may not know of', async () => {
      const org = '11111111-1111-4111-8111-111111111111';
      const user = '22222222-2222-4222-8222-222222222222';
      const saveAs = async (claims: Record<string, string>, content: string, project = 'l9') => {
        const [{ id }] = await gateway.sql(
          'C',
          'select (memory).packet_id as id from public.save_memory($1, project_id => $2)',
          [content, project],
          claims,
        );
        return id;
      };
      const ofOrg = await saveAs({ 'jwt.claims.org_id': org }, 'parent of the org');
      const ofUser = await saveAs({ 'jwt.claims.user_id': user }, 'parent of the user');
      const ofProject = await saveAs({}, 'parent of a project', 'future-x');
      const wider = (await save('C', { ...l9, content: 'a child that all may read' })).memory.packet_id;
      for (const parent of [ofOrg, ofUser, ofProject]) {
        await refused('L', { parent_ids: [parent] });
        await expect(
          gateway.sql('L', 'update public.packet_store set parent_ids = array[$2::uuid] where packet_id = $1', [
            wider,
            parent,
          ]),
        ).rejects.toMatchObject({ code: 'L9VAL' });
      }
      // Nor does one move away from what it rests on.
      const child = await save('L', {
        content: 'child in its project',
        project_id: 'future-x',
        parent_ids: [ofProject],
      });
      await expect(
        gateway.sql('L', "select public.update_memory($1, project_id => 'l9')", [child.memory.packet_id]),
      ).rejects.toMatchObject({ code: 'L9VAL', column: 'parent_ids' });
    });

    it('can never make a cycle', async () => {
      const a = (await save('C', { ...l9, content: 'cycle a' })).memory.packet_id;
      const b = (await save('C', { ...l9, content: 'cycle b', parent_ids: [a] })).memory.packet_id;
      for (const parents of [[b], [a]]) {
        await expect(
          gateway.sql('C', 'select public.update_memory($1, parent_ids => $2)', [a, parents]),
        ).rejects.toMatchObject({ code: 'L9VAL', column: 'parent_ids' });
        await expect(
          gateway.sql('C', 'update public.packet_store set parent_ids = $2 where packet_id = $1', [a, parents]),
        ).rejects.toMatchObject({ code: 'L9VAL' });
      }
    });
  });

  describe('of bad input', () => {
    const cases: [string, Record<string, unknown>, string, string][] = [
      ['no project where the scope has projects', { content: 'x' }, 'L9VAL', 'project_id'],
      [
        'a project where the scope has none',
        { content: 'x', scope: 'global', project_id: 'l9' },
        'L9VAL',
        'project_id',
      ],
      ['a project name with spaces', { content: 'x', project_id: 'a b' }, 'L9VAL', 'project_id'],
      ['an unknown scope', { content: 'x', scope: 'nope', project_id: 'l9' }, 'L9SCP', 'scope'],
      ['blank content', { content: ' \n\t ', ...l9 }, 'L9VAL', 'content'],
      ['no content', { content: null, ...l9 }, 'L9VAL', 'content'],
      ['content over 1 MiB', { content: 'é'.repeat(524_289), ...l9 }, 'L9LIM', 'content'],
      [
        'more than 64 tags',
        { content: 'x', ...l9, tags: Array.from({ length: 65 }, (_, i) => `t${i}`) },
        'L9LIM',
        'tags',
      ],
      ['a tag over 200 bytes', { content: 'x', ...l9, tags: ['t'.repeat(201)] }, 'L9LIM', 'tags'],
      ['metadata over 64 KiB', { content: 'x', ...l9, metadata: { big: 'x'.repeat(65_536) } }, 'L9LIM', 'metadata'],
      ['notes that are no object', { content: 'x', ...l9, metadata: { notes: 'text' } }, 'L9VAL', 'metadata'],
      ['a kind with capitals', { content: 'x', ...l9, kind: 'Note' }, 'L9VAL', 'kind'],
      ['an importance over 1', { content: 'x', ...l9, importance: 1.1 }, 'L9VAL', 'importance'],
      ['a ttl in the past', { content: 'x', ...l9, ttl: '2001-01-01T00:00:00Z' }, 'L9VAL', 'ttl'],
      ['an empty idempotency key', { content: 'x', ...l9, idempotency_key: '' }, 'L9LIM', 'idempotency_key'],
      ['a thread id over 200 bytes', { content: 'x', ...l9, thread_id: 'x'.repeat(201) }, 'L9LIM', 'thread_id'],
    ];
    for (const [what, args, code, column] of cases) {
      it(`refuses ${what}: ${code}, naming ${column}, and writes nothing`, async () => {
        const error = await errorOf(save('C', args));
        expect([error.code, error.column]).toStrictEqual([code, column]);
        expect(error.message.length, 'the value itself is not in the message').toBeLessThan(300);
        expect(await count('x')).toBe(0);
      });
    }

    it('takes exactly 1 MiB, whatever it would be in JSON', async () => {
      for (const character of ['y', '"']) {
        const { memory } = await save('C', { content: `z${character.repeat(1_048_575)}`, ...l9 });
        await gateway.sql('C', 'select public.delete_memory($1)', [memory.packet_id]);
      }
    });
  });

  itOnServer('is not held up by another saver of something else', async () => {
    await gateway.asCaller('C', async (client) => {
      await client.query("select public.save_memory('uncommitted', project_id => 'l9', idempotency_key => 'slow')");
      const { status } = await save('C', { ...l9, content: 'meanwhile', idempotency_key: 'quick' });
      expect(status).toBe('inserted');
    });
  });

  it('counts as the same what differs in case and white space only, whatever white space that is', async () => {
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
    const rows = await gateway.asSuperuser(
      `select t, packets.content_hash(t) = ${slowly} as is_so, packets.content_hash(t) as hash from unnest($1::text[]) as t`,
      [written],
    );
    expect(rows.filter(({ is_so }) => !is_so)).toStrictEqual([]);
    expect(new Set(rows.slice(0, 7).map(({ hash }) => hash.toString('hex'))).size).toBe(1);
  });
});

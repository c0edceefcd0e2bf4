import { errorOf } from '../support/errors.ts';
import { callSaveMemory } from '../support/memories.ts';
import { itOnServer } from '../support/on-engine.ts';
import { DEFAULT_TENANT } from '../support/sessions.ts';
import { useTestDatabase } from '../support/test-database.ts';

describe('save_memory', () => {
  const db = useTestDatabase();

  const count = async (content: string) =>
    (
      await db.sql(
        'L',
        "select count(*)::int as n from public.packet_store where lower(btrim(regexp_replace(content, '\\s+', ' ', 'g'))) = lower($1)",
        [content],
      )
    )[0].n;

  it('stores the content and all other parameters as they were given', async () => {
    const content = '  Mixed Case\n\n  and   space ';
    const { status, memory } = await callSaveMemory(db, 'C', {
      content,
      kind: 'finding',
      branch: 'main',
      tags: [' a ', 'b', 'a', ''],
      importance: 0.4,
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
    expect(memory.importance).toBeCloseTo(0.38, 1);
    expect({
      ...memory,
      packet_id: 0,
      timestamp: 0,
      created_at: 0,
      updated_at: 0,
      content: 0,
      ttl: 0,
      importance: 0,
    }).toStrictEqual({
      packet_id: 0,
      timestamp: 0,
      created_at: 0,
      updated_at: 0,
      content: 0,
      ttl: 0,
      kind: 'finding',
      title: null,
      archived_at: null,
      scope: 'developer',
      project_id: 'l9',
      branch: 'main',
      tags: ['a', 'b'],
      importance: 0,
      estimated_importance: 0.4,
      thread_id: 't1',
      speaker: null,
      language: 'english',
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
        agent: 'cursor',
        tool_name: 'sql',
        notes: { agent: 'me', why: 'because' },
      },
    });
  });

  it('stamps the writer over what the client sent', async () => {
    const forged = { creator: 'L-CTO', source: 'l9-kernel' };
    const { memory } = await callSaveMemory(db, 'C', { content: 'forged through the function', metadata: forged });
    expect(memory.metadata.creator).toBe('Cursor-IDE');
    const [row] = await db.sql(
      'C',
      `insert into public.packet_store (envelope, project_id, metadata) values ('{"content": "forged in SQL"}', 'l9', $1) returning metadata`,
      [forged],
    );
    expect([row.metadata.creator, row.metadata.source]).toStrictEqual(['Cursor-IDE', 'cursor-ide']);
  });

  describe('a content that exists already', () => {
    it('skips a content that differs only in case and white space, and returns the existing memory', async () => {
      const first = await callSaveMemory(db, 'C', { content: 'Known already' });
      const again = await callSaveMemory(db, 'L', { content: ' known   ALREADY\n' });
      expect(again.status).toBe('skipped_dedupe');
      expect(again.memory.packet_id).toBe(first.memory.packet_id);
      expect(await count('known already')).toBe(1);
    });

    it('audits that the existing memory was returned, and a fresh save only as a save', async () => {
      const rowsOf = async (id: string) =>
        (
          await db.sql(
            'L',
            `select operation, caller, project_id, scope, details ->> 'status' as status from public.audit_log
             where row_id = $1 order by audit_id`,
            [id],
          )
        ).map(({ operation, caller, project_id, scope, status }) => [operation, caller, project_id, scope, status]);
      const content = 'Known and shown';
      const inserted = ['INSERT', 'C', 'l9', 'developer', null];
      const { memory } = await callSaveMemory(db, 'C', { content, idempotency_key: 'shown' });
      expect(await rowsOf(memory.packet_id)).toStrictEqual([inserted]);
      await callSaveMemory(db, 'L', { content });
      await callSaveMemory(db, 'C', { content, idempotency_key: 'shown' });
      const item = { kind: 'note', project_id: 'l9', data: { content } };
      await db.sql('C', 'select * from public.memory_store($1)', [JSON.stringify([item])]);
      expect(await rowsOf(memory.packet_id)).toStrictEqual([
        inserted,
        // From now on the text is the administrator's, too.
        ['UPDATE', 'L', 'l9', 'developer', null],
        ['READ', 'L', 'l9', 'developer', 'skipped_dedupe'],
        ['READ', 'C', 'l9', 'developer', 'inserted'],
        ['READ', 'C', 'l9', 'developer', 'skipped_dedupe'],
      ]);
    });

    it('saves the same content again in another project, scope or kind', async () => {
      for (const place of [
        {},
        { project_id: 'future-x' },
        { scope: 'global', project_id: undefined },
        { kind: 'finding' },
      ]) {
        expect((await callSaveMemory(db, 'C', { content: 'everywhere', ...place })).status).toBe('inserted');
      }
    });

    it('gives C no hint of a private memory with the same content', async () => {
      await callSaveMemory(db, 'L', { scope: 'l-private', content: 'the same text' });
      expect((await callSaveMemory(db, 'C', { content: 'the same text' })).status).toBe('inserted');
    });

    it('keeps one row of 20 concurrent saves', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          callSaveMemory(db, i % 2 ? 'C' : 'L', { content: i % 3 ? 'all at once' : ' ALL  at once ' }),
        ),
      );
      expect(answers.map(({ status }) => status).sort()).toStrictEqual([
        'inserted',
        ...new Array(19).fill('skipped_dedupe'),
      ]);
      expect(new Set(answers.map(({ memory }) => memory.packet_id)).size).toBe(1);
      expect(await count('all at once')).toBe(1);
    });

    it('refuses a raw insert of the same content', () =>
      expect(
        db.sql(
          'C',
          `insert into public.packet_store (envelope, project_id) values ('{"content": "known already"}', 'l9')`,
        ),
      ).rejects.toMatchObject({ code: '23505', constraint: 'packet_content_unique' }));

    it('saves the content of an expired memory again', async () => {
      await callSaveMemory(db, 'L', { content: 'for a moment', ttl: new Date(Date.now() + 60) });
      await new Promise((resolve) => setTimeout(resolve, 120));
      const { status, memory } = await callSaveMemory(db, 'C', { content: 'for a moment' });
      expect(status).toBe('inserted');
      expect(memory.metadata.creator).toBe('Cursor-IDE');
    });
  });

  describe('an idempotency key', () => {
    const whole = {
      content: 'once only',
      tags: ['a'],
      ttl: '2099-01-01T00:00:00Z',
      timestamp: '2024-05-01T10:00:00Z',
      metadata: { agent: 'me' },
      idempotency_key: 'k1',
    };

    it('returns the first answer again for the same arguments, in another session and time zone', async () => {
      const first = await callSaveMemory(db, 'C', { ...whole, session_id: 'one', trace_id: 't1' });
      const again = await db.asCaller('C', async (client) => {
        await client.query("set local timezone to 'Asia/Tokyo'");
        const { rows } = await client.query(
          `select (r).status, ((r).memory).packet_id from public.save_memory($1, project_id => 'l9', tags => '{a}', ttl => $2,
             "timestamp" => $3, metadata => $4, idempotency_key => $5, session_id => 'two', trace_id => 't2') r`,
          [whole.content, whole.ttl, whole.timestamp, whole.metadata, whole.idempotency_key],
        );
        return rows[0];
      });
      expect(again).toStrictEqual({ status: 'inserted', packet_id: first.memory.packet_id });
    });

    it.each([
      ['content', { content: 'Once only' }],
      ['scope', { scope: 'global', project_id: null }],
      ['project_id', { project_id: 'other' }],
      ['kind', { kind: 'finding' }],
      ['tags', { tags: ['a', 'b'] }],
      ['thread_id', { thread_id: 'thread' }],
      ['parent_ids', { parent_ids: ['01900000-0000-7000-8000-000000000000'] }],
      ['ttl', { ttl: null }],
      ['importance', { importance: 0.9 }],
      ['metadata', { metadata: { agent: 'you' } }],
      ['envelope', { envelope: { a: 1 } }],
      ['routing', { routing: { a: 1 } }],
      ['provenance', { provenance: { a: 1 } }],
      ['correlation_id', { correlation_id: 'other' }],
      ['speaker', { speaker: 'Ann' }],
      ['timestamp', { timestamp: '2024-05-01T10:00:01Z' }],
      ['language', { language: 'german' }],
      ['on_similar', { on_similar: 'skip' }],
    ])('is refused for a save with another %s', async (_, other) => {
      const first = await callSaveMemory(db, 'C', whole);
      const refusal = await errorOf(callSaveMemory(db, 'C', { ...whole, ...other }));
      expect(refusal).toMatchObject({ code: 'L9VAL', column: 'idempotency_key' });
      expect(refusal.message).toMatch(/^idempotency_key: was used before/);
      expect((await callSaveMemory(db, 'C', whole)).memory.packet_id).toBe(first.memory.packet_id);
    });

    it('belongs to the org and the user that the caller acts for', async () => {
      const org = '00000000-0000-7000-8000-0000000000a1';
      const users = ['00000000-0000-7000-8000-0000000000b1', '00000000-0000-7000-8000-0000000000b2'];
      await db.asSuperuser('insert into public.orgs (tenant_id, org_id, name) values ($1, $2, $3)', [
        DEFAULT_TENANT,
        org,
        'keys',
      ]);
      for (const user of users)
        await db.asSuperuser('insert into public.users (tenant_id, org_id, user_id, name) values ($1, $2, $3, $4)', [
          DEFAULT_TENANT,
          org,
          user,
          user,
        ]);
      const asked = [
        {},
        { 'jwt.claims.org_id': org },
        ...users.map((user) => ({ 'jwt.claims.org_id': org, 'jwt.claims.user_id': user })),
      ];
      const ids = new Set<string>();
      for (const [at, claims] of asked.entries()) {
        const mine = { content: `text of the session ${at}`, idempotency_key: 'shared key' };
        const first = await callSaveMemory(db, 'C', mine, claims);
        expect([first.status, first.memory.content]).toStrictEqual(['inserted', mine.content]);
        ids.add(first.memory.packet_id);
        expect((await callSaveMemory(db, 'C', mine, claims)).memory.packet_id).toBe(first.memory.packet_id);
        const keys = "select from public.idempotency_keys where idempotency_key = 'shared key'";
        expect(await db.sql('C', keys, [], claims)).toHaveLength(1);
      }
      expect(ids.size).toBe(asked.length);
    });

    it('keeps the keys of callers apart', async () => {
      await callSaveMemory(db, 'L', { scope: 'l-private', content: 'behind a key', idempotency_key: 'k2' });
      const mine = await callSaveMemory(db, 'C', { content: 'my own', idempotency_key: 'k2' });
      expect([mine.status, mine.memory.content]).toStrictEqual(['inserted', 'my own']);
      const keys = await db.sql('C', 'select distinct caller from public.idempotency_keys');
      expect(keys).toStrictEqual([{ caller: 'C' }]);
    });

    it('treats a memory that became private like a deleted one', async () => {
      const { memory } = await callSaveMemory(db, 'C', { content: 'soon private', idempotency_key: 'k3' });
      await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [memory.packet_id]);
      const hidden = await callSaveMemory(db, 'C', { content: 'soon private', idempotency_key: 'k3' });
      const gone = await callSaveMemory(db, 'C', { content: 'soon deleted', idempotency_key: 'k4' });
      await db.sql('L', 'select public.delete_memory($1)', [gone.memory.packet_id]);
      const again = await callSaveMemory(db, 'C', { content: 'soon deleted', idempotency_key: 'k4' });
      expect([hidden.status, again.status]).toStrictEqual(['inserted', 'inserted']);
      expect(hidden.memory.packet_id).not.toBe(memory.packet_id);
    });

    it('says nothing of a request whose memory the caller can no longer see', async () => {
      const { memory } = await callSaveMemory(db, 'C', { content: 'seen at first', idempotency_key: 'k5' });
      await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [memory.packet_id]);
      const other = { content: 'another text', idempotency_key: 'k5' };
      const saved = await callSaveMemory(db, 'C', other);
      expect([saved.status, saved.memory.content]).toStrictEqual(['inserted', 'another text']);
      expect((await callSaveMemory(db, 'C', other)).memory.packet_id).toBe(saved.memory.packet_id);
    });

    it('saves once for 10 concurrent saves with one key', async () => {
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => callSaveMemory(db, 'C', { content: 'racing', idempotency_key: 'race' })),
      );
      expect(new Set(answers.map(({ memory }) => memory.packet_id)).size).toBe(1);
    });

    it('lets one of 10 different concurrent saves win, and refuses the others', async () => {
      const answers = await Promise.allSettled(
        Array.from({ length: 10 }, (_, i) =>
          callSaveMemory(db, 'C', { content: `duel ${i}`, idempotency_key: 'duel' }),
        ),
      );
      const refused = answers.filter((answer) => answer.status === 'rejected');
      expect(refused.map(({ reason }) => reason.code)).toStrictEqual(new Array(9).fill('L9VAL'));
      const saved = await db.sql('C', "select from public.packet_store where content like 'duel %'");
      expect(saved).toHaveLength(1);
    });
  });

  describe('invalid input', () => {
    const cases: [string, Record<string, unknown>, string, string][] = [
      [
        'a project in a scope without projects',
        { content: 'x', scope: 'global', project_id: 'l9' },
        'L9VAL',
        'project_id',
      ],
      ['a project name with spaces', { content: 'x', project_id: 'a b' }, 'L9VAL', 'project_id'],
      ['an unknown scope', { content: 'x', scope: 'nope', project_id: 'l9' }, 'L9SCP', 'scope'],
      ['blank content', { content: ' \n\t ' }, 'L9VAL', 'content'],
      ['content of a no-break space', { content: '\u00a0' }, 'L9VAL', 'content'],
      ['content of zero-width spaces', { content: '\u200b\u200b' }, 'L9VAL', 'content'],
      ['content of an ideographic space', { content: '\u3000\n' }, 'L9VAL', 'content'],
      ['content of a blank of Braille', { content: '\u2800' }, 'L9VAL', 'content'],
      ['content of a byte order mark', { content: '\ufeff' }, 'L9VAL', 'content'],
      ['content of a soft hyphen', { content: '\u00ad' }, 'L9VAL', 'content'],
      ['content of a filler of Hangul', { content: '\u3164' }, 'L9VAL', 'content'],
      ['content of joiners and marks of direction', { content: '\u200d\u200e\u2060\ufe0f' }, 'L9VAL', 'content'],
      ['no content', { content: null }, 'L9VAL', 'content'],
      ['content over 1 MiB', { content: 'é'.repeat(524_289) }, 'L9LIM', 'content'],
      ['more than 64 tags', { content: 'x', tags: Array.from({ length: 65 }, (_, i) => `t${i}`) }, 'L9LIM', 'tags'],
      ['a tag over 200 bytes', { content: 'x', tags: ['t'.repeat(201)] }, 'L9LIM', 'tags'],
      ['metadata over 64 KiB', { content: 'x', metadata: { big: 'x'.repeat(65_536) } }, 'L9LIM', 'metadata'],
      ['notes that are no object', { content: 'x', metadata: { notes: 'text' } }, 'L9VAL', 'metadata'],
      ['a kind with capitals', { content: 'x', kind: 'Note' }, 'L9VAL', 'kind'],
      ['an importance over 1', { content: 'x', importance: 1.1 }, 'L9VAL', 'importance'],
      ['a ttl in the past', { content: 'x', ttl: '2001-01-01T00:00:00Z' }, 'L9VAL', 'ttl'],
      ['an empty idempotency key', { content: 'x', idempotency_key: '' }, 'L9LIM', 'idempotency_key'],
      ['a thread id over 200 bytes', { content: 'x', thread_id: 'x'.repeat(201) }, 'L9LIM', 'thread_id'],
    ];
    for (const [what, args, code, column] of cases) {
      it(`refuses ${what} with ${code}, names ${column} and writes nothing`, async () => {
        const error = await errorOf(callSaveMemory(db, 'C', args));
        expect([error.code, error.column]).toStrictEqual([code, column]);
        expect(error.message.length, 'the value itself is not in the message').toBeLessThan(300);
        expect(await count('x')).toBe(0);
      });
    }

    it('accepts a content of exactly 1 MiB, however long it is as JSON', async () => {
      for (const character of ['y', '"']) {
        const { memory } = await callSaveMemory(db, 'C', { content: `z${character.repeat(1_048_575)}` });
        await db.sql('C', 'select public.delete_memory($1)', [memory.packet_id]);
      }
    });
  });

  itOnServer('does not wait for the save of another content', async () => {
    await db.asCaller('C', async (client) => {
      await client.query("select public.save_memory('uncommitted', project_id => 'l9', idempotency_key => 'slow')");
      const { status } = await callSaveMemory(db, 'C', { content: 'meanwhile', idempotency_key: 'quick' });
      expect(status).toBe('inserted');
    });
  });
});

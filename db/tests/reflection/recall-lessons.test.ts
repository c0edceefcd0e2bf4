// Recall: the search of all memories among lessons, with scores raised a little by priority and confidence.
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { eventually } from '../support/eventually.ts';
import { saveMemory } from '../support/memories.ts';
import { named } from '../support/named.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { reflectionsOf } from './support.ts';

interface Lesson {
  reflection_id: string;
  packet_id: string;
  access_id: string;
  content: string;
  reflection_type: string;
  priority: string;
  confidence: number;
  score: number;
  is_truncated: boolean;
}

describe('recall_lessons', () => {
  const db = useTestDatabase();
  const { reflect } = reflectionsOf(db);
  const recall = async (caller: string, args: Record<string, unknown>) => {
    const [row] = await db.sql(
      caller,
      `select to_jsonb(r.lessons) as lessons, r.searched from public.recall_lessons(${named(args)}) r`,
      Object.values(args),
    );
    return row as { lessons: Lesson[]; searched: Record<string, unknown> & { filters: object; scopes: string[] } };
  };

  it('finds reflections by their words, and no other memories', async () => {
    await saveMemory(db, 'C', { content: 'The walrus cache is flushed at midnight.' });
    const saved = await reflect('L', {
      content: 'Never flush the walrus cache by hand.',
      context: 'It took an hour to warm.',
    });
    const { lessons, searched } = await recall('C', { query: 'flush walrus cache' });
    expect(lessons.map(({ reflection_id }) => reflection_id)).toStrictEqual([saved.reflection_id]);
    expect(lessons[0]!.packet_id).toBe(saved.source_packet);
    expect(searched.scopes).toStrictEqual(['developer', 'global']);
    expect(String(searched.notice)).toMatch(/by words only/);
  });

  it('raises scores by priority and confidence, by at most 30 %', async () => {
    const [{ low, high, bound }] = await db.sql(
      'C',
      `select reflection.lesson_factor('low', 0) as low, reflection.lesson_factor('critical', 0.99) as high,
         reflection.lesson_factor('critical', 1) / reflection.lesson_factor('low', 0) as bound`,
    );
    expect(high).toBeLessThanOrEqual(1);
    expect(low).toBeLessThan(high);
    expect(Math.abs(bound - 1.3), String(bound)).toBeLessThan(1e-5);

    // Among lessons that match equally well, higher priority and confidence come first.
    await reflect('L', {
      content: 'Ospreys alpha: check the wing gauge.',
      priority: 'low',
      confidence: 0.2,
      project_id: 'osprey',
    });
    await reflect('L', {
      content: 'Ospreys beta: check the tail gauge.',
      priority: 'critical',
      confidence: 0.9,
      project_id: 'osprey',
    });
    await reflect('L', {
      content: 'Ospreys gamma: check the nose gauge.',
      priority: 'low',
      confidence: 0.9,
      project_id: 'osprey',
    });
    const { lessons } = await recall('C', { query: 'ospreys gauge', project_id: 'osprey' });
    expect(lessons.map(({ content }) => content.split(' ')[1])).toStrictEqual(['beta:', 'gamma:', 'alpha:']);
    // A critical lesson about something else stays behind a relevant one.
    await reflect('L', {
      content: 'Herring: the salt gauge reads low after rain.',
      priority: 'low',
      confidence: 0.1,
      project_id: 'herring',
    });
    await reflect('L', {
      content: 'Rain stops the cranes, the trains and the trucks of every yard we have.',
      priority: 'critical',
      confidence: 0.99,
      project_id: 'herring',
    });
    const [first] = (await recall('C', { query: 'herring salt gauge rain', project_id: 'herring' })).lessons;
    expect(first!.content).toMatch(/^Herring/);
  });

  it('filters by type, priority and tags, and ranks by priority without a query', async () => {
    const project_id = 'filters';
    await reflect('L', {
      content: 'Falcons one: cap queues.',
      type: 'failure',
      tags: ['perf'],
      priority: 'low',
      project_id,
    });
    await reflect('L', {
      content: 'Falcons two: cap threads.',
      type: 'success',
      tags: ['perf', 'ci'],
      priority: 'high',
      project_id,
    });
    await reflect('L', {
      content: 'Falcons three: cap pools.',
      type: 'lesson',
      tags: ['db'],
      priority: 'critical',
      project_id,
    });
    const words = async (args: object) =>
      (await recall('C', { project_id, ...args })).lessons.map(({ content }) => content.split(' ')[1]);
    expect(await words({})).toStrictEqual(['three:', 'two:', 'one:']);
    expect(await words({ query: 'falcons', types: ['failure'] })).toStrictEqual(['one:']);
    expect(await words({ query: 'falcons', priority: 'high' })).toStrictEqual(['three:', 'two:']);
    expect(await words({ query: 'falcons', tags: ['perf'], priority: 'low' })).toStrictEqual(['two:', 'one:']);
    expect(await words({ query: 'falcons', tags: ['perf', 'ci'], tags_match: 'all' })).toStrictEqual(['two:']);
    expect(await words({ tags: ['none'] })).toStrictEqual([]);
    expect(await words({ query: 'falcons', k: 1 })).toStrictEqual(['three:']);
  });

  it('shows neither private nor expired lessons', async () => {
    const secret = await reflect('L', {
      content: 'The gyrfalcon deal is off.',
      scope: 'l-private',
      priority: 'critical',
    });
    expect((await recall('L', { query: 'gyrfalcon deal' })).lessons).toHaveLength(1);
    const soon = new Date(Date.now() + 3_600_000);
    const brief = await reflect('C', { content: 'The gyrfalcon lab is closed today.', expires_at: soon });
    for (const args of [
      { query: 'gyrfalcon deal' },
      { scopes: ['l-private'] },
      { query: 'gyrfalcon', priority: 'critical' },
    ]) {
      const { lessons, searched } = await recall('C', args);
      expect(lessons.some(({ reflection_id }) => reflection_id === secret.reflection_id)).toBe(false);
      expect(searched.scopes).not.toContain('l-private');
    }
    expect((await recall('C', { query: 'gyrfalcon' })).lessons.map(({ reflection_id }) => reflection_id)).toStrictEqual(
      [brief.reflection_id],
    );
    await db.asSuperuser(
      `set session_replication_role = replica;
       update public.packet_store set ttl = now() - interval '1 minute' where packet_id = '${brief.source_packet}';
       update public.reflection_store set ttl = now() - interval '1 minute' where source_packet = '${brief.source_packet}';
       reset session_replication_role`,
    );
    expect((await recall('C', { query: 'gyrfalcon' })).lessons).toStrictEqual([]);
  });

  it('audits a recall as a search and logs an access to each lesson of the result', async () => {
    const saved = await reflect('C', { content: 'Merlins hunt at dawn.' });
    const [lesson] = (await recall('C', { query: 'merlins' })).lessons;
    const [audited] = await db.sql(
      'L',
      "select details from public.audit_log where operation = 'SEARCH' order by occurred_at desc, audit_id desc limit 1",
    );
    expect(audited.details.ids).toStrictEqual([saved.source_packet]);
    expect(audited.details.filters.kinds).toStrictEqual(['reflection']);
    expect(JSON.stringify(audited)).not.toContain('merlins');
    const used = await db.sql('C', 'select access_context from public.memory_access_log where access_id = $1', [
      lesson!.access_id,
    ]);
    expect(used).toStrictEqual([{ access_context: 'search' }]);
    const count = await eventually(async () => {
      await db.asWorker('select facts.roll_up_accesses(10000)');
      const [{ n }] = await db.sql(
        'C',
        'select public.reflection_store_access_count(r) as n from public.reflection_store r where r.reflection_id = $1',
        [saved.reflection_id],
      );
      return Number(n);
    });
    expect(count).toBe(1);
    await db.sql('C', 'select public.record_feedback($1, true)', [lesson!.access_id]);
  });

  it('trims a result to max_tokens and names the field of an invalid request', async () => {
    const project_id = 'budget';
    for (const name of ['kites', 'harriers', 'buzzards']) {
      const words = Array.from({ length: 300 }, (_, i) => `${name}${i}`).join(' ');
      await reflect('C', { content: `Of ${name}: ${words}`, project_id });
    }
    const { lessons, searched } = await recall('C', { project_id, max_tokens: 1000 });
    expect(lessons.some(({ is_truncated }) => is_truncated)).toBe(true);
    expect((searched.cut as { tokens: number }).tokens).toBeLessThanOrEqual(1000);
    for (const [args, field] of [
      [{ types: ['rumour'] }, 'types'],
      [{ priority: 'urgent' }, 'priority'],
      [{ k: 0 }, 'k'],
      [{ query: ' ' }, 'query'],
      [{ tags: ['a'], tags_match: 'some' }, 'tags_match'],
    ] as const) {
      await expect(recall('C', args)).rejects.toMatchObject({ code: 'L9VAL', column: field });
    }
    await expect(
      recall('C', { query: "x' or true --", tags: ["'); drop table x; --"], types: ["lesson'"] }),
    ).rejects.toMatchObject({ code: 'L9VAL' });
    expect((await recall('C', { query: "x' or true --", tags: ["'); drop table x; --"] })).lessons).toStrictEqual([]);
  });

  it('finds one of few lessons among thousands of memories', async () => {
    await db.sql(
      'C',
      `insert into public.packet_store (packet_type, envelope, project_id)
       select 'note', jsonb_build_object('content', 'peregrine note ' || n), 'many' from generate_series(1, 3000) n`,
    );
    const saved = await reflect('C', {
      content: 'A peregrine needs a high perch.',
      project_id: 'many',
      type: 'pattern',
    });
    const { lessons } = await recall('C', { query: 'peregrine', types: ['pattern'], project_id: 'many', k: 5 });
    expect(lessons.map(({ reflection_id }) => reflection_id)).toStrictEqual([saved.reflection_id]);
  });
});

describe('recall_lessons with a vector', () => {
  const db = useTestDatabase();
  const { reflect } = reflectionsOf(db);
  const model = wordModel(['orchard', 'engine'], 0.2);
  const recall = async (query: string) => {
    const args = { query, query_vector: model.vectorOf(query), model: model.name };
    const [row] = await db.sql(
      'C',
      `select to_jsonb(r.lessons) as lessons, r.searched from public.recall_lessons(${named(args)}) r`,
      Object.values(args),
    );
    return { contents: row.lessons.map(({ content }: Lesson) => content), searched: row.searched };
  };
  const ofIdentifiers = 'The engine passes requestId on; setweight comes before max_rows.';
  const ofOrchards = 'Water the orchard at night.';
  beforeAll(async () => {
    await serveModel(db, model);
    // Half of all words in common is a relevance of a half.
    await db.asSuperuser('update public.embedding_models set relevance_midpoint = 0.5, relevance_slope = 20');
    for (const content of [ofIdentifiers, ofOrchards]) await reflect('C', { content });
    await embedPending(db, model);
  });

  it.each([
    'requestId',
    'setweight',
    'max_rows',
    'setweight comes before max_rows: zeppelin',
    // Its vector is that of the other lesson.
    'requestId, setweight and max_rows in the orchard',
  ])('finds a lesson that has the words of the query %j, however far it is in meaning', async (query) => {
    const { contents, searched } = await recall(query);
    expect(contents).toContain(ofIdentifiers);
    expect(searched).toMatchObject({ vectors: 'used', min_relevance: 0.2 });
  });

  it('has no lessons for a query that none has the words or the meaning of', async () => {
    const { contents, searched } = await recall('requestId');
    expect([contents[0], searched.left_out]).toStrictEqual([ofIdentifiers, 0]);
    expect((await recall('zeppelin')).contents).toStrictEqual([]);
  });
});

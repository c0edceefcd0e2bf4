// What has superseded a hit, and where it then stands, in every function that returns hits. Each test has a project of its own.
import { embedPending, serveModel, wordModel } from '../support/embeddings.ts';
import { expireMemories, saveMemory } from '../support/memories.ts';
import { named } from '../support/named.ts';
import { useTestDatabase } from '../support/test-database.ts';

const model = wordModel(['website', 'billing', 'tuesday', 'thursday'], 0.1);

interface Standing {
  creator: string;
  source: string;
  text_creator: string | null;
  superseded_by: string | null;
  is_partly_superseded: boolean | null;
}

interface Hit {
  packet_id: string;
  score: number;
  standing: Standing;
  explanation: { superseded?: { by: string; score: number } } | null;
}

describe('a superseded memory', () => {
  const db = useTestDatabase();
  let count = 0;
  let project: string;
  beforeAll(async () => {
    await serveModel(db, model);
    await db.sql(
      'L',
      "select public.register_predicate('goes out on', true), public.register_predicate('runs in', true)",
    );
  });
  beforeEach(() => {
    project = `p${++count}`;
  });

  const call = async (caller: string, name: string, args: object, list = 'hits'): Promise<Hit[]> => {
    const all = { project_id: project, ...args };
    const statement = `select to_jsonb(r.${list}) as hits from public.${name}(${named(all)}) r`;
    return (await db.sql(caller, statement, Object.values(all)))[0].hits;
  };
  const search = (caller: string, query: string, args: object = {}) =>
    call(caller, 'search_memory', { query, mode: 'lexical', ...args });
  const assertFact = async (caller: string, object: string, args: object = {}): Promise<string> => {
    const all = {
      subject: 'website',
      predicate: 'goes out on',
      object: JSON.stringify(object),
      ...('source_packet' in args ? {} : { project_id: project }),
      ...args,
    };
    const statement = `select f.source_packet, f.fact_id from public.assert_fact(${named(all)}) f`;
    return (await db.sql(caller, statement, Object.values(all)))[0].source_packet;
  };
  const decide = async (caller: string, title: string, fields: object = {}, args: object = {}): Promise<string> => {
    const items = [
      {
        kind: 'decision',
        project_id: project,
        data: { title, status: 'accepted', rationale: 'One queue for all jobs.', ...fields },
        ...args,
      },
    ];
    const [row] = await db.sql(caller, 'select r.packet_id, r.message from public.memory_store($1) r', [
      JSON.stringify(items),
    ]);
    expect(row.message).toBeNull();
    return row.packet_id;
  };
  const idsOf = (hits: Hit[]) => hits.map(({ packet_id }) => packet_id);
  const successors = (hits: Hit[]) =>
    Object.fromEntries(hits.map(({ packet_id, standing }) => [packet_id, standing.superseded_by]));

  it('stands below what superseded it and names it, by a fact of another memory', async () => {
    // The shorter text has the higher score.
    const tuesday = await saveMemory(db, 'C', { content: 'The website: tuesday.', project_id: project });
    await assertFact('C', 'Tuesday', { source_packet: tuesday });
    const thursday = await saveMemory(db, 'L', {
      content: 'From now on the website goes out on another day of the week, which is thursday, because of audits.',
      project_id: project,
    });
    const before = await search('C', 'website');
    expect(idsOf(before)).toStrictEqual([tuesday, thursday]);
    expect(successors(before)).toStrictEqual({ [tuesday]: null, [thursday]: null });
    await assertFact('L', 'Thursday', { source_packet: thursday });
    for (const caller of ['C', 'L']) {
      const hits = await search(caller, 'website', { explain: true });
      expect(hits.map(({ packet_id, standing }) => ({ packet_id, ...standing }))).toStrictEqual([
        {
          packet_id: thursday,
          creator: 'L-CTO',
          source: 'l9-kernel',
          text_creator: null,
          superseded_by: null,
          is_partly_superseded: null,
          review_state: null,
          is_own: caller === 'L',
        },
        {
          packet_id: tuesday,
          creator: 'Cursor-IDE',
          source: 'cursor-ide',
          text_creator: null,
          superseded_by: thursday,
          is_partly_superseded: false,
          review_state: null,
          is_own: caller === 'C',
        },
      ]);
      // Scores still fall, and the explanation has the one that was lowered.
      expect(hits[1]!.score).toBe(hits[0]!.score);
      expect(hits[0]!.explanation!.superseded).toBeUndefined();
      expect(hits[1]!.explanation!.superseded).toStrictEqual({ by: thursday, score: expect.any(Number) });
      expect(hits[1]!.explanation!.superseded!.score).toBeGreaterThan(hits[0]!.score);
    }
    await embedPending(db, model);
    const vector = { query_vector: model.vectorOf('website'), model: model.name };
    for (const [name, args] of [
      ['search_memory', { query: 'website', min_relevance: 0, ...vector }],
      ['search_memory', { query: 'website', mode: 'semantic', min_relevance: 0, ...vector }],
      ['search_memory', { packet_id: await saveMemory(db, 'C', { content: 'website', project_id: project }) }],
      ['memory_find', { query: 'website', mode: 'fast' }],
      ['memory_find', { query: 'website', mode: 'deep', ...vector }],
      ['memory_find', { since: '2026-01-01T00:00:00Z' }],
    ] as const) {
      const hits = (await call('C', name, args)).filter(({ packet_id }) => [tuesday, thursday].includes(packet_id));
      expect(idsOf(hits), `${name} ${JSON.stringify(args)}`).toStrictEqual([thursday, tuesday]);
      expect(successors(hits), name).toStrictEqual({ [thursday]: null, [tuesday]: thursday });
      expect(hits[0]!.score, name).toBeGreaterThanOrEqual(hits[1]!.score);
    }
  });

  it('holds for the facts of a tutorial, and for the newest memories by their time', async () => {
    const tuesday = await assertFact('L', 'Tuesday', {});
    const thursday = await assertFact('L', 'Thursday', {});
    const hits = await search('C', 'website');
    expect(idsOf(hits)).toStrictEqual([thursday, tuesday]);
    expect(successors(hits)).toStrictEqual({ [thursday]: null, [tuesday]: thursday });
    const later = { timestamp: new Date().toISOString() };
    await db.sql('L', `select public.update_memory($1, ${named(later, 2)})`, [tuesday, later.timestamp]);
    const newest = await call('C', 'search_memory', { since: '2026-01-01T00:00:00Z' });
    expect(idsOf(newest)).toStrictEqual([thursday, tuesday]);
  });

  it('follows the chain of values, and a value that is stated again holds again', async () => {
    const [monday, tuesday] = [await assertFact('C', 'Monday'), await assertFact('C', 'Tuesday')];
    const friday = await assertFact('C', 'Friday');
    expect(idsOf(await search('C', 'website'))).toStrictEqual([friday, tuesday, monday]);
    expect(successors(await search('C', 'website'))).toStrictEqual({
      [friday]: null,
      [tuesday]: friday,
      [monday]: tuesday,
    });
    expect(await assertFact('C', 'Monday')).toBe(monday);
    const again = await search('C', 'website');
    expect(successors(again)).toStrictEqual({ [friday]: monday, [tuesday]: friday, [monday]: null });
    expect(idsOf(again)[0]).toBe(monday);
  });

  it('marks nothing for a value that begins later, that was retracted, or that its own memory states', async () => {
    const monday = await assertFact('C', 'Monday');
    const { rows } = await db.inSuperuserSession((client) => client.query("select now() + interval '1 day' as at"));
    await assertFact('C', 'Tuesday', { valid_from: rows[0].at.toISOString() });
    expect(Object.values(successors(await search('C', 'website')))).toStrictEqual([null, null]);
    const wednesday = await assertFact('C', 'Wednesday');
    expect(successors(await search('C', 'website'))[monday]).toBe(wednesday);
    await db.sql(
      'C',
      `select public.retract_fact(f.fact_id, 'a mistake') from public.knowledge_facts f where f.source_packet = $1`,
      [wednesday],
    );
    expect(successors(await search('C', 'website'))[monday]).toBeNull();
    const both = await saveMemory(db, 'C', { content: 'billing moved from tuesday to thursday', project_id: project });
    for (const day of ['Tuesday', 'Thursday']) await assertFact('C', day, { subject: 'billing', source_packet: both });
    expect(successors(await search('C', 'billing'))).toStrictEqual({ [both]: null });
  });

  it('says that a memory is superseded in part, where it states other facts, and orders no circle', async () => {
    const one = await saveMemory(db, 'C', { content: 'website one', project_id: project });
    const other = await saveMemory(db, 'C', { content: 'website other thing', project_id: project });
    await assertFact('C', 'Tuesday', { source_packet: one });
    await assertFact('C', 'Berlin', { predicate: 'runs in', source_packet: one });
    const before = idsOf(await search('C', 'website'));
    await assertFact('C', 'Thursday', { source_packet: other });
    const hits = await search('C', 'website');
    expect(hits.find(({ packet_id }) => packet_id === one)!.standing).toMatchObject({
      superseded_by: other,
      is_partly_superseded: true,
    });
    expect(idsOf(hits)).toStrictEqual([other, one]);
    // Each now has the newer value of one fact.
    await assertFact('C', 'Oslo', { subject: 'billing', predicate: 'runs in', source_packet: other });
    await assertFact('C', 'Rome', { subject: 'billing', predicate: 'runs in', source_packet: one });
    const circle = await search('C', 'website');
    expect(idsOf(circle)).toStrictEqual(before);
    expect(successors(circle)).toStrictEqual({ [one]: other, [other]: one });
  });

  it('holds for decisions and what they supersede, at any distance', async () => {
    const first = await decide('C', 'Queue');
    const second = await decide('C', 'One queue again', { supersedes: first });
    const third = await decide('L', 'One queue for the last time, and what follows from it', { supersedes: second });
    for (const hits of [await search('C', 'queue'), await call('C', 'memory_find', { query: 'queue', mode: 'fast' })]) {
      expect(idsOf(hits)).toStrictEqual([third, second, first]);
      expect(successors(hits)).toStrictEqual({ [third]: null, [second]: third, [first]: second });
      const scores = hits.map(({ score }) => score);
      expect(scores).toStrictEqual(scores.toSorted((a, b) => b - a));
    }
    // Only those of a page are ordered, and the mark stays.
    const [best] = await search('C', 'queue', { k: 1 });
    expect(best!.standing.superseded_by).toBe({ [second]: third, [first]: second, [third]: null }[best!.packet_id]);
    await db.sql('L', 'select public.delete_memory($1)', [third]);
    expect(successors(await search('C', 'queue'))).toStrictEqual({ [second]: null, [first]: second });
  });

  it('is shown to an operator, too', async () => {
    await db.asOwner("select register_actor('ops', role => 'l9_platform_admin', readable_scopes => '{*}')");
    const first = await decide('C', 'Queue of the operator');
    const second = await decide('C', 'One queue of the operator', { supersedes: first });
    const rows = await db.sql(
      'ops',
      "select to_jsonb(r.hits) as hits from public.search_memory('operator', project_id => $1, mode => 'lexical') r",
      [project],
      { role: 'l9_platform_admin' },
    );
    expect(successors(rows[0].hits)).toStrictEqual({ [second]: null, [first]: second });
  });

  it('does not believe a memory whose kind has no successors', async () => {
    const note = await saveMemory(db, 'C', { content: 'billing note', project_id: project });
    const claimed = await saveMemory(db, 'C', {
      content: 'billing',
      project_id: project,
      envelope: JSON.stringify({ superseded_by: note }),
    });
    const odd = await saveMemory(db, 'C', {
      content: 'billing, oddly',
      project_id: project,
      envelope: JSON.stringify({ superseded_by: 'no id' }),
    });
    expect(successors(await search('C', 'billing'))).toStrictEqual({ [note]: null, [claimed]: null, [odd]: null });
  });

  it('holds for lessons', async () => {
    const reflect = async (content: string) =>
      (
        await db.sql('C', 'select ((r).reflection).source_packet as id from public.reflect($1, project_id => $2) r', [
          content,
          project,
        ])
      )[0].id;
    const old = await reflect('website: tuesday');
    const young = await reflect('Look at the calendar of audits before the website goes out on any thursday at all.');
    await assertFact('C', 'Tuesday', { source_packet: old });
    await assertFact('C', 'Thursday', { source_packet: young });
    const lessons = await call('C', 'recall_lessons', { query: 'website' }, 'lessons');
    expect(idsOf(lessons)).toStrictEqual([young, old]);
    expect(successors(lessons)).toStrictEqual({ [young]: null, [old]: young });
  });

  it('marks a fact and lists it below the fact that superseded it', async () => {
    await assertFact('C', 'Tuesday', { confidence: 0.9 });
    const thursday = await assertFact('C', 'Thursday', { confidence: 0.2 });
    await assertFact('C', 'Oslo', { predicate: 'runs in', confidence: 0.5 });
    const rows = await db.sql(
      'C',
      `select f.object, public.knowledge_facts_superseding_packet(f) as successor, f.creator, f.source
       from public.find_facts('website', include_history => true, project_id => $1) f`,
      [project],
    );
    const byC = { creator: 'Cursor-IDE', source: 'cursor-ide' };
    expect(rows).toStrictEqual([
      { object: 'Oslo', successor: null, ...byC },
      { object: 'Thursday', successor: null, ...byC },
      { object: 'Tuesday', successor: thursday, ...byC },
    ]);
  });

  it('is what it was at an earlier time', async () => {
    const tuesday = await assertFact('C', 'Tuesday');
    const first = await decide('C', 'Queue');
    const [{ at }] = await db.sql('C', 'select clock_timestamp() as at');
    await assertFact('C', 'Thursday');
    await decide('C', 'Another queue', { supersedes: first });
    expect(successors(await search('C', 'website', { as_of: at }))).toStrictEqual({ [tuesday]: null });
    expect(successors(await search('C', 'queue', { as_of: at }))).toStrictEqual({ [first]: null });
    const [{ now }] = await db.sql('C', 'select clock_timestamp() as now');
    expect(successors(await search('C', 'website', { as_of: now }))[tuesday]).not.toBeNull();
    expect(successors(await search('C', 'queue', { as_of: now }))[first]).not.toBeNull();
  });

  describe('by a memory that the caller cannot read', () => {
    /** All that C is given by these questions. Recency goes on between two of them. */
    const answers = async () => {
      const lists = [
        await search('C', 'website queue', { explain: true }),
        await call('C', 'search_memory', { since: '2026-01-01T00:00:00Z' }),
        await call('C', 'memory_find', { query: 'queue', mode: 'fast', explain: true }),
      ];
      return JSON.stringify(lists, (key, value) => {
        if (key === 'access_id') return null;
        return typeof value === 'number' ? value.toFixed(4) : value;
      });
    };

    it('is neither marked nor moved: a private fact, a private successor, and an expired one', async () => {
      const tuesday = await saveMemory(db, 'C', { content: 'website: tuesday', project_id: project });
      await assertFact('C', 'Tuesday', { source_packet: tuesday });
      await saveMemory(db, 'C', { content: 'website, and many words about another thing', project_id: project });
      const queue = await decide('C', 'Queue');
      const untouched = await answers();
      const canary = await assertFact('L', 'Canary', { scope: 'l-private' });
      expect(await answers()).toBe(untouched);
      await db.sql('L', 'select public.delete_memory($1)', [canary]);

      const successor = await decide('L', 'A queue that is seen at first', { supersedes: queue });
      const fact = await saveMemory(db, 'L', { content: 'website: thursday', project_id: project });
      await assertFact('L', 'Thursday', { source_packet: fact });
      expect(successors(await search('C', 'website queue'))).toMatchObject({ [queue]: successor, [tuesday]: fact });
      for (const id of [successor, fact])
        await db.sql('L', "select public.update_memory($1, scope => 'l-private')", [id]);
      const hidden = await search('C', 'website queue');
      expect(successors(hidden)).toMatchObject({ [queue]: null, [tuesday]: null });
      expect(idsOf(hidden)).not.toContain(successor);
      // L reads both.
      expect(successors(await search('L', 'website queue'))).toMatchObject({ [queue]: successor });

      for (const id of [successor, fact])
        await db.sql('L', "select public.update_memory($1, scope => 'developer')", [id]);
      await expireMemories(db, [successor, fact]);
      expect(successors(await search('C', 'website queue'))).toMatchObject({ [queue]: null, [tuesday]: null });
    });
  });
});

import { graphOf, newPlace } from '../graph/support.ts';
import { useTestDatabase } from '../support/test-database.ts';

interface Hit {
  packet_id: string;
  content: string;
  score: number;
  lexical_score: number | null;
  kind: string;
  access_id: string;
  explanation: {
    found_by: string[];
    graph: { entity: string; path: { source_entity: string; target_entity: string }[] };
  } | null;
}

describe('search_memory in mode graph', () => {
  const db = useTestDatabase();
  const graph = graphOf(db);

  const search = async (caller: string, query: string, args: object = {}, claims = {}) => {
    const { hits, searched } = await graph.search(caller, { query, mode: 'graph', ...args }, claims);
    return { hits: hits as Hit[], searched, contents: (hits as Hit[]).map(({ content }) => content) };
  };
  /** billing –uses→ postgres –runs on→ host; each stated by a memory that names none of it. */
  async function draw({ project_id, name }: ReturnType<typeof newPlace>, caller = 'C', scope = 'developer') {
    const first = await graph.save(caller, {
      content: `The invoices’ store ${project_id} ${scope}`,
      project_id,
      scope,
      kind: 'finding',
    });
    const second = await graph.save(caller, { content: `Where it lives ${project_id} ${scope}`, project_id, scope });
    await graph.relate(caller, {
      source: name('Billing API'),
      type: 'uses',
      target: name('Postgres'),
      confidence: 0.9,
      source_packet: first,
    });
    await graph.relate(caller, {
      source: name('Postgres'),
      type: 'runs on',
      target: name('host'),
      confidence: 0.5,
      source_packet: second,
    });
    return { first, second };
  }

  it('finds memories within two steps of the entities a query names, most confident first', async () => {
    const here = newPlace();
    const { first, second } = await draw(here);
    const { hits, searched } = await search('C', `What does the “${here.name('billing  API')}”’s team rely on?`, {
      explain: true,
    });
    expect(hits.map(({ packet_id }) => packet_id)).toStrictEqual([first, second]);
    expect(searched.entities).toStrictEqual([here.name('billing api')]);
    expect([searched.mode, searched.vectors, searched.notice]).toStrictEqual(['graph', 'not asked for', null]);
    expect(hits[0]!.score).toBeGreaterThan(hits[1]!.score);
    expect(hits[0]!.score).toBeLessThanOrEqual(0.9);
    expect(hits[0]!.lexical_score).toBeNull();
    const { found_by, graph: explained } = hits[1]!.explanation!;
    expect(found_by).toStrictEqual(['graph']);
    expect(explained.entity).toBe(here.name('Billing API'));
    expect(explained.path.map((step) => [step.source_entity, step.target_entity])).toStrictEqual([
      [here.name('Billing API'), here.name('Postgres')],
      [here.name('Postgres'), here.name('host')],
    ]);
  });

  it('recognises aliases and prefers the longest name', async () => {
    const here = newPlace();
    await draw(here);
    await graph.addAlias('C', {
      alias: here.name('bill'),
      entity: here.name('Billing API'),
      project_id: here.project_id,
    });
    await graph.relate('C', {
      source: here.name('api'),
      type: 'is',
      target: here.name('an interface'),
      project_id: here.project_id,
    });
    const { contents, searched } = await search('C', `who knows ${here.name('bill')}?`);
    expect(contents).toContain(`The invoices’ store ${here.project_id} developer`);
    expect(searched.entities).toStrictEqual([here.name('bill')]);
    expect((await search('C', `the ${here.name('billing api')}`)).searched.entities).toStrictEqual([
      here.name('billing api'),
    ]);
  });

  it('applies filters, k and max_tokens, and is logged like every search', async () => {
    const here = newPlace();
    const { first, second } = await draw(here);
    const query = here.name('postgres');
    const ids = async (args: object) => (await search('C', query, args)).hits.map(({ packet_id }) => packet_id);
    expect(await ids({})).toStrictEqual([first, second]);
    expect(await ids({ k: 1 })).toStrictEqual([first]);
    expect(await ids({ kinds: ['note'] })).toStrictEqual([second]);
    expect(await ids({ project_id: 'another' })).toStrictEqual([]);
    expect(await ids({ scopes: ['global'] })).toStrictEqual([]);
    const { hits, searched } = await search('C', query, { max_tokens: 500 });
    expect(searched.cut.max_tokens).toBe(500);
    const rows = await db.sql('L', 'select target_id from public.memory_access_log where access_id = any ($1)', [
      hits.map(({ access_id }) => access_id),
    ]);
    expect(rows.map(({ target_id }) => target_id).sort()).toStrictEqual([first, second].sort());
    const [{ details }] = await db.sql(
      'L',
      `select details from public.audit_log where operation = 'SEARCH' order by audit_id desc limit 1`,
    );
    expect([details.mode, details.ids]).toStrictEqual(['graph', [first, second]]);
  });

  it('reports that a query names no entity, or that the mode does not fit', async () => {
    const { contents, searched } = await search('C', 'nothing of the kind');
    expect(contents).toStrictEqual([]);
    expect(searched.notice).toMatch(/names no entity/);
    expect((await graph.search('C', { mode: 'graph', kinds: ['finding'] })).searched.mode).toBe('recent');
    await expect(
      graph.search('C', { mode: 'graph', packet_id: '01900000-0000-7000-8000-00000000dead' }),
    ).rejects.toMatchObject({ code: 'L9VAL', column: 'mode' });
    for (const query of [`'; drop table x; --`, '%', '$1', '\\', "''", 'a'.repeat(5000), `${'word '.repeat(3000)}`])
      expect((await search('C', query)).contents).toStrictEqual([]);
  });

  it('uses no hidden entity, alias or relationship', async () => {
    const here = newPlace();
    await draw(here, 'L', 'l-private');
    const query = `${here.name('billing api')} and ${here.name('postgres')}`;
    const none = await search('C', query);
    expect([none.contents, none.searched.entities, none.searched.candidates]).toStrictEqual([[], [], 0]);
    expect((await search('L', query)).contents).toHaveLength(2);
    // This memory is readable, but only hidden relationships lead to it.
    const shared = await graph.save('C', { content: `Of the host ${here.project_id}`, project_id: here.project_id });
    await graph.relate('C', {
      source: here.name('host'),
      type: 'is in',
      target: here.name('a cellar'),
      source_packet: shared,
    });
    await graph.relate('C', {
      source: here.name('billing api'),
      type: 'is',
      target: here.name('old'),
      project_id: here.project_id,
    });
    const some = await search('C', here.name('billing api'), { explain: true });
    expect(some.contents).toStrictEqual([`${here.name('billing api')} is ${here.name('old')}`]);
    expect(JSON.stringify(some.hits)).not.toMatch(/Postgres/);
  });

  it('no longer finds a memory that was moved out of reach or deleted', async () => {
    const here = newPlace();
    const { first, second } = await draw(here, 'L');
    await db.sql('L', `select public.update_memory($1, scope => 'l-private')`, [second]);
    expect((await search('C', here.name('postgres'))).hits.map(({ packet_id }) => packet_id)).toStrictEqual([first]);
    await db.sql('L', 'select public.delete_memory($1)', [first]);
    expect((await search('C', here.name('postgres'))).hits).toStrictEqual([]);
    expect((await search('L', here.name('postgres'))).hits.map(({ packet_id }) => packet_id)).toStrictEqual([second]);
  });
});

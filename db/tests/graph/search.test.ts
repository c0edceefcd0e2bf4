import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { houseOfSuite } from '../../../gateway/tests/support/house-of-suite.ts';
import { graphOf, newPlace } from './support.ts';

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

describe('search_memory by the graph', () => {
  const house = houseOfSuite();
  const graph = graphOf(house);

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
      kind: 'decision',
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

  it('finds memories by the entities that a query names, two steps far, the surest first', async () => {
    const here = newPlace();
    const { first, second } = await draw(here);
    const { hits, searched } = await search('C', `What does the “${here.name('billing  API')}”’s team rely on?`, {
      explain: true,
    });
    assert.deepEqual(
      hits.map(({ packet_id }) => packet_id),
      [first, second],
    );
    assert.deepEqual(searched.entities, [here.name('billing api')]);
    assert.deepEqual([searched.mode, searched.vectors, searched.notice], ['graph', 'not asked for', null]);
    assert.ok(hits[0]!.score > hits[1]!.score && hits[0]!.score <= 0.9);
    assert.equal(hits[0]!.lexical_score, null);
    const { found_by, graph: explained } = hits[1]!.explanation!;
    assert.deepEqual(found_by, ['graph']);
    assert.equal(explained.entity, here.name('Billing API'));
    assert.deepEqual(
      explained.path.map((step) => [step.source_entity, step.target_entity]),
      [
        [here.name('Billing API'), here.name('Postgres')],
        [here.name('Postgres'), here.name('host')],
      ],
    );
  });

  it('knows entities by their aliases, and prefers the longest name', async () => {
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
    assert.ok(contents.includes(`The invoices’ store ${here.project_id} developer`));
    assert.deepEqual(searched.entities, [here.name('bill')]);
    assert.deepEqual((await search('C', `the ${here.name('billing api')}`)).searched.entities, [
      here.name('billing api'),
    ]);
  });

  it('keeps to filters, k and max_tokens, and is logged as every search', async () => {
    const here = newPlace();
    const { first, second } = await draw(here);
    const query = here.name('postgres');
    const ids = async (args: object) => (await search('C', query, args)).hits.map(({ packet_id }) => packet_id);
    assert.deepEqual(await ids({}), [first, second]);
    assert.deepEqual(await ids({ k: 1 }), [first]);
    assert.deepEqual(await ids({ kinds: ['note'] }), [second]);
    assert.deepEqual(await ids({ project_id: 'another' }), []);
    assert.deepEqual(await ids({ scopes: ['global'] }), []);
    const { hits, searched } = await search('C', query, { max_tokens: 500 });
    assert.equal(searched.cut.max_tokens, 500);
    const rows = await house.sql('L', 'select target_id from public.memory_access_log where access_id = any ($1)', [
      hits.map(({ access_id }) => access_id),
    ]);
    assert.deepEqual(rows.map(({ target_id }) => target_id).sort(), [first, second].sort());
    const [{ details }] = await house.sql(
      'L',
      `select details from public.audit_log where operation = 'SEARCH' order by audit_id desc limit 1`,
    );
    assert.deepEqual([details.mode, details.ids], ['graph', [first, second]]);
  });

  it('says so where a query names no entity, and where the mode does not fit', async () => {
    const { contents, searched } = await search('C', 'nothing of the kind');
    assert.deepEqual(contents, []);
    assert.match(searched.notice, /names no entity/);
    assert.equal((await graph.search('C', { mode: 'graph', kinds: ['decision'] })).searched.mode, 'recent');
    await assert.rejects(graph.search('C', { mode: 'graph', packet_id: '01900000-0000-7000-8000-00000000dead' }), {
      code: 'L9VAL',
      column: 'mode',
    });
    for (const query of [`'; drop table x; --`, '%', '$1', '\\', "''", 'a'.repeat(5000), `${'word '.repeat(3000)}`])
      assert.deepEqual((await search('C', query)).contents, []);
  });

  it('goes by nothing that the caller does not see', async () => {
    const here = newPlace();
    await draw(here, 'L', 'l-private');
    const query = `${here.name('billing api')} and ${here.name('postgres')}`;
    const none = await search('C', query);
    assert.deepEqual([none.contents, none.searched.entities, none.searched.candidates], [[], [], 0]);
    assert.equal((await search('L', query)).contents.length, 2);
    // Seen, but found only by way of what is not.
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
    assert.deepEqual(some.contents, [`${here.name('billing api')} is ${here.name('old')}`]);
    assert.doesNotMatch(JSON.stringify(some.hits), /Postgres/);
  });

  it('follows a memory that moves or goes', async () => {
    const here = newPlace();
    const { first, second } = await draw(here, 'L');
    await house.sql('L', `select public.update_memory($1, scope => 'l-private')`, [second]);
    assert.deepEqual(
      (await search('C', here.name('postgres'))).hits.map(({ packet_id }) => packet_id),
      [first],
    );
    await house.sql('L', 'select public.delete_memory($1)', [first]);
    assert.deepEqual((await search('C', here.name('postgres'))).hits, []);
    assert.deepEqual(
      (await search('L', here.name('postgres'))).hits.map(({ packet_id }) => packet_id),
      [second],
    );
  });
});

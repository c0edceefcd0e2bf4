// What GraphQL requests leave on the record, beside what the operations write themselves.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type House, openHouse } from '../support/house.ts';
import { standIn } from '../support/stand-in.ts';

describe('the record of GraphQL requests', () => {
  let house: House;
  const ids: string[] = [];
  before(async () => {
    house = await openHouse({ embedder: standIn });
    for (const content of ['first', 'second', 'third']) {
      const { result } = await house.tool('C', 'save_memory', { content, project_id: 'l9', tags: [content] });
      ids.push(result.memory.packet_id);
    }
    await house.tool('L', 'save_memory', { content: 'private', scope: 'l-private', project_id: 'l9' });
    await house.embedded();
  });
  after(() => house.close());

  let since: string;
  beforeEach(async () => {
    const [row] = await house.sql('L', 'select max(audit_id::text) as since from public.audit_log');
    since = row.since;
  });
  const rows = (operation: string) =>
    house.sql(
      'L',
      `select caller, tool_name, table_name, row_id, status, sqlstate, details from public.audit_log
       where audit_id > $1 and operation = $2 order by audit_id`,
      [since, operation],
    );
  const read = async (caller: string, query: string, variables = {}) => {
    const answer = await house.graphql(caller, query, variables);
    assert.equal(answer.errors, undefined);
    const found = await rows('READ');
    assert.equal(found.length, 1, 'one row a request');
    return found[0];
  };

  it('holds the name of the operation, the rows of each table, and the ids that were asked for', async () => {
    const row = await read(
      'C',
      'query Recent { memories { nodes { packetId embeddings { nodes { embeddingType } } } } other: memories(first: 1) { nodes { content } } }',
    );
    assert.equal(row.caller, 'C');
    assert.equal(row.tool_name, 'graphql');
    assert.equal(row.table_name, 'packet_store');
    assert.equal(row.status, 'success');
    assert.equal(row.details.operation_name, 'Recent');
    assert.deepEqual(row.details.tables, { packet_store: 4, memory_embeddings: 3 });
    assert.deepEqual(row.details.ids.toSorted(), ids.toSorted());
  });

  it('names the one memory that was read', async () => {
    const row = await read('C', 'query ($id: UUID!) { memoryByPacketId(packetId: $id) { packetId content } }', {
      id: ids[0],
    });
    assert.equal(row.row_id, ids[0]);
    assert.ok(!JSON.stringify(row).includes('first'), 'and never what it says');
  });

  it('has a row for what was not found too, and for a count', async () => {
    const row = await read('C', '{ memories(condition: { scope: "l-private" }) { totalCount nodes { packetId } } }');
    assert.deepEqual(row.details.tables, { packet_store: 0 });
    assert.deepEqual(row.details.totals, { packet_store: 0 });
    assert.deepEqual(row.details.ids, []);
    since = (await house.sql('L', 'select max(audit_id::text) as since from public.audit_log'))[0].since;
    assert.deepEqual((await read('L', '{ memories { totalCount } }')).details.totals, { packet_store: 4 });
  });

  it('sees through aliases, fragments, directives, nodes and what is asked for twice', async () => {
    const { data } = await house.graphql('C', 'query ($id: UUID!) { memoryByPacketId(packetId: $id) { id } }', {
      id: ids[1],
    });
    since = (await house.sql('L', 'select max(audit_id::text) as since from public.audit_log'))[0].since;
    const row = await read(
      'C',
      `query Tricky($id: UUID!, $node: ID!, $no: Boolean = false) {
        m: memoryByPacketId(packetId: $id) { ...Part }
        m: memoryByPacketId(packetId: $id) { ... on Node { ... on Memory { key: packetId } } }
        skipped: memoryByPacketId(packetId: $id) @include(if: $no) { packetId }
        node(id: $node) { ... on Memory { packetId content } }
      }
      fragment Part on Memory { content }`,
      { id: ids[0], node: data.memoryByPacketId.id },
    );
    assert.deepEqual(row.details.tables, { packet_store: 2 });
    assert.deepEqual(row.details.ids.toSorted(), [ids[0], ids[1]].toSorted());
  });

  it('has no READ row for what a search or a write answers, only for what is read beyond it', async () => {
    const { errors } = await house.graphql(
      'C',
      'mutation { saveMemory(input: { content: "fourth", projectId: "l9" }) { status memory { packetId content } } }',
    );
    assert.equal(errors, undefined);
    await house.graphql(
      'C',
      '{ searchMemory(query: "second", mode: lexical) { hits { packetId } } getMemoryStats { total } }',
    );
    assert.deepEqual(await rows('READ'), []);
    assert.equal((await rows('SEARCH')).length, 1);
    const row = await read(
      'C',
      '{ searchMemory(query: "second", mode: lexical) { hits { memory { packetId content } } } }',
    );
    assert.deepEqual(row.details.ids, [ids[1]]);
  });

  it('has none for a schema that is looked at', async () => {
    await house.graphql('C', '{ __schema { queryType { name } } __typename }');
    assert.deepEqual(await rows('READ'), []);
  });

  it('keeps what was refused or failed: a bad document, a bad value, too deep a question', async () => {
    for (const query of [
      '{ nothing }',
      '{ memories(',
      '{ memoryByPacketId(packetId: "no uuid") { content } }',
      '{ memories { nodes { embeddings { nodes { memory { embeddings { nodes { memory { embeddings { nodes { memory { packetId } } } } } } } } } } } }',
    ]) {
      since = (await house.sql('L', 'select max(audit_id::text) as since from public.audit_log'))[0].since;
      const { errors } = await house.graphql('C', `query Q ${query}`);
      assert.ok(errors, query);
      const denied = await rows('DENIED');
      assert.equal(denied.length, 1, query);
      assert.deepEqual([denied[0].caller, denied[0].status, denied[0].sqlstate], ['C', 'error', 'L9VAL']);
    }
  });

  it('has one row for an operation that was refused, not two', async () => {
    const { errors } = await house.graphql(
      'C',
      'mutation { saveMemory(input: { content: "x", scope: "l-private", projectId: "l9" }) { status } }',
    );
    assert.equal(errors?.[0]?.extensions?.sqlstate, 'L9SCP');
    assert.deepEqual(
      (
        await house.sql('L', "select operation from public.audit_log where audit_id > $1 and status = 'error'", [since])
      ).map(({ operation }) => operation),
      ['INSERT'],
    );
  });

  it("keeps back an answer that can't be put on it", async () => {
    const asOwner = (statement: string) => house.asSuperuser(`set role l9_owner; ${statement}; reset role`);
    const audit = 'audit.audit_graphql_read(text, jsonb, jsonb, uuid[])';
    await asOwner(`revoke execute on function ${audit} from l9_agent`);
    try {
      const { data, errors } = await house.graphql('C', '{ memories { nodes { content } } }');
      assert.equal(data, undefined);
      assert.equal(errors?.length, 1);
    } finally {
      await asOwner(`grant execute on function ${audit} to l9_agent`);
    }
  });
});

// One scenario end to end over MCP and GraphQL: from two contradictory memories to the current facts, world model and
// lessons, some of which only L can read.
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const project_id = 'l9';
// In every private text, and nowhere else.
const SECRET = 'zephyrine';

describe('the walk from memories to knowledge', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  const importanceOf = async (packetId: string) =>
    (
      await gateway.query(
        'L',
        'query ($id: UUID!) { memoryByPacketId(packetId: $id) { importanceScore contradictionCount } }',
        {
          id: packetId,
        },
      )
    ).memoryByPacketId;

  let decision: string;
  let contradiction: string;
  let plan: string;

  it('records a decision, its facts and a private plan for L', async () => {
    await gateway.query(
      'L',
      'mutation { admin { registerPredicate(predicate: "goes out on", isSingleValued: true) { isSingleValued } } }',
    );
    decision = await gateway.save('L', 'Decided: the website goes out on Tuesdays.', { kind: 'finding' });
    const { fact } = await gateway.call('L', 'assert_fact', {
      subject: 'Website',
      predicate: 'goes out on',
      object: 'Tuesday',
      source_packet: decision,
    });
    expect(fact.scope).toBe('developer');

    plan = await gateway.save('L', `The website will be sold to ${SECRET} Ltd.`, { scope: 'l-private' });
    await gateway.call('L', 'assert_fact', {
      subject: 'website',
      predicate: 'is sold to',
      object: `${SECRET} Ltd`,
      source_packet: plan,
    });
    await gateway.call('L', 'assert_fact', {
      subject: 'website',
      predicate: 'goes out on',
      object: `${SECRET} day`,
      source_packet: plan,
    });
    const relate = (target: string, sourcePacket: string) =>
      gateway.query(
        'L',
        'mutation ($input: RelateInput!) { relate(input: $input) { relationship { relationshipId } } }',
        {
          input: { source: 'website', type: 'depends_on', target, sourcePacket },
        },
      );
    await relate('billing', decision);
    await relate(`${SECRET} Ltd`, plan);
    await gateway.call('L', 'reflect', {
      content: `Never tell ${SECRET} when the website goes out.`,
      scope: 'l-private',
      project_id,
    });

    for (let version = 1; version <= 7; version++) {
      const { version: now } = await gateway.call('L', 'update_world_model', {
        insight: {
          insight_type: 'observation',
          content: `The website was deployed for the ${version}. time.`,
          entities: [
            { entity_id: 'website', entity_type: 'service', attributes: { deployments: version, day: 'Tuesday' } },
          ],
        },
        expected_version: version - 1,
        project_id,
      });
      expect(now).toBe(version);
    }
    await gateway.call('L', 'update_world_model', {
      insight: {
        insight_type: 'observation',
        entities: [{ entity_id: 'website', attributes: { buyer: `${SECRET} Ltd` } }],
      },
      source_packet: plan,
    });
  });

  it('supersedes the fact and lowers the importance of the decision when L states another from what Cursor noticed', async () => {
    const before = await importanceOf(decision);
    contradiction = await gateway.save(
      'C',
      'From now on the website goes out on Thursdays, since Tuesdays collide with the audit.',
    );
    const { fact } = await gateway.call('L', 'assert_fact', {
      subject: 'website',
      predicate: 'goes out on',
      object: 'Thursday',
      source_packet: contradiction,
    });
    expect(fact.contradiction_count).toBe(1);

    const { findFacts } = await gateway.query(
      'C',
      '{ findFacts(subject: "website", predicate: "goes out on") { object sourceMemory { packetId } replaced { nodes { object validTo sourceMemory { packetId } } } } }',
    );
    expect(findFacts.length).toBe(1);
    expect(findFacts[0].object).toBe('Thursday');
    expect(findFacts[0].sourceMemory.packetId).toBe(contradiction);
    expect(findFacts[0].replaced.nodes[0].object).toBe('Tuesday');
    expect(findFacts[0].replaced.nodes[0].sourceMemory.packetId).toBe(decision);
    expect(findFacts[0].replaced.nodes[0].validTo).not.toBeNull();

    const now = await importanceOf(decision);
    expect(now.contradictionCount).toBe(before.contradictionCount + 1);
    expect(now.importanceScore, `${now.importanceScore} < ${before.importanceScore}`).toBeLessThan(
      before.importanceScore,
    );
  });

  it('recalls the lesson in the next task for a question in other words', async () => {
    await gateway.call('C', 'reflect', {
      content: 'Before you name a day for a release, look whether an audit falls on it.',
      type: 'failure',
      priority: 'high',
      learned_from: [contradiction],
      project_id,
    });
    await gateway.embedded();
    const { lessons } = await gateway.call('C', 'recall_lessons', {
      query: 'choosing a date to ship the new version',
      project_id,
    });
    expect(lessons[0].content).toMatch(/^Before you name a day/);
  });

  it('moves the world model from version 7 to 8, and rejects a later update that expects 7', async () => {
    const { version, entities } = await gateway.call('C', 'get_world_model', { project_id });
    expect(version).toBe(7);
    expect(entities[0].attributes).toStrictEqual({ deployments: 7, day: 'Tuesday' });
    const move = {
      insight: { insight_type: 'change', entities: [{ entity_id: 'Website', attributes: { day: 'Thursday' } }] },
      source_packet: contradiction,
      expected_version: 7,
    };
    expect((await gateway.call('L', 'update_world_model', move)).version).toBe(8);
    const late = await gateway.tool('L', 'update_world_model', { ...move, source_packet: decision });
    expect(late.text).toBe(
      'INVALID_INPUT (L9VAL): expected_version: the world is at version 8. Read the world again, then decide.',
    );
    const { getWorldModel } = await gateway.query(
      'C',
      '{ getWorldModel(projectId: "l9") { version entities { entityId version attributes } } }',
    );
    expect(getWorldModel.version).toBe(8);
    expect(getWorldModel.entities[0]).toStrictEqual({
      entityId: 'website',
      version: 8,
      attributes: { deployments: 7, day: 'Thursday' },
    });
  });

  it('hides the private parts from every query of C, and shows them to L', async () => {
    const asked = {
      find_facts: { subject: 'website', include_history: true },
      explore_graph: { entity: 'website', depth: 5 },
      recall_lessons: { query: `${SECRET} website` },
      get_world_model: { project_id },
      search_memory: { query: `website ${SECRET}`, k: 100 },
      summarize: { project_id },
    };
    const everything = `{
      facts { totalCount nodes { subject object } } entityRelationships { totalCount nodes { targetEntity } }
      reflections { totalCount nodes { content } } worldModelEntities { totalCount nodes { attributes } }
      worldModelUpdates { totalCount nodes { content } } searchMemory(query: "website", mode: graph) { hits { content } searched { candidates } }
    }`;
    const told = async (caller: string) => {
      const answers: unknown[] = [await gateway.query(caller, everything)];
      for (const [name, args] of Object.entries(asked)) answers.push(await gateway.call(caller, name, args));
      return JSON.stringify(answers);
    };
    // What was asked for is told back.
    const without = (answers: string) =>
      answers.replaceAll(`website ${SECRET}`, '').replaceAll(`${SECRET} website`, '');
    const toC = without(await told('C'));
    expect(toC, toC).not.toContain(SECRET);
    expect(toC).not.toContain('l-private');
    const ofL = JSON.parse(await told('L'))[0];
    const ofC = JSON.parse(toC)[0];
    for (const [table, more] of Object.entries({
      facts: 2,
      entityRelationships: 1,
      reflections: 1,
      worldModelEntities: 1,
      worldModelUpdates: 1,
    })) {
      expect(ofL[table].totalCount - ofC[table].totalCount, table).toBe(more);
    }
    expect(JSON.stringify(ofL)).toContain(SECRET);
  });

  it('removes every trace of an erased memory', async () => {
    const { data, errors } = await gateway.graphql(
      'L',
      'mutation ($id: UUID!) { admin { eraseMemory(packetId: $id, reason: "sold") { memories } } }',
      { id: plan },
    );
    expect(errors, JSON.stringify(errors)).toBeUndefined();
    expect(data.admin.eraseMemory.memories).toBeGreaterThanOrEqual(1);
    const left = await gateway.query(
      'L',
      `{
      facts { nodes { object } } entityRelationships { nodes { targetEntity } } worldModelEntities { nodes { attributes } }
    }`,
    );
    expect(JSON.stringify(left), JSON.stringify(left)).not.toContain(SECRET);
  });
});

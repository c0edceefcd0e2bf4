// Lessons through the doors: MCP and GraphQL say and do the same.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type House, openHouse } from '../support/house.ts';

describe('reflect and recall_lessons', () => {
  let house: House;
  before(async () => {
    house = await openHouse();
  });
  after(() => house.close());

  it('are tools: what L learned C recalls, by meaning too, and reinforces', async () => {
    const told = await house.tool('L', 'reflect', {
      content: 'Database migrations must run before the new containers start, or the first requests fail.',
      type: 'failure',
      context: 'The release of March broke this way.',
      priority: 'high',
      project_id: 'l9',
    });
    assert.equal(told.isError, false);
    assert.equal(told.result.status, 'inserted');
    assert.match(told.text, /^Kept as /);
    assert.match(told.result.reflection.content, /^Database migrations must/);
    await house.embedded();

    const { result, text } = await house.tool('C', 'recall_lessons', {
      query: 'deploying a schema change',
      project_id: 'l9',
      k: 5,
    });
    assert.equal(result.searched.vectors, 'used');
    assert.equal(result.lessons[0].reflection_id, told.result.reflection.reflection_id);
    assert.equal(result.lessons[0].times_seen, 1);
    assert.match(text, /1\. failure, high, confidence 0\.70: Database migrations .*\(The release of March/);

    const again = await house.tool('C', 'reflect', {
      content: 'Database migrations have to run before the new containers start, or the first requests will fail',
      type: 'failure',
      project_id: 'l9',
    });
    assert.equal(again.result.status, 'reinforced');
    assert.match(again.text, /told 2 times, confidence now 0\.91/);
    assert.deepEqual(again.result.reflection.source_agent, 'l-cto');

    const nothing = await house.tool('C', 'recall_lessons', { project_id: 'elsewhere', query: 'migrations' });
    assert.match(nothing.text, /^No lesson found: searched developer, global/);
    const refused = await house.tool('C', 'reflect', { content: 'x', scope: 'l-private', project_id: 'l9' });
    assert.match(refused.text, /^SCOPE_DENIED/);
    const bad = await house.tool('C', 'recall_lessons', { types: ['rumour'] });
    assert.match(bad.text, /^INVALID_INPUT/);
  });

  it('answer as their schemas say', async () => {
    const client = await house.mcp('C');
    await client.listTools(); // so that the client checks what it gets
    await client.callTool({ name: 'reflect', arguments: { content: 'Schemas are promises.', project_id: 'l9' } });
    const { structuredContent } = await client.callTool({
      name: 'recall_lessons',
      arguments: { query: 'schemas', project_id: 'l9' },
    });
    assert.ok((structuredContent as { lessons: object[] }).lessons.length > 0);
  });

  it('are fields of GraphQL, with relations to memories and tasks', async () => {
    const told = await house.graphql(
      'C',
      `mutation {
        reflect(input: { content: "Cache keys need the tenant in them.", type: "lesson", tags: ["cache"], entities: ["Cache"], projectId: "shop" }) {
          status reflection { reflectionId content tags entities accessCount confidence memory { kind reflection { timesSeen } } }
        }
      }`,
    );
    assert.equal(told.errors, undefined);
    const { status, reflection } = told.data.reflect;
    assert.equal(status, 'inserted');
    assert.equal(reflection.content, 'Cache keys need the tenant in them.');
    assert.deepEqual([reflection.tags, reflection.entities], [['cache'], ['cache']]);
    assert.deepEqual(reflection.memory, { kind: 'reflection', reflection: { timesSeen: 1 } });

    const onTask = await house.graphql(
      'C',
      `mutation {
        reflectOnTask(input: { taskId: "SHOP-7", description: "Put a cache before the catalogue", outcome: "success", projectId: "shop",
          whatWorked: ["warming it"], lessons: ["Cache keys need the tenant in them."] }) {
          taskReflection { taskId outcome whatWorked memory { kind content } lessonsLearned lessons { nodes { reflectionId timesSeen tasks { nodes { taskId } } } } }
        }
      }`,
    );
    assert.equal(onTask.errors, undefined);
    const { taskReflection } = onTask.data.reflectOnTask;
    assert.equal(taskReflection.memory.kind, 'task_reflection');
    assert.deepEqual(taskReflection.lessonsLearned, ['Cache keys need the tenant in them.']);
    assert.deepEqual(taskReflection.lessons.nodes, [
      { reflectionId: reflection.reflectionId, timesSeen: 2, tasks: { nodes: [{ taskId: 'SHOP-7' }] } },
    ]);

    const recalled = await house.graphql(
      'L',
      `{ recallLessons(query: "cache tenant", projectId: "shop", types: ["lesson"], k: 3) {
          lessons { score priority content reflection { timesSeen } memory { packetId } }
          searched { mode scopes vectors }
        }
        reflections(first: 5, condition: { projectId: "shop" }) { nodes { content } totalCount }
        taskReflections(first: 5, condition: { taskId: "SHOP-7" }) { nodes { description } }
      }`,
    );
    assert.equal(recalled.errors, undefined);
    const [lesson] = recalled.data.recallLessons.lessons;
    assert.equal(lesson.content, 'Cache keys need the tenant in them.');
    assert.equal(lesson.reflection.timesSeen, 2);
    assert.ok(lesson.score > 0 && lesson.score <= 1);
    assert.deepEqual(recalled.data.reflections.totalCount, 1);
    assert.equal(recalled.data.taskReflections.nodes.length, 1);
  });

  it('never show C a private lesson, by any field', async () => {
    const told = await house.tool('L', 'reflect', {
      content: 'The heron project is to be sold in spring.',
      scope: 'l-private',
      project_id: 'l9',
    });
    const id = told.result.reflection.reflection_id;
    const packet = told.result.reflection.packet_id;
    const { data } = await house.graphql(
      'C',
      `query ($id: UUID!, $packet: UUID!) {
        reflectionByReflectionId(reflectionId: $id) { content }
        reflectionBySourcePacket(sourcePacket: $packet) { content }
        reflections(condition: { scope: "l-private" }) { totalCount }
        recallLessons(query: "heron sold", scopes: ["l-private"]) { lessons { content } searched { scopes candidates } }
      }`,
      { id, packet },
    );
    assert.deepEqual(data, {
      reflectionByReflectionId: null,
      reflectionBySourcePacket: null,
      reflections: { totalCount: 0 },
      recallLessons: { lessons: [], searched: { scopes: [], candidates: 0 } },
    });
  });
});

// Lessons over MCP and GraphQL, which behave the same.
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

describe('reflect and recall_lessons', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  it('lets C recall and reinforce over MCP what L learned, by meaning too', async () => {
    const told = await gateway.tool('L', 'reflect', {
      content: 'Database migrations must run before the new containers start, or the first requests fail.',
      type: 'failure',
      context: 'The release of March broke this way.',
      priority: 'high',
      project_id: 'l9',
    });
    expect(told.isError).toBe(false);
    expect(told.result.status).toBe('inserted');
    expect(told.text).toMatch(/^Kept as /);
    expect(told.result.reflection.content).toMatch(/^Database migrations must/);
    await gateway.embedded();

    const { result, text } = await gateway.tool('C', 'recall_lessons', {
      query: 'deploying a schema change',
      project_id: 'l9',
      k: 5,
    });
    expect(result.searched.vectors).toBe('used');
    expect(result.lessons[0].reflection_id).toBe(told.result.reflection.reflection_id);
    expect(result.lessons[0].times_seen).toBe(1);
    expect(text).toMatch(/1\. failure, high, confidence 0\.70: "Database migrations .*\("The release of March/);

    const again = await gateway.tool('C', 'reflect', {
      content: 'Database migrations have to run before the new containers start, or the first requests will fail',
      type: 'failure',
      project_id: 'l9',
    });
    expect(again.result.status).toBe('reinforced');
    expect(again.text).toMatch(/told 2 times, confidence now 0\.70 by 2 agents/);
    expect(again.result.reflection.source_agent).toStrictEqual('l-cto');

    const nothing = await gateway.tool('C', 'recall_lessons', { project_id: 'elsewhere', query: 'migrations' });
    expect(nothing.text).toMatch(/^No lesson found: searched developer, global/);
    const refused = await gateway.tool('C', 'reflect', { content: 'x', scope: 'l-private', project_id: 'l9' });
    expect(refused.text).toMatch(/^SCOPE_DENIED/);
    const bad = await gateway.tool('C', 'recall_lessons', { types: ['rumour'] });
    expect(bad.text).toMatch(/^INVALID_INPUT/);
  });

  it('serves lessons over GraphQL, with relations to memories and tasks', async () => {
    const told = await gateway.graphql(
      'C',
      `mutation {
        reflect(input: { content: "Cache keys need the tenant in them.", type: "lesson", tags: ["cache"], entities: ["Cache"], projectId: "shop" }) {
          status reflection { reflectionId content tags entities accessCount confidence memory { kind reflection { timesSeen } } }
        }
      }`,
    );
    expect(told.errors).toBeUndefined();
    const { status, reflection } = told.data.reflect;
    expect(status).toBe('inserted');
    expect(reflection.content).toBe('Cache keys need the tenant in them.');
    expect([reflection.tags, reflection.entities]).toStrictEqual([['cache'], ['Cache']]);
    expect(reflection.memory).toStrictEqual({ kind: 'reflection', reflection: { timesSeen: 1 } });

    const onTask = await gateway.graphql(
      'C',
      `mutation {
        reflectOnTask(input: { taskId: "SHOP-7", description: "Put a cache before the catalogue", outcome: "success", projectId: "shop",
          whatWorked: ["warming it"], lessons: ["Cache keys need the tenant in them."], falseConstraints: ["A cache has to be cold at first."],
          helpfulPatterns: ["Warm it before the switch."], metricsImproved: { p95: "120 to 80 ms", hits: 0.97 } }) {
          taskReflection { taskId outcome whatWorked memory { kind content } lessonsLearned falseConstraints helpfulPatterns metricsImproved lessons { nodes { reflectionId timesSeen tasks { nodes { taskId } } } } }
        }
      }`,
    );
    expect(onTask.errors).toBeUndefined();
    const { taskReflection } = onTask.data.reflectOnTask;
    expect(taskReflection.memory.kind).toBe('task_reflection');
    expect(taskReflection.lessonsLearned).toStrictEqual(['Cache keys need the tenant in them.']);
    expect([taskReflection.falseConstraints, taskReflection.helpfulPatterns]).toStrictEqual([
      ['A cache has to be cold at first.'],
      ['Warm it before the switch.'],
    ]);
    expect(taskReflection.metricsImproved).toStrictEqual({ p95: '120 to 80 ms', hits: 0.97 });
    expect(taskReflection.lessons.nodes.slice(0, 1)).toStrictEqual([
      { reflectionId: reflection.reflectionId, timesSeen: 2, tasks: { nodes: [{ taskId: 'SHOP-7' }] } },
    ]);

    const recalled = await gateway.graphql(
      'L',
      `{ recallLessons(query: "cache tenant", projectId: "shop", types: ["lesson"], k: 3) {
          lessons { score priority content reflection { timesSeen } memory { packetId } }
          searched { mode scopes vectors }
        }
        reflections(first: 5, filter: { projectId: { equalTo: "shop" } }) { nodes { content } totalCount }
        taskReflections(first: 5, filter: { taskId: { equalTo: "SHOP-7" } }) { nodes { description } }
      }`,
    );
    expect(recalled.errors).toBeUndefined();
    const [lesson] = recalled.data.recallLessons.lessons;
    expect(lesson.content).toBe('Cache keys need the tenant in them.');
    expect(lesson.reflection.timesSeen).toBe(2);
    expect(lesson.score).toBeGreaterThan(0);
    expect(lesson.score).toBeLessThanOrEqual(1);
    expect(recalled.data.reflections.totalCount).toStrictEqual(3);
    expect(recalled.data.taskReflections.nodes.length).toBe(1);
  });

  it('links a lesson to the task that an agent names over MCP', async () => {
    const args = { content: 'Indexes are built at night.', project_id: 'shop', task_id: 'SHOP-8' };
    await gateway.call('C', 'reflect', args);
    const { taskReflections } = await gateway.query(
      'C',
      '{ taskReflections(filter: { taskId: { equalTo: "SHOP-8" } }) { nodes { outcome lessonsLearned } } }',
    );
    expect(taskReflections.nodes).toStrictEqual([
      { outcome: 'unknown', lessonsLearned: ['Indexes are built at night.'] },
    ]);
    const refused = await gateway.tool('L', 'reflect', {
      ...args,
      content: 'And never by day.',
      task_id: 'x'.repeat(201),
    });
    expect(refused.text).toMatch(/L9LIM.*task_id/);
  });

  it('hides private lessons from C in every field', async () => {
    const told = await gateway.tool('L', 'reflect', {
      content: 'The heron project is to be sold in spring.',
      scope: 'l-private',
      project_id: 'l9',
    });
    const id = told.result.reflection.reflection_id;
    const packet = told.result.reflection.packet_id;
    const { data } = await gateway.graphql(
      'C',
      `query ($id: UUID!, $packet: UUID!) {
        reflectionByReflectionId(reflectionId: $id) { content }
        bySource: reflections(filter: { sourcePacket: { equalTo: $packet } }) { nodes { content } }
        reflections(filter: { scope: { equalTo: "l-private" } }) { totalCount }
        recallLessons(query: "heron sold", scopes: ["l-private"]) { lessons { content } searched { scopes candidates } }
      }`,
      { id, packet },
    );
    expect(data).toStrictEqual({
      reflectionByReflectionId: null,
      bySource: { nodes: [] },
      reflections: { totalCount: 0 },
      recallLessons: { lessons: [], searched: { scopes: [], candidates: 0 } },
    });
  });
});

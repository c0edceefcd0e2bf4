// Facts that change the world model, through the APIs.
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('a fact in the world model', () => {
  const gateway = useTestGateway({ embedder: standIn });

  it('changes it over MCP and GraphQL, unless an admin keeps it out', async () => {
    await gateway.sql('L', "select public.register_predicate('is led by', true)");
    const fact = { subject: 'billing', predicate: 'is led by', project_id: 'facts' };
    await gateway.call('C', 'assert_fact', { ...fact, object: 'Ann', into_world: true });
    const world = async () => (await gateway.call('C', 'get_world_model', { project_id: 'facts' })).entities;
    expect(await world()).toMatchObject([{ entity_id: 'billing', attributes: { 'is led by': 'Ann' } }]);
    const { assertFact } = await gateway.query(
      'C',
      `mutation { assertFact(input: { subject: "billing", predicate: "is led by", object: "Bob", projectId: "facts", intoWorld: true }) {
         fact { factId sourceMemory { worldModelUpdates { nodes { factId } } } } } }`,
    );
    const { factId, sourceMemory } = assertFact.fact;
    expect(sourceMemory.worldModelUpdates.nodes).toStrictEqual([{ factId }]);
    expect(await world()).toMatchObject([{ attributes: { 'is led by': 'Bob' } }]);
    await gateway.query(
      'C',
      'mutation ($factId: UUID!) { retractFact(input: { factId: $factId }) { fact { factId } } }',
      { factId },
    );
    expect(await world()).toMatchObject([{ attributes: { 'is led by': 'Ann' } }]);
    const keepOut = (takesFacts: boolean) =>
      gateway.query(
        'L',
        'mutation ($takesFacts: Boolean!) { admin { setWorldModelSettings(takesFacts: $takesFacts) { takesFacts } } }',
        { takesFacts },
      );
    expect((await keepOut(false)).admin.setWorldModelSettings).toStrictEqual({ takesFacts: false });
    const refused = await gateway.tool('C', 'assert_fact', { ...fact, object: 'Cem', into_world: true });
    expect(refused.text).toMatch(/L9VAL.*into_world: this tenant keeps facts out/);
    await keepOut(true);
  });
});

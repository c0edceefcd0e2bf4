import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('access over GraphQL', () => {
  const gateway = useTestGateway({ embedder: standIn });

  it('explains to an administrator why a caller sees a memory or not', async () => {
    await gateway.sql('L', "select public.save_memory('not for C', scope => 'l-private', project_id => 'l9')");
    const query =
      'query ($id: UUID!) { admin { explainAccess(caller: "C", packetId: $id) { isVisible decidedBy policies { policy admits } } } }';
    const [row] = await gateway.asSuperuser("select packet_id from packet_store where scope = 'l-private' limit 1");
    const { data, errors } = await gateway.graphql('L', query, { id: row.packet_id });
    expect(errors).toBeUndefined();
    expect([data.admin.explainAccess.isVisible, data.admin.explainAccess.decidedBy]).toStrictEqual([
      false,
      'scope_access',
    ]);
    expect(data.admin.explainAccess.policies).toHaveLength(5);
    const denied = await gateway.graphql('C', query, { id: row.packet_id });
    expect(denied.errors?.[0]?.extensions?.code).toBe('SCOPE_DENIED');
  });

  it('shows a caller its own cells of the access matrix', async () => {
    const { data } = await gateway.graphql('C', '{ accessMatrixCells { nodes { caller scope mayRead mayChange } } }');
    expect(data.accessMatrixCells.nodes).toStrictEqual([
      { caller: 'C', scope: 'developer', mayRead: true, mayChange: 'own' },
      { caller: 'C', scope: 'global', mayRead: true, mayChange: 'own' },
    ]);
  });
});

// Callers beside L and C.
import type { TestGateway } from '../../../gateway/tests/support/gateway.ts';

/** The key of an actor that can read what C can, and write nothing. */
export async function readOnlyKey(gateway: TestGateway): Promise<string> {
  const { admin } = await gateway.query(
    'L',
    `mutation { admin {
      registerActor(caller: "reader", readableScopes: ["developer", "global"], writableScopes: []) { caller }
      createApiKey(name: "reader", caller: "reader") { apiKey }
    } }`,
  );
  return admin.createApiKey.apiKey;
}

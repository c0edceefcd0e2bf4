// The schema of GraphQL is built after the gateway listens, and /ready says so meanwhile.
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

// Less than /ready waits for the embedder, and mostly enough for what it asks of the database.
const OTHER_CHECKS_MS = 1_000;

describe('the schema of GraphQL', () => {
  it('is reported as being built until it is there, and the first request waits for it', async () => {
    const loaded = Promise.withResolvers<void>();
    const embedder = { ...standIn, isReady: () => loaded.promise };
    const gateway = await startTestGateway({ embedder, buildsSchemaOnDemand: false });
    try {
      const ready = async () => (await (await fetch(`${gateway.instance.url}/ready`)).json()) as Record<string, string>;
      const first = ready();
      await sleep(OTHER_CHECKS_MS);
      loaded.resolve();
      expect(await first).toMatchObject({ status: 'ready', graphql: 'building' });
      const { data, errors } = await gateway.graphql('C', '{ __typename }');
      expect([data, errors]).toStrictEqual([{ __typename: 'Query' }, undefined]);
      expect(await ready()).not.toHaveProperty('graphql');
    } finally {
      loaded.resolve();
      await gateway.close();
    }
  });

  it('does not keep a gateway from closing before it is built', async () => {
    const gateway = await startTestGateway({ embedder: standIn, buildsSchemaOnDemand: false });
    const answer = gateway.graphql('C', '{ __typename }').catch(() => null);
    await gateway.close();
    await answer;
  });
});

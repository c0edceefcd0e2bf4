// GraphQL over HTTP: the audits of its working group, and a client with its defaults.
import { Client, cacheExchange, fetchExchange, gql, type TypedDocumentNode } from '@urql/core';
import { serverAudits } from 'graphql-http';
import { expectFaults, refusedAudits, refusedCalls } from './refused.ts';
import { useServer } from './server.ts';

const server = useServer();

describe('the audits of graphql-http', () => {
  const audits = serverAudits({
    url: () => `${server.url}/graphql`,
    fetchFn: (url: string, init: RequestInit = {}) =>
      fetch(url, { ...init, headers: { ...(init.headers as Record<string, string>), ...server.headers } }),
  });

  it.each(audits.map((audit) => [audit.id, audit.name, audit] as const))('has %s: %s', async (id, _, audit) => {
    const result = await audit.fn();
    expectFaults(id, result.status === 'ok' ? [] : [`${result.status}: ${result.reason}`], refusedAudits);
  });

  it('refuses no audit that the suite lacks', () => {
    const ids = audits.map(({ id }) => id);
    expect(Object.keys(refusedAudits).filter((id) => !ids.includes(id))).toStrictEqual([]);
  });
});

describe('urql', () => {
  const SAVE = gql`
    mutation Save($content: String!) {
      saveMemory(input: { content: $content, projectId: "interop" }) { status memory { packetId content } }
    }
  `;
  const LATEST = gql`{ memories(first: 1) { nodes { content } } }`;
  const connect = (options: object = {}) =>
    new Client({
      url: `${server.url}/graphql`,
      exchanges: [cacheExchange, fetchExchange],
      fetchOptions: { headers: server.headers },
      ...options,
    });
  const faultsOf = async (client: Client, query: TypedDocumentNode) => {
    const { error, data } = await client.query(query, {}).toPromise();
    return error ? [error.message] : data ? [] : ['no data'];
  };

  it('saves with its defaults', async () => {
    const { data, error } = await connect().mutation(SAVE, { content: 'urql is a GraphQL client' }).toPromise();
    expect(error).toBeUndefined();
    expect(data).toMatchObject({ saveMemory: { status: 'inserted', memory: { content: 'urql is a GraphQL client' } } });
  });

  it('sends queries by GET with its defaults, and is told to post them', async () => {
    const faults = await faultsOf(connect(), LATEST);
    expectFaults('urql: a query by GET', faults, refusedCalls);
    expect(faults.join()).toMatch(/POST/);
  });

  it('queries with preferGetMethod: false', async () => {
    expect(await faultsOf(connect({ preferGetMethod: false }), LATEST)).toStrictEqual([]);
  });
});

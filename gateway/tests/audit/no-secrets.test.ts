// What callers name in requests gets into the audit log: without the secrets that may be among it.

import { SECRETS, token } from '../../../db/tests/secrets/support.ts';
import { grepDatabase } from '../../../db/tests/support/dump.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('the audit log', () => {
  const gateway = useTestGateway({ embedder: standIn });
  const url = SECRETS['url-credentials']!;
  const rows = async () =>
    (await gateway.asSuperuser('select a::text as line from audit_log a order by audit_id')).map(({ line }) => line);

  it('has no secret that a caller names as an operation, tool, scope, project or reference of a refused call', async () => {
    await gateway.save('C', 'We deploy on Tuesdays.');
    const before = (await rows()).length;
    await gateway.graphql('C', `query ${token} { memories { nodes { packetId } } }`);
    await gateway.tool('C', token, {});
    for (const name of [token, url]) {
      await gateway.tool('C', 'save_memory', { content: 'x', scope: name, project_id: 'l9' });
      await gateway.tool('C', 'save_memory', { content: 'x', scope: 'l-private', project_id: name });
    }
    await fetch(`${gateway.instance.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${gateway.apiKey('C')}`,
        'x-correlation-id': token,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'save_memory', arguments: { content: 'x', scope: 'none' } },
      }),
    });
    const said = JSON.stringify({ [token]: url });
    await gateway.sql('C', "select audit.audit_refusal('READ', null, null, null, 'L9VAL', $1::jsonb)", [said]);

    const lines = (await rows()).slice(before);
    expect(lines.length).toBeGreaterThanOrEqual(8);
    expect(lines.filter((line: string) => line.includes(token) || line.includes(url))).toStrictEqual([]);
    expect(lines.filter((line: string) => line.includes('[redacted: github-token]')).length).toBeGreaterThanOrEqual(6);
  });

  it('has no secret that a caller names as a project, filter or reference of a call that succeeds, nor has any other table', async () => {
    const post = async (reference: string, name: string, args: object) => {
      const response = await fetch(`${gateway.instance.url}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${gateway.apiKey('C')}`,
          'x-correlation-id': reference,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
      });
      return response.text();
    };
    const secrets = [SECRETS['stripe-key']!, SECRETS['gitlab-token']!, SECRETS['npm-token']!];
    const [reference, project, tag] = secrets as [string, string, string];
    const before = (await rows()).length;
    for (const [name, args] of [
      ['search_memory', { query: 'Tuesdays' }],
      ['search_memory', { query: 'Tuesdays', project_id: project, tags: [tag] }],
      ['get_memory_stats', { project_id: project }],
    ] as const)
      expect(await post(reference, name, args)).not.toContain('"isError":true');
    expect(await post('order-7', 'save_memory', { content: 'Of a secret place.', project_id: project })).toContain(
      'L9SEC',
    );
    await gateway.graphql('C', `{ memories(filter: { projectId: { equalTo: "${project}" } }) { nodes { packetId } } }`);

    const lines = (await rows()).slice(before);
    expect(lines.filter((line: string) => line.includes('[redacted: stripe-key]'))).toHaveLength(3);
    expect(lines.filter((line: string) => line.includes('[redacted: gitlab-token]')).length).toBeGreaterThanOrEqual(3);
    expect(lines.some((line: string) => line.includes('[redacted: npm-token]'))).toBe(true);
    expect(lines.filter((line: string) => line.includes('L9SEC'))).toHaveLength(1);
    await gateway.inSuperuserSession(async (session) => {
      expect(await grepDatabase(session, secrets)).toStrictEqual({});
    });
  });

  it('keeps the names of ordinary calls as they are', async () => {
    await gateway.graphql(
      'C',
      'query ProjectBoard2026 { memories(filter: { projectId: { equalTo: "l9" } }) { nodes { packetId } } }',
    );
    await gateway.tool('C', 'save_memory', { content: 'x', scope: 'nowhere', project_id: 'customer-portal' });
    const [graphql, refused] = await gateway
      .asSuperuser('select project_id, scope, details from audit_log order by audit_id desc limit 2')
      .then((found) => found.reverse());
    expect(graphql.details).toMatchObject({ operation_name: 'ProjectBoard2026', tool_name: 'graphql' });
    expect(graphql).toMatchObject({ project_id: 'l9' });
    expect(refused).toMatchObject({ project_id: 'customer-portal', scope: 'nowhere' });
    expect(refused.details).toMatchObject({ tool_name: 'save_memory', code: 'SCOPE_DENIED' });
  });
});

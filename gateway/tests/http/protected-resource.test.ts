// What clients of OAuth are told where an issuer elsewhere signs the tokens (RFC 9728).
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const ISSUER = 'https://login.example/realms/l9';
const JWKS_URL = 'https://login.example/keys';

describeOnEmbedded('the metadata of the protected resource', () => {
  describe('where the audience is a name', () => {
    const gateway = useTestGateway({ embedder: standIn, env: { JWKS_URL, JWT_ISSUER: ISSUER } });
    const get = (path: string, headers = {}) => fetch(`${gateway.instance.url}${path}`, { headers });

    it.each([
      [WELL_KNOWN, '/mcp'],
      [`${WELL_KNOWN}/mcp`, '/mcp'],
      [`${WELL_KNOWN}/graphql`, '/graphql'],
    ])('is at %s, for anybody, and names %s as the resource', async (path, endpoint) => {
      const answer = await get(path);
      expect([answer.status, await answer.json()]).toStrictEqual([
        200,
        {
          resource: gateway.instance.url + endpoint,
          authorization_servers: [ISSUER],
          bearer_methods_supported: ['header'],
          resource_name: 'l9-memory',
        },
      ]);
    });

    it.each([
      ['without a key', {}],
      ['with a key that nobody has', { authorization: 'Bearer nobody-has-this-key' }],
    ])('is named by the answer to a call %s, on each API for itself', async (_, headers) => {
      for (const path of ['/mcp', '/graphql']) {
        const answer = await fetch(`${gateway.instance.url}${path}`, { method: 'POST', headers });
        expect(answer.status, path).toBe(401);
        expect(answer.headers.get('www-authenticate')).toMatch(
          new RegExp(`^Bearer realm="l9-memory".*, resource_metadata="${gateway.instance.url}${WELL_KNOWN}${path}"$`),
        );
      }
    });

    it('names no host that is not allowed', async () => {
      const { request } = await import('node:http');
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const asked = request(
          `${gateway.instance.url}${WELL_KNOWN}`,
          { headers: { host: 'evil.example' } },
          (answer) => {
            answer.resume();
            resolve(answer.statusCode);
          },
        );
        asked.on('error', reject).end();
      });
      expect(status).toBe(403);
    });

    it('is nowhere else, and no server of tokens is', async () => {
      for (const path of [`${WELL_KNOWN}/health`, '/.well-known/oauth-authorization-server', '/register'])
        expect((await get(path)).status, path).toBe(404);
    });
  });

  describe('where the audience is an address', () => {
    const resource = 'https://memory.example/team/mcp';
    const gateway = useTestGateway({
      embedder: standIn,
      env: { JWKS_URL, JWT_ISSUER: ISSUER, JWT_AUDIENCE: resource },
    });

    it('has that address, whatever the client calls the server', async () => {
      for (const path of ['', '/mcp', '/graphql', '/team/mcp']) {
        const answer = await fetch(`${gateway.instance.url}${WELL_KNOWN}${path}`);
        expect(await answer.json(), path).toMatchObject({ resource });
      }
      for (const path of ['/mcp', '/graphql']) {
        const refused = await fetch(`${gateway.instance.url}${path}`, { method: 'POST' });
        expect(refused.headers.get('www-authenticate'), path).toBe(
          `Bearer realm="l9-memory", resource_metadata="https://memory.example${WELL_KNOWN}/team/mcp"`,
        );
      }
    });
  });

  describe('where this installation signs the tokens', () => {
    const gateway = useTestGateway({ embedder: standIn });

    it('is not there', async () => {
      expect((await fetch(`${gateway.instance.url}${WELL_KNOWN}/mcp`)).status).toBe(404);
      const refused = await fetch(`${gateway.instance.url}/mcp`, { method: 'POST' });
      expect(refused.headers.get('www-authenticate')).toBe('Bearer realm="l9-memory"');
    });
  });
});

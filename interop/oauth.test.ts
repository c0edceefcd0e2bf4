// A client of OAuth gets to the server by itself: it is refused, finds the issuer (RFC 9728), registers there, lets a person sign in, and calls
// with the token. The issuer is oidc-provider, the client that of the SDK.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import Provider from 'oidc-provider';
import { describeOnEmbedded } from '../db/tests/support/on-engine.ts';
import { createProcessHome, type ProcessHome } from '../gateway/tests/home/processes.ts';

const CALLBACK = 'http://127.0.0.1:9/callback';
const PERSON = 'ann';

/** The audience of the tokens, which the server must be told before it has an address. */
const AUDIENCE = 'l9-memory-of-this-test';

interface Issuer {
  url: string;
  /** What the next tokens say beside what the standard says. */
  claims: Record<string, unknown>;
  audience: string;
  close(): void;
}

/** An issuer where everybody may register a client, and where whoever comes is signed in as one person. */
async function startIssuer(): Promise<Issuer> {
  const http: Server = createServer();
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const issuer: Issuer = { url, claims: {}, audience: AUDIENCE, close: () => void http.closeAllConnections() };
  const provider = new Provider(url, {
    clientDefaults: { token_endpoint_auth_method: 'none' },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: 'memory',
          audience: issuer.audience,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    scopes: ['openid', 'offline_access', 'memory'],
    pkce: { required: () => true },
    findAccount: (_context: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id }) }),
    extraTokenClaims: () => issuer.claims,
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/sign-in/${uid}` },
    // What the person would allow on a page of its own.
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId: oidc.client!.clientId, accountId: oidc.session!.accountId! });
      grant.addOIDCScope('memory');
      for (const resource of [oidc.params?.resource ?? []].flat()) grant.addResourceScope(String(resource), 'memory');
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  http.on('request', (request, response) => {
    if (!request.url?.startsWith('/sign-in/')) return answer(request, response);
    return provider.interactionFinished(request, response, { login: { accountId: PERSON } });
  });
  return issuer;
}

/** A person's browser: follows the redirects of the issuer with its cookies, up to the client's own address. */
async function browse(start: URL): Promise<URL> {
  const cookies = new Map<string, string>();
  for (let at = start, steps = 0; steps < 10; steps++) {
    if (at.href.startsWith(CALLBACK)) return at;
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ');
    const answer = await fetch(at, { redirect: 'manual', headers: { cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
      cookies.set(name!, value!);
    }
    const location = answer.headers.get('location');
    if (!location) throw new Error(`the issuer answers ${answer.status}: ${await answer.text()}`);
    at = new URL(location, at);
  }
  throw new Error('the issuer redirects without end');
}

/** What a client keeps between its steps. */
function clientOfOAuth() {
  const kept: { information?: OAuthClientInformationMixed; tokens?: OAuthTokens; verifier?: string; asked?: URL } = {};
  const provider: OAuthClientProvider = {
    redirectUrl: CALLBACK,
    clientMetadata: {
      client_name: 'interop',
      redirect_uris: [CALLBACK],
      token_endpoint_auth_method: 'none',
      scope: 'memory',
    },
    clientInformation: () => kept.information,
    saveClientInformation: (information) => void Object.assign(kept, { information }),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void Object.assign(kept, { tokens }),
    redirectToAuthorization: (asked) => void Object.assign(kept, { asked }),
    saveCodeVerifier: (verifier) => void Object.assign(kept, { verifier }),
    codeVerifier: () => kept.verifier!,
  };
  return { kept, provider };
}

describeOnEmbedded('a client of OAuth', () => {
  let home: ProcessHome;
  let issuer: Issuer;
  let endpoint: URL;
  beforeAll(async () => {
    issuer = await startIssuer();
    home = await createProcessHome();
    const { url } = await home.serve([], {
      JWKS_URL: `${issuer.url}/jwks`,
      JWT_ISSUER: issuer.url,
      JWT_AUDIENCE: AUDIENCE,
    });
    endpoint = new URL(`${url}/mcp`);
  });
  afterAll(async () => {
    await home?.close();
    issuer?.close();
  });

  /** What a client does until it has a token, and how it connects then. */
  async function signIn() {
    const { kept, provider } = clientOfOAuth();
    const open = () => new StreamableHTTPClientTransport(endpoint, { authProvider: provider });
    const first = open();
    await expect(new Client({ name: 'interop', version: '1' }).connect(first as never)).rejects.toThrow(
      UnauthorizedError,
    );
    expect(kept.asked!.origin).toBe(issuer.url);
    expect(kept.asked!.searchParams.get('resource')).toBe(endpoint.href);
    const { searchParams } = await browse(kept.asked!);
    const code = searchParams.get('code');
    if (code === null) throw new Error(`the issuer gives no code: ${searchParams}`);
    await first.finishAuth(code);
    return { token: kept.tokens!.access_token, open };
  }

  it('finds the issuer, signs a person in, and saves a memory as the caller of the token', async () => {
    issuer.claims = { caller: 'C', projects: ['site'] };
    const client = new Client({ name: 'interop', version: '1' });
    await client.connect((await signIn()).open() as never);
    const answer = (await client.callTool({
      name: 'save_memory',
      arguments: { content: 'The canary goes to Frankfurt first.' },
    })) as CallToolResult;
    expect(answer.structuredContent).toMatchObject({
      status: 'inserted',
      memory: { project_id: 'site', metadata: { creator: 'Cursor-IDE' } },
    });
    const refused = (await client.callTool({
      name: 'save_memory',
      arguments: { content: 'Only L may know.', scope: 'l-private' },
    })) as CallToolResult;
    expect(JSON.stringify(refused.content)).toContain('L9SCP');
    await client.close();
  });

  it.each([
    ['for another audience', { caller: 'C' }, 'https://elsewhere.example', /claim aud is missing or not accepted/],
    ['without a caller', {}, AUDIENCE, /claim caller:/],
    ['of a caller that nobody registered', { caller: 'stranger' }, AUDIENCE, /caller: not a known caller/],
  ])('is refused with a token %s, and told where to get another', async (_, claims, audience, reason) => {
    issuer.claims = claims;
    issuer.audience = audience;
    const { token } = await signIn();
    issuer.audience = AUDIENCE;
    const refused = await fetch(endpoint, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
    expect(refused.status).toBe(401);
    const challenge = refused.headers.get('www-authenticate');
    expect(challenge).toMatch(reason);
    expect(challenge).toContain(`resource_metadata="${endpoint.origin}/.well-known/oauth-protected-resource/mcp"`);
  });
});

// The GraphQL editor at `/`, as a newcomer sees it.
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('the GraphQL editor', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  /** The page as a browser gets it that reached us under this name. */
  const pageAt = (host?: string) =>
    new Promise<string>((resolve, reject) => {
      const { hostname, port } = new URL(gateway.instance.url);
      const headers = { accept: 'text/html', host: `${host ?? hostname}:${port}` };
      get({ hostname, port, path: '/', headers }, (response) => text(response).then(resolve, reject)).on(
        'error',
        reject,
      );
    });

  it.each(['127.0.0.1', 'localhost', '[::1]'])('shows at %s a field for a token and how to get one', async (host) => {
    const page = await pageAt(host);
    expect(page).toContain('name="token"');
    expect(page).toContain('npm run token -- --caller C');
  });

  it('opens with an example that works', async () => {
    const [, quoted] = /RURU_CONFIG\.defaultQuery = (".*");/.exec(await pageAt())!;
    const example = JSON.parse(quoted!);
    const run = (operationName: string) =>
      gateway.token({ caller: 'C' }).then(async (token) => {
        const response = await fetch(`${gateway.instance.url}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: JSON.stringify({ query: example, operationName }),
        });
        return response.json();
      });
    expect(await run('Save')).toMatchObject({ data: { saveMemory: { status: 'inserted' } } });
    await gateway.embedded();
    expect(await run('Search')).toMatchObject({
      data: { searchMemory: { hits: [{ content: 'We deploy on Tuesdays, never on Fridays.' }] } },
    });
  });

  it('contains no token or key', async () => {
    const page = await pageAt();
    expect(page).not.toMatch(/eyJ[\w-]+\.[\w-]+\.[\w-]+/);
    for (const caller of ['C', 'L']) expect(page).not.toContain(gateway.apiKey(caller));
  });

  it('shows no field for a token on any other host name', async () => {
    const page = await pageAt('memory.example.org');
    expect(page).toMatch(/ruru/);
    expect(page).not.toContain('name="token"');
  });
});

import { useTestGateway } from '../support/gateway.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

describe('the console over HTTP', () => {
  const gateway = useTestGateway();
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${gateway.instance.url}${path}`, { headers });

  it.each([
    '/console',
    '/console/',
    '/console/memories',
    '/console/no/such/page',
  ])('answers a browser at %s with the page, which is never kept', async (path) => {
    const answer = await get(path, { accept: BROWSER });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^text\/html/);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('vary')).toMatch(/\bAccept\b/);
    expect(await answer.text()).toContain('<noscript>');
  });

  it.each([
    {},
    { accept: '*/*' },
    { accept: 'application/json' },
    { accept: 'application/json, text/html;q=0.5' },
  ])('answers a program (%j) with the JSON of an unknown path', async (headers) => {
    const answer = await get('/console/memories', headers as Record<string, string>);
    expect(answer.status).toBe(404);
    expect(answer.headers.get('vary')).toMatch(/\bAccept\b/);
    expect(await answer.json()).toMatchObject({ errors: [{ extensions: { code: 'NOT_FOUND' } }] });
  });

  it('serves assets for good, and no page in their place', async () => {
    const page = await (await get('/console', { accept: BROWSER })).text();
    const [script] = /\/console\/assets\/[\w-]+\.js/.exec(page)!;
    const answer = await get(script);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/javascript/);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect((await get('/console/assets/gone.js', { accept: BROWSER })).status).toBe(404);
    expect((await get('/console/assets/..%2f..%2f..%2fpackage.json')).status).toBeGreaterThanOrEqual(400);
  });

  it('forbids inline scripts, other origins, frames and HTML from strings', async () => {
    const answer = await get('/console', { accept: BROWSER });
    const policy = answer.headers.get('content-security-policy')!;
    for (const rule of [
      "default-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
      "object-src 'none'",
      "base-uri 'none'",
      "require-trusted-types-for 'script'",
    ]) {
      expect(policy).toContain(rule);
    }
    expect(policy).not.toContain('unsafe');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    const page = await answer.text();
    expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
  });

  it('refuses names that are not of this machine, and pages of other sites', async () => {
    const { port } = new URL(gateway.instance.url);
    const { request } = await import('node:http');
    const status = (headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve) => {
        request({ port, path: '/console', headers: { accept: BROWSER, ...headers } }, (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        }).end();
      });
    expect(await status({ host: 'evil.example' })).toBe(403);
    expect(await status({ host: `127.0.0.1:${port}`, origin: 'https://evil.example' })).toBe(403);
  });
});

describe.each([
  ['on another address', { HOST: '0.0.0.0' }, 404],
  ['on another address with CONSOLE=on', { HOST: '0.0.0.0', CONSOLE: 'on' }, 200],
  ['on this machine with CONSOLE=off', { CONSOLE: 'off' }, 404],
] as const)('the console %s', (_where, env, status) => {
  const gateway = useTestGateway({ env });

  it(`answers ${status}, and has a link only if it is on`, async () => {
    const { port } = new URL(gateway.instance.url);
    const answer = await fetch(`http://127.0.0.1:${port}/console`, { headers: { accept: BROWSER } });
    expect(answer.status).toBe(status);
    expect(gateway.instance.consoleLink() !== null).toBe(status === 200);
  });
});

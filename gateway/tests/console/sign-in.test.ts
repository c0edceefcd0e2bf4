import { Writable } from 'node:stream';
import { pino } from 'pino';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { codeVerifier, signInLink } from '../../src/console/link.ts';
import { runCommand } from '../support/command.ts';
import { useTestGateway } from '../support/gateway.ts';

const MINUTE = 60_000;
const keys = { jwtSecret: 'a-secret-of-at-least-thirty-two-characters', jwtSecrets: {} };
const codeOf = (link: string) => link.split('#code=')[1]!;

describe('a code of a sign-in link', () => {
  const code = (at = 0, instance = 'server', secrets: typeof keys = keys) =>
    codeOf(signInLink('http://127.0.0.1:9001', instance, secrets, at));
  const verifier = (at: number) =>
    codeVerifier(
      'server',
      () => keys,
      () => at,
    );

  it('is accepted once', () => {
    const isValid = verifier(MINUTE);
    const one = code();
    expect([isValid(one), isValid(one), isValid(code())]).toEqual([true, false, true]);
  });

  it('expires after ten minutes', () => {
    expect(verifier(10 * MINUTE - 1)(code())).toBe(true);
    expect(verifier(10 * MINUTE)(code())).toBe(false);
  });

  it.each([
    ['of another start of the server', code(0, 'another')],
    ['with another secret', code(0, 'server', { ...keys, jwtSecret: 'another-secret-of-thirty-two-characters' })],
    ['that was changed', code().replace(/^./, 'B')],
    ['that is written in another way', `${code()}=`],
    ['that is cut off', code().slice(0, -1)],
    ['that is empty', ''],
  ])('is refused %s', (_how, given) => {
    expect(verifier(MINUTE)(given)).toBe(false);
  });

  it('ends after five wrong ones, with all that were made before', () => {
    let now = MINUTE;
    const isValid = codeVerifier(
      'server',
      () => keys,
      () => now,
    );
    const before = code(now);
    for (let guess = 0; guess < 5; guess += 1) isValid(`guess-${guess}`);
    now += 1;
    expect(isValid(before)).toBe(false);
    expect(isValid(code(now))).toBe(true);
  });
});

describe('POST /console/sign-in', () => {
  const logged: string[] = [];
  const lines = new Writable({
    write(chunk, _encoding, done) {
      logged.push(String(chunk));
      done();
    },
  });
  const gateway = useTestGateway({ logger: pino({ level: 'trace' }, lines) });
  const signIn = (body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${gateway.instance.url}/console/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });

  it('answers a code with a token of the person at this machine, once, and logs neither', async () => {
    const code = codeOf(gateway.instance.consoleLink()!);
    const answer = await signIn({ code });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const { token } = (await answer.json()) as { token: string };
    // The schema is built at the first request, which on a busy machine can take longer than a request may.
    const data = await eventually(async () => {
      return (await gateway.graphql({ token }, '{ whoAmI { caller isAdmin isReadOnly } }')).data;
    });
    expect(data).toEqual({ whoAmI: { caller: 'me', isAdmin: true, isReadOnly: false } });
    const again = await signIn({ code });
    expect(again.status).toBe(401);
    expect(await again.json()).toMatchObject({ errors: [{ extensions: { field: 'code' } }] });
    expect(logged.join('')).not.toContain(code);
    expect(logged.join('')).not.toContain(token);
  });

  it.each([[{}], [{ code: 1 }], [[]], ['text']])('refuses %j, which holds no code', async (body) => {
    expect((await signIn(body)).status).toBe(400);
  });

  it('refuses pages of other sites', async () => {
    const code = codeOf(gateway.instance.consoleLink()!);
    expect((await signIn({ code }, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await signIn({ code })).status).toBe(200);
  });

  it('accepts a link that l9-memory console printed', async () => {
    const { lockHome } = await import('../../src/home/lock.ts');
    const lock = await lockHome(gateway.home.home).catch(() => null);
    lock?.announce({ url: gateway.instance.url, instance: gateway.instance.id, onDemand: false });
    const { out, err } = await runCommand(['console'], gateway.home);
    lock?.release();
    expect(err).toBe('');
    expect((await signIn({ code: codeOf(out.trim()) })).status).toBe(200);
  });
});

describe('POST /console/sign-in where another issuer signs tokens', () => {
  const gateway = useTestGateway({ env: { JWKS_URL: 'https://issuer.example/keys' } });

  it('says where tokens come from', async () => {
    expect(gateway.instance.consoleLink()).toBe(null);
    const answer = await fetch(`${gateway.instance.url}/console/sign-in`, { method: 'POST' });
    expect(answer.status).toBe(401);
    expect(await answer.text()).toContain('JWKS_URL');
  });
});

// `l9-memory scan` against a real gateway; and how a refused save looks over the API.
import { token } from '../../../db/tests/secrets/support.ts';
import { runCommandHere } from '../support/command.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ embedder: standIn });
});
afterAll(() => gateway.close());

const scan = (...args: string[]) =>
  runCommandHere(['scan', '--url', gateway.instance.url, ...args], { home: gateway.home.home });

describe('l9-memory scan', () => {
  it('says that nothing was found, with exit code 0', async () => {
    await gateway.sql('C', "select public.save_memory('a plain note', scope => 'global')");
    const { code, out, err } = await scan();
    expect(code, err).toBe(0);
    expect(out).toMatch(/^ok: no secrets in \d+ rows\n$/);
  });

  it('prints the ids of rows and the names of patterns, never a text, with exit code 1', async () => {
    await gateway.sql('L', "select public.set_secret_settings(on_secret => 'allow')");
    const [{ id }] = await gateway.sql(
      'C',
      "select (memory).packet_id as id from public.save_memory($1, scope => 'global')",
      [`deploy with ${token}`],
    );
    await gateway.sql('L', "select public.set_secret_settings(on_secret => 'refuse')");
    const { code, out, err } = await scan();
    expect(code, err).toBe(1);
    expect(out).toContain(`packet_store ${id} content github-token\n`);
    expect(out).toMatch(/FOUND: 1 secrets in \d+ rows\n$/);
    expect(out + err).not.toContain(token.slice(4, 16));
  });

  it('is refused to an agent', async () => {
    const { code } = await scan('--caller', 'C');
    expect(code).toBe(1);
  });
});

describe('a save with a secret', () => {
  it('is refused with L9SEC, and leaves the text neither in the answer nor in the audit log', async () => {
    const answer = await gateway.tool('C', 'save_memory', { content: `refused ${token}`, scope: 'global' });
    expect(answer.isError).toBe(true);
    expect(answer.text).toContain('SECRET_FOUND (L9SEC): content: has what looks like a secret (pattern github-token');
    expect(answer.text).not.toContain(token.slice(4, 16));
    const rows = await gateway.sql('L', "select details::text from public.audit_log where sqlstate = 'L9SEC'");
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(token.slice(4, 16));
  });

  it('is redacted where the tenant has that set, and the answer says so', async () => {
    await gateway.sql('L', "select public.set_secret_settings(on_secret => 'redact')");
    const { result, text } = await gateway.tool('C', 'save_memory', { content: `redact ${token}`, scope: 'global' });
    expect(result).toMatchObject({ redacted: 1, memory: { content: 'redact [redacted: github-token]' } });
    expect(text).toContain('A secret was replaced');
    const plain = await gateway.call('C', 'save_memory', { content: 'nothing to redact', scope: 'global' });
    expect(plain.redacted).toBeNull();
  });
});

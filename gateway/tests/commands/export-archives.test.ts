// Archived sessions in `l9-memory export` and `import`, between gateways with master keys of their own.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { withSeal } from '../../../db/tests/transfer/support.ts';
import { retrieve, sessionOf, store } from '../archive/support.ts';
import { runCommand } from '../support/command.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

let folder: string;
let from: TestGateway;
let to: TestGateway;
let open: string;
let hidden: string;
const path = (name: string) => join(folder, name);
const start = (id: string, more = {}) =>
  startTestGateway({
    embedder: standIn,
    env: { ARCHIVE_KEY: `${id}:${randomBytes(32).toString('base64')}`, ...more },
  });
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'l9-archives-'));
  // The bytes lie in a folder, not in the database.
  [from, to] = [await start('k1', { ARCHIVE_STORE: `file:${path('store')}` }), await start('k2')];
  ({ pointer: open } = await store(from, 'C', sessionOf('hinge')));
  ({ pointer: hidden } = await store(from, 'L', sessionOf('vault'), { scope: 'l-private' }));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await from.close();
  await to.close();
});

const run = (gateway: TestGateway, ...args: string[]) =>
  runCommand([...args, '--url', gateway.instance.url], { home: gateway.home.home });
const linesOf = (name: string) => readFileSync(path(name), 'utf8').trimEnd().split('\n');
const bytesIn = (name: string) =>
  linesOf(name).flatMap((line) => (line.startsWith('{"archive_bytes"') ? JSON.parse(line).archive_bytes : []));
const post = async (gateway: TestGateway, caller: string, route: string, given: object) => {
  const response = await fetch(`${gateway.instance.url}/archives/${route}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${await gateway.token({ caller })}` },
    body: JSON.stringify(given),
  });
  const body = (await response.json()) as { errors: [{ message: string; extensions: { code: string } }] };
  return { status: response.status, body };
};

describeOnEmbedded('an archive in an export', () => {
  it('comes with its encrypted bytes, whatever store has them, and without its key unless it is asked for', async () => {
    const plain = await run(from, 'export', path('plain.jsonl'));
    expect([plain.code, plain.err]).toStrictEqual([0, expect.stringMatching(/^\d+ lines\n$/)]);
    expect(bytesIn('plain.jsonl').map((one) => Object.keys(one))).toStrictEqual([
      ['archive_id', 'bytes'],
      ['archive_id', 'bytes'],
    ]);
    const { counts } = JSON.parse(linesOf('plain.jsonl')[0]!);
    expect(counts.filter(({ kind }: { kind: string }) => kind.startsWith('archive'))).toStrictEqual([
      { kind: 'archive_settings', lines: 0 },
      { kind: 'archive', lines: 2 },
      { kind: 'archive_bytes', lines: 2 },
    ]);
    const keyed = await run(from, 'export', path('keyed.jsonl'), '--with-keys');
    expect(keyed.err).toContain('whoever has it can read them');
    expect(bytesIn('keyed.jsonl').map(({ key }) => Buffer.from(key, 'base64').length)).toStrictEqual([32, 32]);
    expect(statSync(path('keyed.jsonl')).mode & 0o777).toBe(0o600);
  });

  it('is exported for an agent that reads it only, with or without its key', async () => {
    await run(from, 'export', path('mine.jsonl'), '--caller', 'C', '--with-keys');
    expect(bytesIn('mine.jsonl')).toHaveLength(1);
    expect(readFileSync(path('mine.jsonl'), 'utf8')).not.toMatch(/vault|l-private/);
    const [{ archive_id }] = await from.sql('L', `select archive_id from session_archives where pointer = '${hidden}'`);
    const refused = await post(from, 'C', 'export', { archive_id, with_key: true });
    const missing = await post(from, 'C', 'export', { archive_id: '0198c1f2-0000-7000-8000-000000000000' });
    expect([refused.status, refused.body.errors[0].message]).toStrictEqual([
      missing.status,
      missing.body.errors[0].message,
    ]);
    expect(refused.body.errors[0].extensions.code).toBe('NOT_YOURS');
  });

  it('is whole without its key, but nobody can open it, and a later import with keys opens it', async () => {
    const first = await run(to, 'import', path('plain.jsonl'), '--caller', 'L');
    expect([first.code, first.err]).toStrictEqual([0, '']);
    const locked = await retrieve(to, 'C', open);
    expect(JSON.stringify(locked)).toContain('its key is missing: it was imported from an export without keys');
    expect(await to.call('L', 'verify_archives')).toMatchObject({
      verified: 0,
      problems: [
        { problem: 'key', store: null },
        { problem: 'key', store: null },
      ],
    });
    expect((await to.call('L', 'rotate_archive_keys')).keys).toStrictEqual([]);
    await run(to, 'export', path('again.jsonl'));
    expect(readFileSync(path('again.jsonl'), 'utf8')).toBe(readFileSync(path('plain.jsonl'), 'utf8'));
    const keyless = await run(to, 'export', path('keyless.jsonl'), '--with-keys');
    expect([keyless.code, keyless.err]).toStrictEqual([1, expect.stringContaining('its key is missing here')]);

    const second = await run(to, 'import', path('keyed.jsonl'), '--caller', 'L');
    expect([second.code, second.out]).toStrictEqual([0, expect.stringMatching(/^2 stored, /)]);
    expect((await retrieve(to, 'C', open)).result.session_data.session_id).toBe('session-hinge');
    expect((await retrieve(to, 'C', hidden)).isError).toBe(true);
    expect((await retrieve(to, 'L', hidden)).result.session_data.session_id).toBe('session-vault');
    expect(await to.call('L', 'verify_archives')).toMatchObject({ verified: 2, problems: [] });
    expect((await to.call('L', 'rotate_archive_keys')).keys).toStrictEqual([{ key_id: 'k2', archives: 2 }]);
    expect((await run(to, 'import', path('keyed.jsonl'), '--caller', 'L')).out).toMatch(/^0 stored, /);
    await run(to, 'export', path('again.jsonl'), '--with-keys');
    expect(readFileSync(path('again.jsonl'), 'utf8')).toBe(readFileSync(path('keyed.jsonl'), 'utf8'));
    // The master key of this place knows the session again.
    expect(await store(to, 'C', sessionOf('hinge'))).toMatchObject({ status: 'skipped_dedupe', pointer: open });
  });

  it('is refused with other bytes or another key, by the number of the line', async () => {
    const other = await start('k3');
    const importing = async (change: (one: { archive_id: string; bytes: string }) => object) => {
      const lines = linesOf('plain.jsonl').slice(0, -1);
      const changed = lines.map((line) => {
        const { archive_bytes: one } = JSON.parse(line);
        return one ? JSON.stringify({ archive_bytes: change(one) }) : line;
      });
      writeFileSync(path('changed.jsonl'), withSeal(changed));
      return run(other, 'import', path('changed.jsonl'), '--caller', 'L');
    };
    try {
      const bytes = await importing((one) => ({ ...one, bytes: one.bytes.replace(/^..../, 'AAAA') }));
      expect([bytes.code, bytes.err]).toStrictEqual([
        1,
        expect.stringMatching(/line \d+: archive_bytes.bytes: are not those that were archived/),
      ]);
      const key = await importing((one) => ({ ...one, key: randomBytes(32).toString('base64') }));
      expect([key.code, key.err]).toStrictEqual([
        1,
        expect.stringMatching(/line \d+: archive_bytes.key: does not open the bytes of this archive/),
      ]);
    } finally {
      await other.close();
    }
  });

  it('is stored by an administrator only', async () => {
    const [one] = bytesIn('keyed.jsonl');
    const { status, body } = await post(to, 'C', 'import', one);
    expect([status, body.errors[0].message]).toStrictEqual([
      403,
      expect.stringContaining('permission denied for your role'),
    ]);
    const url = `${to.instance.url}/archives/export`;
    expect((await fetch(url, { method: 'POST' })).status).toBe(401);
    const headers = { origin: 'https://elsewhere.example', authorization: `Bearer ${await to.token({ caller: 'L' })}` };
    expect((await fetch(url, { method: 'POST', headers })).status).toBe(403);
  });
});

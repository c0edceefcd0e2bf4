// `l9-memory archive …` as processes of their own, against a real gateway.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { runCommand } from '../support/command.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { claudeCodeSession, codexSession, lines } from './sessions.ts';

describe('l9-memory archive', () => {
  let gateway: TestGateway;
  let folder: string;
  beforeAll(async () => {
    gateway = await startTestGateway({ env: { ARCHIVE_KEY: `first:${Buffer.alloc(32, 7).toString('base64')}` } });
    folder = await mkdtemp(join(tmpdir(), 'l9-archive-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
    await gateway.close();
  });

  const here = () => ['--url', gateway.instance.url];
  const run = (command: string, ...args: string[]) =>
    runCommand(['archive', command, ...args, ...here()], { home: gateway.home.home });
  async function file(name: string, text: string): Promise<string> {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  }
  const pointerIn = (text: string) => /cascade:\/\/[0-9a-f]{64}/.exec(text)?.[0] ?? text;

  it('adds files, lists them and gets them back; the same session again is skipped', async () => {
    const path = await file('codex.jsonl', lines(codexSession));
    const added = await run('add', path, '--tags', 'rename,queue', '--project', 'app');
    expect([added.code, added.err]).toStrictEqual([0, '']);
    const pointer = pointerIn(added.out);
    expect(added.out).toBe(`${path}: archived: ${pointer}\n`);
    expect((await run('add', path, '--tags', 'rename,queue', '--project', 'app')).out).toBe(
      `${path}: was archived before: ${pointer}\n`,
    );
    const listed = await run('list', '--tags', 'rename');
    expect(listed.out).toContain(`  ${pointer}  Asked: Rename the module to queue.`);
    const got = await run('get', pointer);
    expect(JSON.parse(got.out)).toMatchObject({ tool_name: 'codex', tags: ['queue', 'rename'], success: true });
    expect((await run('verify', pointer)).out).toBe('1 whole, 0 not\n');
    const [row] = await gateway.sql('C', 'select verified_at from public.session_archives where pointer = $1', [
      pointer,
    ]);
    expect(row.verified_at).not.toBeNull();
    expect(await run('verify', `cascade://${'0'.repeat(64)}`)).toMatchObject({
      code: 1,
      err: 'pointer: there is no such archive, or it is not yours\n',
    });
    expect(await run('verify', '--all')).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+ whole, 0 not\n$/) });
    expect(await run('cost', pointer)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^1 × \d+ bytes with the connector postgres\nonce: {4}unknown\n/),
    });
    expect((await run('cost', '1000', '--redundancy', '2')).out).toContain(
      '2 × 1000 bytes with the connector postgres',
    );
    expect(await run('verify')).toMatchObject({ code: 1, err: expect.stringContaining('--all') });
    expect(await run('rotate')).toMatchObject({
      code: 0,
      out: '0 keys wrapped anew, 0 failed\narchives that need the key first: 1\n',
    });
  });

  it('refuses a session with a secret, says where it is and never what it is, and goes on with the next', async () => {
    const key = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
    const bad = await file('bad.jsonl', lines([{ role: 'user', content: `use ${key}` }]));
    const good = await file('good.jsonl', lines([{ role: 'user', content: 'water the plants' }]));
    const added = await run('add', bad, good, '--project', 'app');
    expect(added.code).toBe(1);
    expect(added.out).toMatch(/bad\.jsonl: refused, because it holds .* in .*summary/);
    expect(added.out).toMatch(/good\.jsonl: archived: cascade:/);
    expect(added.out + added.err).not.toContain(key);
    const redacted = await run('add', bad, '--redact', '--project', 'app');
    expect([redacted.code, redacted.out]).toStrictEqual([0, expect.stringMatching(/archived: cascade:.* replaced\)/)]);
  });

  it('says what is wrong with its arguments', async () => {
    const wrong = async (reason: string, ...args: string[]) =>
      expect(await run('add', ...args)).toMatchObject({ code: 1, err: expect.stringContaining(reason) });
    await wrong('name files, or one session with --session');
    await wrong('--from: one of claude-code, codex, gemini-cli, cm, json, jsonl', 'x', '--from', 'word');
    await wrong('session: the file cannot be read: there is no such file or folder', '/no/such/file');
    expect(await run('get', 'cascade://0')).toMatchObject({ code: 1, err: expect.stringMatching(/pointer: /) });
  });

  it('archives a session of Claude Code in the background when its hook is called, which returns at once', async () => {
    const path = await file('0b7d7c1e-1f6a-4f3c-9d59-3f1b2a7c9e01.jsonl', lines(claudeCodeSession));
    const hook = (input: object | string) =>
      runCommand(
        ['hook', 'claude-code', 'SessionEnd', '--within', '30000', '--tags', 'hooked', '--project', 'app', ...here()],
        {
          home: gateway.home.home,
          stdin: typeof input === 'string' ? input : JSON.stringify(input),
        },
      );
    const ended = {
      session_id: '0b7d7c1e-1f6a-4f3c-9d59-3f1b2a7c9e01',
      transcript_path: path,
      cwd: folder,
      hook_event_name: 'SessionEnd',
      reason: 'clear',
    };
    expect(await hook(ended)).toStrictEqual({ code: 0, out: '', err: '' });
    const log = async () =>
      (await readFile(join(gateway.home.home, 'hooks.log'), 'utf8').catch(() => ''))
        .split('\n')
        .filter((line) => line !== '' && !/ claude-code SessionEnd: handed to the archive, /.test(line));
    await eventually(async () => (await log()).some((line) => /archived: cascade:/.test(line)));
    expect((await run('list', '--tags', 'hooked')).out).toContain('Flaky test of the queue');
    // A text in the JSON is never an option, and a path is relative to the folder of the session.
    await file(
      '--help',
      lines([...claudeCodeSession, { type: 'user', sessionId: 's', message: { role: 'user', content: 'More' } }]),
    );
    await file('-v.jsonl', lines(codexSession));
    for (const [transcript_path, session_id] of [
      ['--help', '-h'],
      ['-v.jsonl', '--version'],
      ['./--redact', '-'],
    ] as const)
      expect(await hook({ ...ended, transcript_path, session_id })).toMatchObject({ code: 0, err: '' });
    await eventually(async () => (await log()).length === 4);
    const told = (await log()).slice(1).sort();
    expect(told).toStrictEqual([
      expect.stringMatching(/\/--help: archived: cascade:/),
      expect.stringMatching(/\/--redact: session: the file cannot be read: there is no such file or folder$/),
      // It is handed on as a transcript of Claude Code.
      expect.stringMatching(/\/-v\.jsonl: session: read as claude-code, it holds no message/),
    ]);
    expect(await run('list', '--tags', 'hooked', '--json')).toMatchObject({
      out: expect.stringContaining('"sessionId":"-h"'),
    });
  });
});

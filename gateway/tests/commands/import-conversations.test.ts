// How `l9-memory import` saves what somebody said: as messages of a thread, with speaker and time.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../support/command.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

let gateway: TestGateway;
let folder: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  folder = mkdtempSync(join(tmpdir(), 'l9-import-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await gateway.close();
});

function file(name: string, ...records: (object | string)[]): string {
  const path = join(folder, name);
  writeFileSync(path, records.map((it) => (typeof it === 'string' ? it : JSON.stringify(it))).join('\n'));
  return path;
}

const run = (project: string, path: string, ...args: string[]) =>
  runCommand(['import', '--url', gateway.instance.url, '--project', project, ...args, path], {
    home: gateway.home.home,
    stdin: '',
  });

const saved = (project: string) =>
  gateway.sql(
    'C',
    `select packet_type as kind, thread_id as thread, speaker, content, to_char("timestamp" at time zone 'UTC', 'HH24:MI:SS') as time
     from public.packet_store where project_id = $1 order by thread_id, "timestamp", packet_id`,
    [project],
  );
const asLine = ({ kind, thread, speaker, time, content }: Record<string, string>) =>
  [kind, thread, speaker, time, content].join(' | ');

describe('l9-memory import of conversations', () => {
  it('saves what a session of Claude Code says, message by message, and skips it the next time', async () => {
    const about = (uuid: string, second: number, type: string, content: unknown, more: object = {}) => ({
      ...{ type, uuid, sessionId: 's-1', timestamp: `2026-03-02T09:00:0${second}.000Z` },
      ...{ message: { role: type, id: `m-${uuid}`, content }, ...more },
    });
    const path = file(
      'claude.jsonl',
      { type: 'summary', summary: 'Queues', leafUuid: 'c' },
      about('a', 1, 'user', 'Which queue is slow?'),
      about('b', 2, 'assistant', [{ type: 'tool_use', id: 't', name: 'Bash', input: { command: 'top' } }]),
      about('c', 3, 'user', [{ type: 'tool_result', tool_use_id: 't', content: 'load 45' }]),
      about('d', 4, 'assistant', [{ type: 'text', text: 'The import queue.' }]),
      about('e', 5, 'user', '<command-name>/clear</command-name>'),
      about('f', 6, 'user', 'A side question', { isSidechain: true }),
    );
    const first = await run('claude', path);
    expect([first.code, first.out], first.err).toStrictEqual([0, '2 inserted, 0 skipped as duplicates, 0 failed\n']);
    expect((await saved('claude')).map(asLine)).toStrictEqual([
      'message | s-1 | user | 09:00:01 | Which queue is slow?',
      'message | s-1 | assistant | 09:00:04 | The import queue.',
    ]);
    expect((await run('claude', path)).out).toBe('0 inserted, 2 skipped as duplicates, 0 failed\n');
  });

  it('saves lines of role and content as one thread named like the file, and documents of messages as one each', async () => {
    const chat = [
      { role: 'system', content: 'You are a help.' },
      { role: 'user', content: 'Where do the logs go?', timestamp: '2026-03-02T10:00:00Z' },
      { role: 'assistant', content: [{ type: 'text', text: 'To the disk.' }], timestamp: '2026-03-02T10:00:01Z' },
    ];
    const flat = await run('chat', file('chat.jsonl', ...chat));
    expect([flat.code, flat.out], flat.err).toStrictEqual([0, '2 inserted, 0 skipped as duplicates, 0 failed\n']);
    const documents = file(
      'many.jsonl',
      { session_id: 'd-1', messages: chat },
      { id: 'd-2', messages: chat.slice(0, 2) },
    );
    expect((await run('chat', documents)).out).toBe('3 inserted, 0 skipped as duplicates, 0 failed\n');
    expect((await saved('chat')).map(asLine)).toStrictEqual([
      'message | chat.jsonl | user | 10:00:00 | Where do the logs go?',
      'message | chat.jsonl | assistant | 10:00:01 | To the disk.',
      'message | d-1 | user | 10:00:00 | Where do the logs go?',
      'message | d-1 | assistant | 10:00:01 | To the disk.',
      'message | d-2 | user | 10:00:00 | Where do the logs go?',
    ]);
  });

  it('takes a line of a thread that names its speaker for a message, unless a kind is given', async () => {
    const timestamp = '2026-03-02T11:00:00Z';
    const path = file(
      'lines.jsonl',
      { content: 'The mill is closed.', thread_id: 't', speaker: 'Ann', timestamp },
      { content: 'The mill opens.', thread_id: 't', speaker: 'Ann', kind: 'fact', timestamp },
      { content: 'The mill turns.', speaker: 'Ann', timestamp },
      { content: 'Ben: Thanks!', thread_id: 't', timestamp },
      { content: 'Ben: Bye!', thread_id: 't', timestamp },
    );
    const ended = await run('lines', path);
    expect(ended.code, ended.err).toBe(0);
    const kinds = Object.fromEntries((await saved('lines')).map(({ content, kind }) => [content, kind]));
    expect(kinds).toStrictEqual({
      'The mill is closed.': 'message',
      'The mill opens.': 'fact',
      'The mill turns.': 'note',
      'Ben: Thanks!': 'note',
      'Ben: Bye!': 'note',
    });
    expect(ended.err).toMatch(/lines\.jsonl: 2 lines, the first of them 4: This note of a thread .*--kind message/);

    const table = join(folder, 'table.csv');
    writeFileSync(table, 'text,speaker,thread_id,timestamp\nThe wheel is oiled.,Ann,t2,2026-03-02T12:00:00Z\n');
    expect((await run('table', table)).code).toBe(0);
    expect((await saved('table')).map(asLine)).toStrictEqual(['message | t2 | Ann | 12:00:00 | The wheel is oiled.']);
  });

  it('is what the archive of a session does with --messages, and only then', async () => {
    const say = (uuid: string, type: string, content: string) => ({
      ...{ type, uuid, sessionId: 's-9', timestamp: `2026-03-02T13:00:0${uuid}.000Z` },
      message: { role: type, id: `m-${uuid}`, content },
    });
    const path = file(
      'archived.jsonl',
      say('1', 'user', 'Which mill is open?'),
      say('2', 'assistant', 'The upper one.'),
    );
    const archive = (...args: string[]) =>
      runCommand(['archive', 'add', '--url', gateway.instance.url, '--project', 'archived', ...args, path], {
        home: gateway.home.home,
        stdin: '',
      });
    const messages = async () => (await saved('archived')).filter(({ kind }) => kind === 'message').map(asLine);
    expect((await archive()).code).toBe(0);
    expect(await messages()).toStrictEqual([]);
    const ended = await archive('--messages');
    expect([ended.code, ended.out], ended.err).toStrictEqual([
      0,
      expect.stringMatching(/archived before[\s\S]*2 inserted/),
    ]);
    expect(await messages()).toStrictEqual([
      'message | s-9 | user | 13:00:01 | Which mill is open?',
      'message | s-9 | assistant | 13:00:02 | The upper one.',
    ]);
  });
});

// How `l9-memory import` saves what somebody said: as messages of a thread, with speaker and time.
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { runCommand } from '../support/command.ts';
import { lines, useImports } from './support/imports.ts';

const { gateway, file, into, said, stored } = useImports();
const recorded = (name: string, ...records: object[]) => file(name, lines(...records));

describeOnEmbedded('l9-memory import of conversations', () => {
  it('saves what a session of Claude Code says, message by message, and skips it the next time', async () => {
    const about = (uuid: string, second: number, type: string, content: unknown, more: object = {}) => ({
      ...{ type, uuid, sessionId: 's-1', timestamp: `2026-03-02T09:00:0${second}.000Z` },
      ...{ message: { role: type, id: `m-${uuid}`, content }, ...more },
    });
    const path = recorded(
      'claude.jsonl',
      { type: 'summary', summary: 'Queues', leafUuid: 'c' },
      about('a', 1, 'user', 'Which queue is slow?'),
      about('b', 2, 'assistant', [{ type: 'tool_use', id: 't', name: 'Bash', input: { command: 'top' } }]),
      about('c', 3, 'user', [{ type: 'tool_result', tool_use_id: 't', content: 'load 45' }]),
      about('d', 4, 'assistant', [{ type: 'text', text: 'The import queue.' }]),
      about('e', 5, 'user', '<command-name>/clear</command-name>'),
      about('f', 6, 'user', 'A side question', { isSidechain: true }),
    );
    const first = await into('claude', path);
    expect([first.code, first.out], first.err).toStrictEqual([0, '2 inserted, 0 skipped as duplicates, 0 failed\n']);
    expect(await said('claude')).toStrictEqual([
      'message | s-1 | user | 09:00:01 | Which queue is slow?',
      'message | s-1 | assistant | 09:00:04 | The import queue.',
    ]);
    expect((await into('claude', path)).out).toBe('0 inserted, 2 skipped as duplicates, 0 failed\n');
  });

  it('saves lines of role and content as one thread named like the file, and documents of messages as one each', async () => {
    const chat = [
      { role: 'system', content: 'You are a help.' },
      { role: 'user', content: 'Where do the logs go?', timestamp: '2026-03-02T10:00:00Z' },
      { role: 'assistant', content: [{ type: 'text', text: 'To the disk.' }], timestamp: '2026-03-02T10:00:01Z' },
    ];
    const flat = await into('chat', recorded('chat.jsonl', ...chat));
    expect([flat.code, flat.out], flat.err).toStrictEqual([0, '2 inserted, 0 skipped as duplicates, 0 failed\n']);
    const documents = recorded(
      'many.jsonl',
      { session_id: 'd-1', messages: chat },
      { id: 'd-2', messages: chat.slice(0, 2) },
    );
    expect((await into('chat', documents)).out).toBe('3 inserted, 0 skipped as duplicates, 0 failed\n');
    expect(await said('chat')).toStrictEqual([
      'message | chat.jsonl | user | 10:00:00 | Where do the logs go?',
      'message | chat.jsonl | assistant | 10:00:01 | To the disk.',
      'message | d-1 | user | 10:00:00 | Where do the logs go?',
      'message | d-1 | assistant | 10:00:01 | To the disk.',
      'message | d-2 | user | 10:00:00 | Where do the logs go?',
    ]);
  });

  it('takes a line of a thread that names its speaker for a message, unless a kind is given', async () => {
    const timestamp = '2026-03-02T11:00:00Z';
    const path = recorded(
      'lines.jsonl',
      { content: 'The mill is closed.', thread_id: 't', speaker: 'Ann', timestamp },
      { content: 'The mill opens.', thread_id: 't', speaker: 'Ann', kind: 'fact', timestamp },
      { content: 'The mill turns.', speaker: 'Ann', timestamp },
      { content: 'Ben: Thanks!', thread_id: 't', timestamp },
      { content: 'Ben: Bye!', thread_id: 't', timestamp },
    );
    const ended = await into('lines', path);
    expect(ended.code, ended.err).toBe(0);
    const kinds = Object.fromEntries(
      (await stored('C', "project_id = 'lines'")).map(({ content, packet_type }) => [content, packet_type]),
    );
    expect(kinds).toStrictEqual({
      'The mill is closed.': 'message',
      'The mill opens.': 'fact',
      'The mill turns.': 'note',
      'Ben: Thanks!': 'note',
      'Ben: Bye!': 'note',
    });
    expect(ended.err).toMatch(/lines\.jsonl: 2 lines, the first of them 4: This note of a thread .*--kind message/);

    const table = file(
      'table.csv',
      'text,speaker,thread_id,timestamp\nThe wheel is oiled.,Ann,t2,2026-03-02T12:00:00Z\n',
    );
    expect((await into('table', table)).code).toBe(0);
    expect(await said('table')).toStrictEqual(['message | t2 | Ann | 12:00:00 | The wheel is oiled.']);
  });

  it('saves the branch of each conversation of Claude that was shown last, whole or in many lines', async () => {
    const message = (uuid: string, sender: string, second: number, more: object) => ({
      ...{
        uuid,
        sender,
        created_at: `2026-03-02T14:00:0${second}.5Z`,
        text: `raw ${uuid}`,
        attachments: [],
        files: [],
      },
      ...more,
    });
    const texts = (...all: string[]) => ({ content: all.map((text) => ({ type: 'text', text })) });
    const conversations = [
      {
        ...{ uuid: 'c-1', name: 'Mills', summary: '', created_at: '2026-03-02T14:00:00Z', account: { uuid: 'a' } },
        current_leaf_message_uuid: 'd',
        chat_messages: [
          message('a', 'human', 1, { ...texts('Which mill is old?'), parent_message_uuid: 'root' }),
          message('b', 'assistant', 2, { ...texts('The new one.'), parent_message_uuid: 'a' }),
          message('c', 'assistant', 3, { content: [{ type: 'tool_use', name: 'search' }], parent_message_uuid: 'a' }),
          message('d', 'assistant', 4, { ...texts('The upper one.', 'It is of 1701.'), parent_message_uuid: 'c' }),
        ],
      },
      // As exports were before they had blocks and branches.
      {
        ...{ uuid: 'c-2', name: '', created_at: '2026-03-02T14:00:00Z' },
        chat_messages: [message('e', 'human', 5, { text: 'Is it open?' }), message('f', 'assistant', 6, { text: '' })],
      },
      { uuid: 'c-3', name: 'Empty', chat_messages: [] },
      { name: 'No id', chat_messages: [] },
    ];
    const whole = await into('claude-ai', file('conversations.json', JSON.stringify(conversations)));
    expect([whole.code, whole.out]).toStrictEqual([1, '3 inserted, 0 skipped as duplicates, 1 failed\n']);
    expect(whole.err).toMatch(/:1: not a conversation: it has no chat_messages or no uuid/);
    expect(await said('claude-ai')).toStrictEqual([
      'message | c-1 | user | 14:00:01 | Which mill is old?',
      'message | c-1 | assistant | 14:00:04 | The upper one.\nIt is of 1701.',
      'message | c-2 | user | 14:00:05 | Is it open?',
    ]);
    const [{ envelope }] = await stored('C', "project_id = 'claude-ai' and thread_id = 'c-1'");
    expect(envelope.conversation).toBe('Mills');
    const again = await into('claude-ai', file('indented.json', JSON.stringify(conversations, null, 2)));
    expect(again.out).toBe('0 inserted, 3 skipped as duplicates, 1 failed\n');
  });

  it('is what the archive of a session does with --messages, and only then', async () => {
    const say = (uuid: string, type: string, content: string) => ({
      ...{ type, uuid, sessionId: 's-9', timestamp: `2026-03-02T13:00:0${uuid}.000Z` },
      message: { role: type, id: `m-${uuid}`, content },
    });
    const path = recorded(
      'archived.jsonl',
      say('1', 'user', 'Which mill is open?'),
      say('2', 'assistant', 'The upper one.'),
    );
    const archive = (...args: string[]) =>
      runCommand(['archive', 'add', '--url', gateway.instance.url, '--project', 'archived', ...args, path], {
        home: gateway.home.home,
        stdin: '',
      });
    const messages = async () => (await said('archived')).filter((line) => line.startsWith('message | '));
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

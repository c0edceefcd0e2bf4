import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { findSession } from '../../src/archive/find-session.ts';
import { readSessionFile, readSessionText } from '../../src/archive/read-session.ts';
import { checkStorable } from '../../src/operations/storable.ts';
import { claudeCodeSession, cmContext, codexSession, lines, oldCodexSession } from './sessions.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'l9-sessions-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, text);
  return path;
}

describeOnEmbedded('a transcript of Claude Code', () => {
  it('becomes a session of messages with their tool calls, without notes and subagents', async () => {
    const session = await readSessionFile(
      await file('0b7d7c1e-1f6a-4f3c-9d59-3f1b2a7c9e01.jsonl', lines(claudeCodeSession)),
    );
    expect(session).toEqual({
      session_id: '0b7d7c1e-1f6a-4f3c-9d59-3f1b2a7c9e01',
      timestamp: '2026-05-12T09:30:00.000Z',
      ended_at: '2026-05-12T09:31:10.000Z',
      tool_name: 'claude-code',
      success: true,
      summary:
        'Flaky test of the queue.\nAsked: Why does the test of the queue fail now and then?\nTools: Bash 1, Read 1.\n' +
        'Answered: The test did not wait for the worker. It waits now.',
      summary_is_derived: true,
      tags: [],
      messages: [
        { role: 'user', text: 'Why does the test of the queue fail now and then?' },
        {
          role: 'assistant',
          text: 'I will run it.',
          tool_calls: [
            { name: 'Bash', input: { command: 'npm test -- queue' }, output: '1 failed', success: false },
            {
              name: 'Read',
              input: { file_path: '/app/queue.ts' },
              output: 'export const queue = []\n[image]',
              success: true,
            },
          ],
        },
        { role: 'assistant', text: 'The test did not wait for the worker. It waits now.' },
      ],
    });
  });

  it('counts as failed if it was interrupted, or ended with an error of the API', async () => {
    const interrupted = [...claudeCodeSession];
    interrupted.push({
      type: 'user',
      uuid: 'i1',
      sessionId: 's',
      message: { role: 'user', content: [{ type: 'text', text: '[Request interrupted by user]' }] },
    });
    expect(await readSessionText(lines(interrupted))).toMatchObject({ success: false });
    const failed = [...claudeCodeSession];
    failed.push({
      type: 'assistant',
      uuid: 'e1',
      sessionId: 's',
      isApiErrorMessage: true,
      message: { id: 'm9', role: 'assistant', content: [{ type: 'text', text: 'API Error: 529' }] },
    });
    expect(await readSessionText(lines(failed))).toMatchObject({ success: false });
  });

  it('is recognised behind any number of notes, of types that no version had yet', async () => {
    const note = { type: 'mood-ring', sessionId: 's-1', uuid: 'n', colour: 'teal' };
    const bare = { type: 'mood-ring', colour: 'teal' };
    for (const notes of [Array(25).fill(note), Array(300).fill(bare), [...Array(40).fill(bare), note]])
      expect(await readSessionText(lines([...notes, ...claudeCodeSession]))).toMatchObject({
        tool_name: 'claude-code',
        messages: { length: 3 },
      });
  });

  it('has the last title that a person gave, or else a model, or else the last summary of a message in it', async () => {
    const named = async (...records: Record<string, unknown>[]) => {
      const session = claudeCodeSession.filter(({ type }) => type !== 'summary');
      return (await readSessionText(lines([...records, ...session]))).summary.split('\n')[0];
    };
    const leaf = claudeCodeSession.at(-1)!.uuid;
    const summary = (text: string, leafUuid: unknown) => ({ type: 'summary', summary: text, leafUuid });
    expect(await named()).toMatch(/^Asked: /);
    expect(await named(summary('Holidays of the dentist', 'f0'))).toMatch(/^Asked: /);
    expect(await named({ type: 'summary', summary: 'Nobody says of what' })).toMatch(/^Asked: /);
    expect(await named(summary('Queue', leaf), summary('Holidays of the dentist', 'f0'))).toBe('Queue.');
    const generated = { type: 'ai-title', aiTitle: 'Mending the queue', sessionId: 's' };
    expect(await named(generated, summary('Queue', leaf))).toBe('Mending the queue.');
    const given = { type: 'custom-title', customTitle: 'My queue', sessionId: 's' };
    expect(await named(given, generated, summary('Queue', leaf))).toBe('My queue.');
  });
});

describeOnEmbedded('a session of Codex', () => {
  it('is read from what the model was sent, once, without what Codex says in the name of the user', async () => {
    const path = await file(
      'rollout-2026-05-12T09-30-00-019a2d7a-41c4-78b1-b7cc-a45d62a89cd5.jsonl',
      lines(codexSession),
    );
    const session = await readSessionFile(path);
    expect(session).toMatchObject({
      session_id: '019a2d7a-41c4-78b1-b7cc-a45d62a89cd5',
      timestamp: '2026-05-12T09:30:00.000Z',
      tool_name: 'codex',
      success: true,
      messages: [
        { role: 'user', text: 'Rename the module to queue.' },
        {
          role: 'assistant',
          text: '',
          tool_calls: [
            { name: 'shell', input: { command: ['git', 'mv', 'q.ts', 'queue.ts'] }, output: '', success: true },
            { name: 'apply_patch', input: '*** Begin Patch', output: 'Done!', success: null },
          ],
        },
        { role: 'assistant', text: 'The module is called queue now.' },
      ],
    });
    expect(session.summary).toBe(
      'Asked: Rename the module to queue.\nTools: apply_patch 1, shell 1.\nAnswered: The module is called queue now.',
    );
  });

  it('is read the same way in the older form, with bare items', async () => {
    expect(await readSessionText(lines(oldCodexSession))).toMatchObject({
      session_id: '5973b6c0-94b8-487b-a530-2aeb6098ae0e',
      tool_name: 'codex',
      messages: [
        { role: 'user', text: 'What is 2 + 2?' },
        { role: 'assistant', text: '4', tool_calls: [{ name: 'shell', success: false }] },
      ],
    });
  });

  it('counts as failed if its last turn was aborted', async () => {
    const aborted = [...codexSession, { type: 'event_msg', payload: { type: 'turn_aborted', reason: 'interrupted' } }];
    expect(await readSessionText(lines(aborted))).toMatchObject({ success: false });
  });
});

describeOnEmbedded('a plain file', () => {
  it('is read as JSON lines with roles, with the calls of both big APIs', async () => {
    const session = await readSessionFile(
      await file(
        'talk.jsonl',
        lines([
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: [{ type: 'text', text: 'Is it up?' }, { type: 'image_url' }] },
          { role: 'assistant', content: null, tool_calls: [{ id: 'c1', function: { name: 'ping', arguments: '{}' } }] },
          { role: 'tool', tool_call_id: 'c1', content: 'pong' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'c2', name: 'note', input: { a: 1 } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c2', content: 'no', is_error: true }] },
        ]),
      ),
      { tags: ['ops', 'ops'] },
    );
    expect(session).toMatchObject({
      session_id: 'talk',
      tool_name: 'jsonl',
      success: false,
      tags: ['ops'],
      timestamp: null,
    });
    expect(session.messages).toEqual([
      { role: 'system', text: 'Be brief.' },
      { role: 'user', text: 'Is it up?\n[image]' },
      { role: 'assistant', text: '', tool_calls: [{ name: 'ping', input: '{}', output: 'pong', success: null }] },
      { role: 'assistant', text: '', tool_calls: [{ name: 'note', input: { a: 1 }, output: 'no', success: false }] },
    ]);
  });

  it('is read as one JSON document, on one line or on many, and a session read from a session is the same', async () => {
    const session = await readSessionText(lines(codexSession));
    for (const text of [JSON.stringify(session), JSON.stringify(session, null, 2), `\uFEFF${JSON.stringify(session)}`])
      expect(await readSessionText(text)).toEqual(session);
    expect(await readSessionText(JSON.stringify(session))).toEqual(session);
    expect(
      await readSessionText(JSON.stringify([{ role: 'user', content: 'hello' }], null, 1), { sessionId: 's' }),
    ).toMatchObject({
      session_id: 's',
      messages: [{ text: 'hello' }],
    });
  });

  it('tells the time in any of the fields and forms that tools write', async () => {
    const dated = async (first: object, last: object, more = {}) => {
      const { timestamp, ended_at, notices } = await readSessionText(
        lines([
          { role: 'user', content: 'When?', ...first },
          { role: 'assistant', content: 'Now.', ...last },
        ]),
        { sessionId: 's', ...more },
      );
      return [timestamp, ended_at, ...(notices ?? [])];
    };
    const [nine, ten] = ['2026-03-02T09:00:00.000Z', '2026-03-02T09:00:10.000Z'];
    for (const [first, last] of [
      [{ timestamp: 1772442000 }, { timestamp: 1772442010 }],
      [{ create_time: 1772442000 }, { createTime: 1772442010.0 }],
      [{ ts: '1772442000' }, { ts: '1772442010.000' }],
      [{ createdAt: 1772442000000 }, { created_at: '1772442010000' }],
      [{ created_at: '2026-03-02T10:00:00+01:00' }, { sent_at: '2026-03-02 04:00:10-0500' }],
      [
        { timestamp: null, ts: 1772442000000000 },
        { timestamp: '', datetime: '2026-03-02T09:00:10Z' },
      ],
    ])
      expect(await dated(first!, last!)).toEqual([nine, ten]);
    expect(await dated({ ts: '2026-03-02T09:00:00.123456Z' }, { date: '2026-03-03' })).toEqual([
      '2026-03-02T09:00:00.123456Z',
      '2026-03-03T00:00:00.000Z',
    ]);
    expect(await dated({ ts: '2026-03-02T09:00' }, { ts: '2026-03-02 09:00:10' })).toEqual([
      nine,
      ten,
      '2 times without a zone were read as UTC',
    ]);
    expect(await dated({ ts: 'yesterday' }, { ts: '2026-02-30T10:00:00Z' })).toEqual([
      null,
      null,
      '2 times could not be read',
    ]);
  });

  it('holds the texts that a tool printed, with what no text can hold replaced', async () => {
    const session = await readSessionText(
      lines([
        { role: 'user', content: 'Run \uD83D it' },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'c', name: 'Bash', input: { 'a\0': ['\uDE00', { b: '\0' }], ok: '😀' } }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'ELF\0\0bin' }] },
      ]),
      { sessionId: 's', tags: ['x\0'] },
    );
    expect(session).toMatchObject({
      tags: ['x\uFFFD'],
      messages: [
        { text: 'Run \uFFFD it' },
        { tool_calls: [{ input: { 'a\uFFFD': ['\uFFFD', { b: '\uFFFD' }], ok: '😀' }, output: 'ELF\uFFFD\uFFFDbin' }] },
      ],
    });
    expect(() => checkStorable(session)).not.toThrow();
    const path = await file('printed.jsonl', '');
    await writeFile(path, Buffer.from('{"role":"user","content":"caf\xe9"}\n', 'latin1'));
    expect(await readSessionFile(path)).toMatchObject({ messages: [{ text: 'caf\uFFFD' }] });
  });

  it('is read whatever ends its lines, in UTF-8 or marked as UTF-16, and from an array that was cut short', async () => {
    const said = [
      { role: 'user', content: 'Where does the émeu run?' },
      { role: 'assistant', content: 'Through the bush 🪶.' },
    ].map((message) => JSON.stringify(message));
    const wide = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le');
    for (const [name, bytes, skipped] of [
      ['mac', `${said.join('\r')}\r`, 0],
      ['windows', `\uFEFF${said.join('\r\n\r\n')}\r\n`, 0],
      ['little', wide(`${said.join('\r\n')}\r\n`), 0],
      ['big', wide(said.join('\n')).swap16(), 0],
      ['sequence', said.map((line) => `\x1e${line}\n`).join(''), 0],
      ['commas', said.map((line) => `${line},\n`).join(''), 0],
      ['cut', `[\n${said.join(',\n')},\n{"role":"us`, 1],
      ['cut-after', `[${said.join(',\n')}`, 0],
    ] as const) {
      const path = await file(`${name}.jsonl`, '');
      await writeFile(path, bytes);
      const { messages, notices = [] } = await readSessionFile(path);
      expect(
        messages.map(({ text }) => text),
        name,
      ).toEqual(['Where does the émeu run?', 'Through the bush 🪶.']);
      expect(notices, name).toEqual(skipped ? ['1 line was skipped: no JSON object'] : []);
    }
  });

  it('keeps what a tool was given up to a depth, however deep it nests', async () => {
    const deep = `${'{"a":'.repeat(20_000)}"z"${'}'.repeat(20_000)}`;
    const session = await readSessionText(
      `{"role":"user","content":"Dig"}\n{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"Dig","input":${deep}}]}\n`,
      { sessionId: 's' },
    );
    expect(() => checkStorable(session)).not.toThrow();
    expect(JSON.stringify(session)).toMatch(/"a":\{"a":"\[nested too deep\]"/);
  });

  it('is refused, without a word of what it holds, in an unknown format or in another than the named one', async () => {
    const secret = await file('passwd', 'root:x:0:0:secret\nmore\n');
    const refused = async (reading: Promise<unknown>, reason: string) => {
      const error = await reading.then(
        () => new Error('read'),
        (thrown: Error) => thrown,
      );
      expect(error).toMatchObject({ sqlstate: expect.stringMatching(/^L9/), field: 'session' });
      expect(error.message).toBe(`session: ${reason}`);
    };
    await refused(readSessionFile(secret), 'it holds no JSON object');
    await refused(
      readSessionText('{"colour":"red"}'),
      'in no known format: claude-code, codex, gemini-cli, cm, json or jsonl',
    );
    await refused(
      readSessionText(lines(codexSession), { from: 'claude-code' }),
      'read as claude-code, it holds no message and no summary',
    );
    await refused(readSessionText('\n'), 'the file is empty');
    await refused(readSessionText('{"session_id":"s"}'), 'it holds no message and no summary');
    await refused(readSessionText('{"role":"user","content":"hello"}'), 'session_id is missing');
    await refused(readSessionText('[1, 2]'), 'it holds no JSON object');
    await refused(readSessionText('null\n"text"\n7\n'), 'it holds no JSON object');
  });

  it('is refused where there is no file, or something that need not end', async () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await symlink('circle', join(folder, 'circle'));
    await symlink(pipe, join(folder, 'to-pipe'));
    for (const [path, reason] of [
      [folder, 'it is a folder, not a file'],
      [pipe, 'it is a named pipe, not a file'],
      [join(folder, 'to-pipe'), 'it is a named pipe, not a file'],
      ['/dev/zero', 'it is a device, not a file'],
      [join(folder, 'circle'), 'its links lead in a circle'],
      [join(folder, 'none'), 'there is no such file or folder'],
      [join(folder, 'passwd', 'x'), 'there is no such file or folder'],
      [join(folder, 'x'.repeat(300)), 'its name is too long'],
    ] as const)
      await expect(readSessionFile(path)).rejects.toThrow(`session: the file cannot be read: ${reason}`);
  });

  it('is read in seconds if it has 20 MB on one line or on many', async () => {
    const long = { role: 'user', content: 'x'.repeat(1_000) };
    const many = await readSessionFile(await file('many.jsonl', lines(Array(20_000).fill(long))));
    expect(many.messages).toHaveLength(20_000);
    expect(many.summary.length).toBeLessThan(1_000);
    const one = await readSessionFile(
      await file('one.json', JSON.stringify({ session_id: 's', messages: many.messages })),
    );
    expect(one.messages).toHaveLength(20_000);
  });
});

describeOnEmbedded('a line that holds no object', () => {
  const formats = {
    'claude-code': claudeCodeSession,
    codex: codexSession,
    jsonl: [
      { role: 'user', content: 'Is it up?' },
      { role: 'assistant', content: 'Yes.' },
      { role: 'user', content: 'Thanks' },
    ],
  };
  const broken = [
    'null',
    '\0'.repeat(400),
    '{"type":"user","mess',
    '17',
    '"text"',
    '[1,2]',
    '{"a":1}{"b":2}',
    '{"a": "\n',
    ']',
  ];

  it.each(Object.entries(formats))('is skipped and counted in %s, wherever it stands', async (from, records) => {
    const whole = await readSessionText(lines(records), { sessionId: 's' });
    const given = lines(records).split('\n').slice(0, -1);
    for (const line of broken) {
      for (const at of [0, 2, given.length]) {
        const text = [...given.slice(0, at), line, ...given.slice(at)].join('\n');
        const skipped = line.split('\n').filter(Boolean).length;
        const notice = `${skipped === 1 ? '1 line was' : `${skipped} lines were`} skipped: no JSON object`;
        for (const options of [{}, { from: from as 'jsonl' }])
          expect(await readSessionText(text, { sessionId: 's', ...options }), `${JSON.stringify(line)} ${at}`).toEqual({
            ...whole,
            notices: [notice],
          });
      }
    }
    const all = await readSessionText([...broken, ...given.flatMap((line) => [line, ...broken])].join('\n'), {
      sessionId: 's',
    });
    expect(all.messages).toEqual(whole.messages);
  });

  it('takes away the message whose own line is cut, and nothing else', async () => {
    const [first, second, third] = formats.jsonl.map((record) => JSON.stringify(record));
    expect(await readSessionText(`${first}\n${second!.slice(0, 20)}\n${third}\n`, { sessionId: 's' })).toMatchObject({
      messages: [{ text: 'Is it up?' }, { text: 'Thanks' }],
      notices: ['1 line was skipped: no JSON object'],
    });
    expect(await readSessionText(`[${first}, null, 7, ${third}]`, { sessionId: 's' })).toMatchObject({
      messages: { length: 2 },
      notices: ['2 lines were skipped: no JSON object'],
    });
  });
});

describeOnEmbedded('a session that is given by its id', () => {
  const env = () => ({ HOME: folder, PATH: join(folder, 'bin') });

  it('is found where Claude Code and Codex keep theirs', async () => {
    await file('.claude/projects/-app/aaaa-1.jsonl', lines(claudeCodeSession));
    await file('.codex/sessions/2026/05/12/rollout-2026-05-12T09-30-00-bbbb-2.jsonl', lines(codexSession));
    expect(await findSession('aaaa-1', env())).toMatchObject({ session_id: 'aaaa-1', tool_name: 'claude-code' });
    expect(await findSession('bbbb-2', env())).toMatchObject({ session_id: 'bbbb-2', tool_name: 'codex' });
    await expect(findSession('bbbb-2', env(), { from: 'claude-code' })).rejects.toThrow('there is no such session');
  });

  it('cannot be a path or an option', async () => {
    for (const id of ['../x', 'a/b', '-rf', '', 'a*', 'a\nb', 'x'.repeat(201)])
      await expect(findSession(id, env())).rejects.toThrow('session: must be an id');
  });

  it('is asked of cm where that is installed, and otherwise refused with a word that it is not', async () => {
    await expect(findSession('s-9', env())).rejects.toThrow('the command cm is not installed');
    await expect(findSession('s-9', env(), { from: 'cm' })).rejects.toThrow('session: the command cm is not installed');
    const command = async (script: string) => {
      await chmod(await file('bin/cm', `#!/bin/sh\n${script}\n`), 0o755);
    };
    await command(`[ "$*" = "context s-9 --json" ] && echo '${JSON.stringify(cmContext)}'`);
    expect(await findSession('s-9', env())).toMatchObject({
      session_id: 's-9',
      tool_name: 'cm',
      success: null,
      messages: [
        { role: 'user', text: 'fix the flaky test' },
        { role: 'assistant', text: 'claude, /s/1.jsonl: it waits for the worker' },
        { role: 'assistant', text: 'Rule b-1: Wait for events.' },
        { role: 'assistant', text: 'Pitfall b-2: Do not sleep.' },
        { role: 'assistant', text: 'Deprecated: jest 29' },
      ],
    });
    await command(`echo '${JSON.stringify({ success: true, data: cmContext })}'`);
    expect((await findSession('s-9', env(), { from: 'cm' })).messages).toHaveLength(5);
    await command(`echo '{"task": "t", "relevantBullets": "none"}'`);
    await expect(findSession('s-9', env())).rejects.toThrow('session: cm did not print a context as documented');
    await command('echo no; exit 3');
    await expect(findSession('s-9', env())).rejects.toThrow('session: cm failed (exit code 3)');
  });

  it('is not waited for longer than the time limit, even if what cm started goes on', async () => {
    const { contextOfSession } = await import('../../src/archive/cm-command.ts');
    await chmod(await file('bin/cm', '#!/bin/sh\n/bin/sleep 600 & wait\n'), 0o755);
    const path = [join(folder, 'bin'), process.env.PATH].join(delimiter);
    await expect(contextOfSession('s-9', { ...env(), PATH: path }, 200)).rejects.toThrow(
      'session: cm did not answer within 0.2 s',
    );
  });
});

import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { readSessionText } from '../../src/archive/read-session.ts';
import { geminiSession, lines } from './sessions.ts';

describeOnEmbedded('a session of Gemini CLI', () => {
  const expected = {
    session_id: '6c1f7a34-90d2-4b7e-a7f0-2f5f0a3b1c11',
    timestamp: '2026-05-12T09:30:00.000Z',
    ended_at: '2026-05-12T09:31:10.000Z',
    tool_name: 'gemini-cli',
    success: true,
    summary:
      'The slow queue.\nAsked: Why is the queue slow?\nTools: read_file 1, run_shell_command 1.\n' +
      'Answered: It polls. It waits now.',
    summary_is_derived: true,
    tags: [],
    messages: [
      { role: 'user', text: 'Why is the queue slow?' },
      {
        role: 'assistant',
        text: 'I will look.',
        tool_calls: [
          { name: 'read_file', input: { path: 'queue.ts' }, output: 'export const queue = []', success: true },
          { name: 'run_shell_command', input: { command: 'npm test' }, output: '1 failed', success: false },
        ],
      },
      { role: 'assistant', text: 'It polls. It waits now.' },
    ],
  };

  it('becomes a session as it was at its end, without what was taken back and what hooks added', async () => {
    expect(await readSessionText(lines(geminiSession))).toEqual(expected);
    expect(await readSessionText(lines(geminiSession), { from: 'gemini-cli' })).toEqual(expected);
  });

  it('is read as one document, as earlier versions wrote it, and after the whole of it was written again', async () => {
    const [head, , request, , , answer, , , last] = geminiSession;
    const messages = [request, answer, last];
    const whole = { ...head, messages, summary: 'The slow queue', lastUpdated: '2026-05-12T09:31:10.000Z' };
    expect(await readSessionText(JSON.stringify(whole, null, 2))).toEqual(expected);
    const { messages: _, ...others } = whole;
    const again = lines([others, { id: 'u0', type: 'user', content: 'Before' }, { $set: { messages } }]);
    expect(await readSessionText(again)).toEqual(expected);
  });

  it('keeps nothing from before, where a message that it does not know is taken back, and none without a text', async () => {
    const [head, ...rest] = geminiSession;
    const start = lines([
      head!,
      rest[1]!,
      { $rewindTo: 'nothing' },
      { id: 'u9', type: 'user', content: [{ inlineData: {} }] },
    ]);
    const text = `${start}\n${lines([{ id: 'u3', type: 'user', content: 'And now?' }])}`;
    expect((await readSessionText(text)).messages).toEqual([{ role: 'user', text: 'And now?' }]);
  });
});

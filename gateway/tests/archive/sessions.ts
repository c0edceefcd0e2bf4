// Sessions as the tools record them, written from the published descriptions of their formats.

type Record = { [field: string]: unknown };

export const lines = (records: readonly Record[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('');

const SESSION = '0b7d7c1e-1f6a-4f3c-9d59-3f1b2a7c9e01';
let counter = 0;
const record = (type: string, second: number, fields: Record): Record => {
  counter += 1;
  return {
    parentUuid: counter === 1 ? null : `u${counter - 1}`,
    isSidechain: false,
    userType: 'external',
    cwd: '/app',
    sessionId: SESSION,
    version: '2.0.76',
    gitBranch: 'main',
    type,
    uuid: `u${counter}`,
    timestamp: new Date(Date.UTC(2026, 4, 12, 9, 30, second)).toISOString(),
    ...fields,
  };
};
const answer = (id: string, block: Record) => ({
  requestId: 'req_1',
  message: {
    id,
    type: 'message',
    role: 'assistant',
    model: 'claude-opus-4-5',
    content: [block],
    usage: { output_tokens: 9 },
  },
});

const lastAnswer = record(
  'assistant',
  70,
  answer('m2', { type: 'text', text: 'The test did not wait for the worker. It waits now.' }),
);

export const claudeCodeSession: Record[] = [
  { type: 'file-history-snapshot', messageId: 'x', snapshot: { trackedFileBackups: {} }, isSnapshotUpdate: false },
  { type: 'summary', summary: 'Flaky test of the queue', leafUuid: 'u9' },
  record('user', 0, { isMeta: true, message: { role: 'user', content: 'Caveat: the messages below …' } }),
  record('user', 0, { message: { role: 'user', content: '<command-name>/model</command-name>' } }),
  record('user', 1, { message: { role: 'user', content: 'Why does the test of the queue fail now and then?' } }),
  record('assistant', 2, answer('m1', { type: 'thinking', thinking: 'a private thought', signature: 'c2ln' })),
  record('assistant', 3, answer('m1', { type: 'text', text: 'I will run it.' })),
  record(
    'assistant',
    4,
    answer('m1', { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'npm test -- queue' } }),
  ),
  record(
    'assistant',
    4,
    answer('m1', { type: 'tool_use', id: 't2', name: 'Read', input: { file_path: '/app/queue.ts' } }),
  ),
  record('user', 9, {
    toolUseResult: { stdout: '1 failed' },
    message: {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 't1', content: '1 failed', is_error: true }],
    },
  }),
  record('user', 9, {
    message: {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 't2',
          content: [
            { type: 'text', text: 'export const queue = []' },
            { type: 'image', source: { data: 'iVBORw0' } },
          ],
        },
      ],
    },
  }),
  record('user', 20, { isSidechain: true, message: { role: 'user', content: 'what a subagent was told' } }),
  record('system', 30, { subtype: 'turn_duration', content: 'ran a hook' }),
  lastAnswer,
  // A resumed session repeats records.
  lastAnswer,
];

const item = (payload: Record) => ({ timestamp: '2026-05-12T09:30:40.000Z', type: 'response_item', payload });
const event = (payload: Record) => ({ timestamp: '2026-05-12T09:30:40.000Z', type: 'event_msg', payload });
const said = (role: string, text: string) => ({
  type: 'message',
  role,
  content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }],
});

export const codexSession: Record[] = [
  {
    timestamp: '2026-05-12T09:30:01.000Z',
    type: 'session_meta',
    payload: {
      id: '019a2d7a-41c4-78b1-b7cc-a45d62a89cd5',
      timestamp: '2026-05-12T09:30:00.000Z',
      cwd: '/app',
      originator: 'codex_cli_rs',
      cli_version: '0.65.0',
      instructions: null,
      source: 'cli',
      git: { branch: 'main' },
    },
  },
  item(said('developer', 'be careful')),
  item(said('user', '# AGENTS.md instructions for /app\n\nbe brief')),
  item(said('user', '<environment_context>\n  <cwd>/app</cwd>\n</environment_context>')),
  item(said('user', 'Rename the module to queue.')),
  event({ type: 'user_message', message: 'Rename the module to queue.', images: [] }),
  { timestamp: '2026-05-12T09:30:10.000Z', type: 'turn_context', payload: { cwd: '/app', model: 'gpt-5-codex' } },
  item({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'thinking' }], encrypted_content: 'gAAAA' }),
  event({ type: 'agent_reasoning', text: 'thinking' }),
  item({
    type: 'function_call',
    name: 'shell',
    arguments: '{"command":["git","mv","q.ts","queue.ts"]}',
    call_id: 'c1',
  }),
  item({
    type: 'function_call_output',
    call_id: 'c1',
    output: '{"output":"","metadata":{"exit_code":0,"duration_seconds":0.1}}',
  }),
  item({ type: 'custom_tool_call', status: 'completed', call_id: 'c2', name: 'apply_patch', input: '*** Begin Patch' }),
  item({ type: 'custom_tool_call_output', call_id: 'c2', output: 'Done!' }),
  event({ type: 'token_count', info: null }),
  item(said('assistant', 'The module is called queue now.')),
  event({ type: 'agent_message', message: 'The module is called queue now.' }),
];

export const oldCodexSession: Record[] = [
  { id: '5973b6c0-94b8-487b-a530-2aeb6098ae0e', timestamp: '2025-08-01T10:00:00.000Z', instructions: null, git: {} },
  { record_type: 'state' },
  said('user', 'What is 2 + 2?'),
  said('assistant', '4'),
  { type: 'local_shell_call', call_id: 'c1', status: 'completed', action: { type: 'exec', command: ['bc'] } },
  { type: 'function_call_output', call_id: 'c1', output: { content: 'bc: not found', success: false } },
];

export const cmContext: Record = {
  task: 'fix the flaky test',
  relevantBullets: [{ id: 'b-1', content: 'Wait for events.', relevanceScore: 3, effectiveScore: 1 }],
  antiPatterns: [{ id: 'b-2', content: 'Do not sleep.', relevanceScore: 2, effectiveScore: 1 }],
  historySnippets: [{ source_path: '/s/1.jsonl', line_number: 3, agent: 'claude', snippet: 'it waits for the worker' }],
  deprecatedWarnings: ['jest 29'],
  suggestedCassQueries: ['cass search "queue"'],
};

/** As Gemini CLI writes it: a message again under its id when it changes, and what was taken back. */
export const geminiSession: Record[] = [
  {
    sessionId: '6c1f7a34-90d2-4b7e-a7f0-2f5f0a3b1c11',
    projectHash: 'ab12',
    startTime: '2026-05-12T09:30:00.000Z',
    lastUpdated: '2026-05-12T09:30:00.000Z',
    kind: 'main',
  },
  { id: 'i1', timestamp: '2026-05-12T09:30:01.000Z', type: 'info', content: 'Update available.' },
  {
    id: 'u1',
    timestamp: '2026-05-12T09:30:02.000Z',
    type: 'user',
    content: [
      { text: 'Why is the queue slow?' },
      {
        text: '\n\n<hook_context>&lt;l9-memory-recall&gt; We deploy on Tuesdays. &lt;/l9-memory-recall&gt;</hook_context>',
      },
    ],
  },
  { $set: { lastUpdated: '2026-05-12T09:30:03.000Z' } },
  {
    id: 'g1',
    timestamp: '2026-05-12T09:30:04.000Z',
    type: 'gemini',
    content: '',
    model: 'gemini-3-pro',
    toolCalls: [],
  },
  {
    id: 'g1',
    timestamp: '2026-05-12T09:30:04.000Z',
    type: 'gemini',
    content: 'I will look.',
    model: 'gemini-3-pro',
    toolCalls: [
      {
        id: 'c1',
        name: 'read_file',
        args: { path: 'queue.ts' },
        status: 'success',
        timestamp: '2026-05-12T09:30:05.000Z',
        result: [
          { functionResponse: { id: 'c1', name: 'read_file', response: { output: 'export const queue = []' } } },
        ],
      },
      {
        id: 'c2',
        name: 'run_shell_command',
        args: { command: 'npm test' },
        status: 'error',
        timestamp: '2026-05-12T09:30:06.000Z',
        result: [{ functionResponse: { id: 'c2', name: 'run_shell_command', response: { error: '1 failed' } } }],
      },
    ],
  },
  { id: 'u2', timestamp: '2026-05-12T09:30:07.000Z', type: 'user', content: 'This was taken back.' },
  { $rewindTo: 'u2' },
  { id: 'g2', timestamp: '2026-05-12T09:31:10.000Z', type: 'gemini', content: [{ text: 'It polls. It waits now.' }] },
  { $set: { summary: 'The slow queue', lastUpdated: '2026-05-12T09:31:10.000Z' } },
];

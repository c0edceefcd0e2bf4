// The commands of the README and of the tutorial run as they are written, against a server that was started as the README says.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { readHolder } from '../../src/home/lock.ts';
import { createTestHome, type TestHome } from '../support/home.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const tutorial = readFileSync(join(root, 'docs', 'tutorial', 'first-session.md'), 'utf8');
const psql = process.env.PSQL || 'psql';
const hasPsql = spawnSync(psql, ['--version']).status === 0;

const blocksOf = (page: string, language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, body]) => body!);

/** The fenced block of a language that contains a text. */
function block(language: string, text: string, page = readme): string {
  const found = blocksOf(page, language).find((body) => body.includes(text));
  if (!found) throw new Error(`the page has no ${language} block with ${text}`);
  return found;
}

const METRICS_KEY = 'the-metrics-key-of-this-test-0123456789';

describe('the README and the tutorial', () => {
  let home: TestHome;
  let env: NodeJS.ProcessEnv;
  let server: ChildProcess;
  let url: string;
  let output = '';

  beforeAll(async () => {
    home = await createTestHome();
    env = { ...process.env, ...home.env, PORT: '0', LOG_FORMAT: 'pretty', PSQL: psql, METRICS_KEY };
    server = spawn('npm', ['start'], { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
    server.stdout!.on('data', (data) => {
      output += data;
    });
    ({ url } = await eventually(() => readHolder(home.home)));
  });
  afterAll(async () => {
    process.kill(-server.pid!, 'SIGTERM');
    await new Promise((resolve) => server.once('exit', resolve));
    await home.drop();
  });

  const sh = (script: string) => {
    const { status, stdout, stderr } = spawnSync(
      'bash',
      ['-euo', 'pipefail', '-c', script.replaceAll('http://127.0.0.1:9001', url)],
      {
        cwd: root,
        env,
        encoding: 'utf8',
        timeout: 300_000,
      },
    );
    expect(status, stderr).toBe(0);
    return stdout;
  };

  it('starts the server by two commands and prints where everything is', async () => {
    expect(block('sh', 'npm ci')).toMatch(/^npm ci\nnpm start\n$/);
    // The banner follows the lock that `url` was read from.
    await eventually(() => output.includes('psql'));
    for (const word of ['ready', 'engine', 'embedder', 'GraphQL', 'MCP', 'token', 'psql'])
      expect(output).toMatch(new RegExp(word));
  });

  it('shows answers that the server really gives', async () => {
    const save = block('sh', 'mutation');
    const answers = blocksOf(readme, 'json').map((answer) => JSON.parse(answer));
    expect(JSON.parse(sh(save))).toStrictEqual(answers.find(({ data }) => data?.saveMemory));
    // Long after the second that a reader waits: the machine of a test may be busy.
    const headers = { authorization: `Bearer ${METRICS_KEY}` };
    await eventually(async () =>
      /^l9_embedding_backlog 0$/m.test(await (await fetch(`${url}/metrics`, { headers })).text()),
    );
    const token = save.slice(0, save.indexOf('\n') + 1);
    expect(JSON.parse(sh(`${token}${block('sh', 'searchMemory')}`))).toStrictEqual(
      answers.find(({ data }) => data?.searchMemory),
    );
    expect(JSON.parse(sh(save)).data.saveMemory.status).toBe('skipped_dedupe');
  });

  it('stores memories with fields, and finds them by a field', () => {
    const save = block('sh', 'mutation');
    const token = save.slice(0, save.indexOf('\n') + 1);
    const answers = blocksOf(readme, 'json').map((answer) => JSON.parse(answer));
    for (const name of ['memoryStore', 'decisions('])
      expect(JSON.parse(sh(`${token}${block('sh', name)}`)), name).toStrictEqual(
        answers.find(({ data }) => data?.[name.replace('(', '')]),
      );
  });

  it('saves a conversation, and finds an answer by the question before it', async () => {
    const save = block('sh', 'mutation');
    const token = save.slice(0, save.indexOf('\n') + 1);
    const answerAfter = (text: string) => JSON.parse(blocksOf(readme.slice(readme.indexOf(text)), 'json')[0]!);
    const stored = JSON.parse(sh(`${token}${block('sh', '"standup"')}`));
    expect(stored).toStrictEqual(answerAfter('"standup"'));
    // The context of the answer is made with its vector.
    const expected = JSON.stringify(answerAfter('what did Ben say'));
    await eventually(() => JSON.stringify(JSON.parse(sh(`${token}${block('sh', 'what did Ben say')}`))) === expected);
  });

  // Without psql on the machine its examples cannot run.
  const itWithPsql = hasPsql ? it : it.skip;

  itWithPsql('shows in psql what C sees', () => {
    const answer = sh(block('sh', 'set local role l9_agent', tutorial));
    expect(answer).toMatch(/rule +\| We deploy on Tuesdays/);
    expect(answer).toMatch(/scope_access/);
  });

  itWithPsql('turns memories into knowledge in psql', () => {
    const answer = sh(block('sh', "assert_fact('website'", tutorial));
    expect(answer).toMatch(/"Thursday" \|\s+1/);
    // What Thursday superseded is marked, and stands below it.
    expect(answer).toMatch(
      /goes out on: Thursday +\| L-CTO +\| *\n +We deploy on Tuesdays, never on Fridays\. +\| Cursor-IDE +\| [0-9a-f-]{36}/,
    );
    expect(answer).toMatch(/billing \|/);
    expect(answer).toMatch(/Before naming a day for a release/);
    expect(answer).toMatch(/1 \| \{"day": "Thursday"\}/);
    expect(answer).not.toMatch(/ERROR/);
  });

  it('verifies the audit log', () => {
    expect(sh(block('sh', 'audit verify', tutorial))).toMatch(/\d/);
  });

  it('configures an editor for MCP', async () => {
    const { mcpServers } = JSON.parse(block('json', 'mcpServers').replace('/path/to/l9-memory', root));
    const { command, args } = mcpServers['l9-memory'];
    const client = new Client({ name: 'editor', version: '1' });
    await client.connect(new StdioClientTransport({ command, args, env: env as Record<string, string> }) as never);
    const { tools } = await client.listTools();
    const page = readFileSync(join(root, 'docs', 'reference', 'operations.md'), 'utf8');
    for (const { name } of tools) expect(page, name).toContain(`| \`${name}\` |`);
    const everywhere = { query: 'deploy', project_id: '*' };
    const answer = await client.callTool({ name: 'search_memory', arguments: everywhere });
    expect(JSON.stringify(answer.structuredContent)).toMatch(/We deploy on Tuesdays/);
    await client.close();
  });

  it('makes a token that can do less', () => {
    expect(readme).toMatch(/npm run token -- --caller C --projects l9\n--scopes developer --expires 8h/);
    expect(sh('npm run --silent token -- --caller C --projects l9 --scopes developer --expires 8h')).toMatch(
      /^eyJ[\w-]+\.[\w-]+\.[\w-]+\n$/,
    );
  });
});

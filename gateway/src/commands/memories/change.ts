// `l9-memory save`, `edit` and `delete`, through the GraphQL API and with the rights of a caller.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { text as wholeOf } from 'node:stream/consumers';
import { checkIds, Refused } from '../support/client.ts';
import { answered, jsonLines, type OutputOptions, preview, styled } from '../support/output.ts';
import { type Memory, type PlaceOptions, placeOf, projectFor, read } from './shared.ts';

export interface SaveOptions extends PlaceOptions {
  kind?: string;
  tags?: string[];
  speaker?: string;
  thread?: string;
  field?: string[];
}

const SAVE = `mutation ($input: SaveMemoryInput!) {
  saveMemory(input: $input) { status redacted notice memory { packetId kind scope projectId reviewState } similar { packetId similarity } }
}`;

interface Saved {
  status: 'inserted' | 'updated' | 'skipped_dedupe';
  redacted: number | null;
  notice: string | null;
  memory: { packetId: string; kind: string; scope: string; projectId: string | null; reviewState: string | null };
  similar: { packetId: string; similarity: number }[];
}

const STATUS = { inserted: 'saved', updated: 'merged into', skipped_dedupe: 'known already:' };

/** Saves a text; `-` reads it from standard input. */
export const save = (env: NodeJS.ProcessEnv, words: string[], options: SaveOptions) =>
  answered(env, options, async (client) => {
    const given = words.join(' ');
    const { scope, kind, tags, speaker, thread: threadId } = options;
    const input = {
      content: given === '-' ? (await wholeOf(process.stdin)).trimEnd() : given || undefined,
      ...{ scope, kind, tags, speaker, threadId, projectId: projectFor(env, options) },
      ...(options.field ? { envelope: fieldsOf(options.field) } : {}),
    };
    const { saveMemory: saved } = await client.request<{ saveMemory: Saved }>(SAVE, { input });
    if (options.json) return jsonLines([saved]);
    const { memory, similar } = saved;
    return [
      `${STATUS[saved.status]} ${styled('bold', memory.packetId)}, ${memory.kind} in ${placeOf(memory)}`,
      ...(memory.reviewState === 'pending' ? ['It waits for a review: `l9-memory review` lists what waits.'] : []),
      ...(saved.notice ? [saved.notice] : []),
      ...(saved.redacted ? [`${saved.redacted} secrets were replaced.`] : []),
      ...similar.map((one) => `nearly the same: ${one.packetId} (${one.similarity.toFixed(2)})`),
    ]
      .map((line) => `${line}\n`)
      .join('');
  });

/** `name=value` pairs; a value that is JSON is taken as such. */
function fieldsOf(pairs: string[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new Refused('--field: write name=value');
      return [pair.slice(0, at), parsedOf(pair.slice(at + 1))];
    }),
  );
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export interface EditOptions extends OutputOptions {
  text?: string;
  kind?: string;
  tags?: string[];
  field?: string[];
}

const UPDATE = `mutation ($input: UpdateMemoryInput!) {
  updateMemory(input: $input) { status memory { packetId updatedAt reviewState } }
}`;

/** Changes what is given; without any change the text is opened in the editor of VISUAL or EDITOR. */
export const edit = (env: NodeJS.ProcessEnv, packetId: string, options: EditOptions) =>
  answered(env, options, async (client) => {
    const memory = await read(client, packetId);
    const { text, kind, tags, field } = options;
    const isGiven = [text, kind, tags, field].some((one) => one !== undefined);
    const content = isGiven ? text : edited(env, memory.content);
    if (!isGiven && content === memory.content) return 'Nothing was changed.\n';
    const input = {
      ...{ packetId, content, kind, tags, expectedVersion: memory.updatedAt },
      ...(field ? { envelope: { ...memory.envelope, ...fieldsOf(field) } } : {}),
    };
    const { updateMemory } = await client.request<{ updateMemory: object }>(UPDATE, { input });
    return options.json ? jsonLines([updateMemory]) : `changed ${packetId}\n`;
  });

function edited(env: NodeJS.ProcessEnv, text: string): string {
  const editor = env.VISUAL ?? env.EDITOR;
  if (!editor || !process.stdin.isTTY)
    throw new Refused(
      'say what to change: --text, --kind, --tags or --field; or set EDITOR and run this at a terminal',
    );
  const folder = mkdtempSync(join(tmpdir(), 'l9-memory-'));
  const file = join(folder, 'memory.md');
  try {
    writeFileSync(file, `${text}\n`, { mode: 0o600 });
    // EDITOR may hold arguments, as in `code --wait`, so a shell reads it; the path is passed apart.
    const { status, error } = spawnSync('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' });
    if (error || status !== 0) throw new Refused('the editor ended with an error, so nothing was changed');
    return readFileSync(file, 'utf8').replace(/\n$/, '');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const DELETE = 'mutation ($packetId: UUID!) { deleteMemory(input: { packetId: $packetId }) { packetId status } }';

/** Deletes memories; at a terminal it shows each and asks first. */
export const remove = (env: NodeJS.ProcessEnv, ids: string[], options: OutputOptions & { yes?: boolean }) =>
  answered(env, options, async (client) => {
    if (!options.yes && !process.stdin.isTTY)
      throw new Refused('--yes: confirm the deletion, since there is no terminal to ask at');
    checkIds(...ids);
    const lines: string[] = [];
    for (const packetId of ids) {
      if (!options.yes && !(await isConfirmed(await read(client, packetId)))) continue;
      const { deleteMemory } = await client.request<{ deleteMemory: object }>(DELETE, { packetId });
      lines.push(options.json ? jsonLines([deleteMemory]) : `deleted ${packetId}\n`);
    }
    return lines.join('');
  });

async function isConfirmed(memory: Memory): Promise<boolean> {
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await asking.question(
      `${memory.kind}: ${preview(memory.title ?? memory.content, 100)}\nDelete it? [y/N] `,
    );
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    asking.close();
  }
}

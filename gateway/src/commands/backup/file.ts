// The form of a backup file, and of the file of an exported tenant. The first line says what it is; then comes a body, which may be
// encrypted: a line of JSON (the manifest), the rows, compressed by gzip, and the SHA-256 of all before it, the first line included.
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline as connect, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { z } from 'zod';
import { ConfigError } from '../../config/config.ts';
import { codeOf } from '../../home/problem.ts';
import { chunksOf, openFile } from '../../input/files.ts';

/** Why a backup cannot be made or restored: the cause and the way out. */
export class BackupProblem extends ConfigError {}

const manifestForm = z.object({
  engine: z.enum(['embedded', 'server']),
  /** The version of l9-memory that made the backup, and of PostgreSQL. */
  version: z.string(),
  postgres: z.string(),
  created_at: z.string(),
  /** The hash of each migration that the database has run, by number. */
  migrations: z.record(z.string(), z.string()),
  /** The number of rows of each table. */
  counts: z.record(z.string(), z.number()),
  /** The hash of the newest seal of the audit log. */
  audit_head: z.string().nullable(),
  /** The ids of the master keys that archives in it need. */
  archive_keys: z.array(z.string()),
  /** The roles of the server that its objects belong to, or are granted to. */
  roles: z.array(z.string()),
  /** The contents of credentials.json, if they were asked for. */
  credentials: z.string().optional(),
});
export type Manifest = z.output<typeof manifestForm>;

/** What is written in this form. */
export interface FileKind<Facts extends { created_at: string }> {
  name: 'backup' | 'tenant';
  /** How messages call it, and the command that writes it. */
  noun: string;
  command: string;
  form: z.ZodType<Facts>;
}
const BACKUP: FileKind<Manifest> = {
  name: 'backup',
  noun: 'backup of l9-memory',
  command: 'l9-memory backup',
  form: manifestForm,
};

export type Chunks = AsyncIterable<Uint8Array>;
/** Encrypts or decrypts a body. */
export type Cipher = (body: Chunks) => Promise<Chunks>;

const FIRST_LINE = /^l9-memory (backup|tenant) (\d+) (plain|age) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\n$/;
const VERSION = '1';
const FIRST_LINE_BYTES = 64;
const MANIFEST_BYTES = 4 * 1024 * 1024;
const SUM_BYTES = 32;
const LINE_FEED = 10;

export interface FirstLine {
  text: string;
  isEncrypted: boolean;
  createdAt: string;
}

/** The first line of a file of this kind; null if it is none. Throws for one of a version that is not known here. */
export async function firstLineOf(path: string, kind = 'backup'): Promise<FirstLine | null> {
  const { descriptor, size } = openFile(path);
  const parts: Buffer[] = [];
  for await (const part of chunksOf({ descriptor, size: Math.min(size, FIRST_LINE_BYTES) })) parts.push(part);
  const start = Buffer.concat(parts);
  const text = start.subarray(0, start.indexOf(LINE_FEED) + 1).toString('latin1');
  const [, found, number, form, createdAt] = FIRST_LINE.exec(text) ?? [];
  if (found !== kind) return null;
  if (number !== VERSION)
    throw new BackupProblem(
      `${path}: is of version ${number} of its format, and this program knows version ${VERSION}`,
    );
  return { text, isEncrypted: form === 'age', createdAt: createdAt! };
}

/** Where a file is written before it is whole. */
export const draftOf = (path: string, pid: number | string = process.pid) =>
  join(dirname(path), `.${basename(path)}.${pid}.part`);

interface Written<Facts> {
  manifest: Facts;
  database: Chunks;
  encrypt: Cipher | null;
  signal: AbortSignal;
}

/** Writes a backup that only its owner may read. It gets its name when it is whole; if anything fails, nothing is left. */
export const writeBackup = (path: string, written: Written<Manifest>): Promise<void> =>
  writeFileOf(BACKUP, path, written);

export async function writeFileOf<Facts extends { created_at: string }>(
  { name }: FileKind<Facts>,
  path: string,
  { manifest, database, encrypt, signal }: Written<Facts>,
): Promise<void> {
  const first = `l9-memory ${name} ${VERSION} ${encrypt ? 'age' : 'plain'} ${manifest.created_at}\n`;
  const draft = draftOf(path);
  try {
    // A stream that opens its file by itself may do so after it has failed, and the file would stay.
    const file = await open(draft, 'wx', 0o600);
    const body = bodyOf(first, manifest, database);
    const chunks = encrypt ? await encrypt(body) : body;
    const whole = async function* () {
      yield Buffer.from(first);
      yield* chunks;
    };
    await pipeline(whole, file.createWriteStream({ flush: true }), { signal });
    if (existsSync(path)) throw exists(path);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw codeOf(error) === 'ENOSPC' ? new BackupProblem(`no space left for ${path}: nothing was written`) : error;
  }
}

export const exists = (path: string) =>
  new BackupProblem(`${path}: there is a file of this name, which is never replaced; give another name`);

async function* bodyOf(first: string, manifest: object, database: Chunks) {
  const sum = createHash('sha256').update(first);
  const line = Buffer.from(`${JSON.stringify(manifest)}\n`);
  sum.update(line);
  yield line;
  for await (const chunk of through(database, createGzip())) {
    sum.update(chunk);
    yield chunk;
  }
  yield sum.digest();
}

/** What comes out of a transform. An error of the source becomes one of the result. */
const through = (source: Chunks, transform: NodeJS.ReadWriteStream): AsyncIterable<Buffer> =>
  connect(Readable.from(source), transform, () => {}) as unknown as AsyncIterable<Buffer>;

export interface Backup<Facts = Manifest> {
  manifest: Facts;
  /** The database, as the engine wrote it. */
  database(): AsyncIterable<Buffer>;
}

/** Reads a backup to its end and checks that nothing in it has changed. `decryption` is asked for only if it is encrypted. */
export const readBackup = (path: string, decryption: () => Promise<Cipher>): Promise<Backup> =>
  readFileOf(BACKUP, path, decryption);

export async function readFileOf<Facts extends { created_at: string }>(
  kind: FileKind<Facts>,
  path: string,
  decryption: () => Promise<Cipher>,
): Promise<Backup<Facts>> {
  const first = await firstLineOf(path, kind.name);
  if (!first)
    throw new BackupProblem(`${path} is not a ${kind.noun}: give the path of a file that \`${kind.command}\` wrote`);
  const decrypt = first.isEncrypted ? await decryption() : null;
  const read = () => readBody(kind, path, first, decrypt);
  const { manifest, database } = await read();
  for await (const _ of database) {
    // The checksum is at the end.
  }
  return {
    manifest,
    async *database() {
      yield* through((await read()).database, createGunzip());
    },
  };
}

async function readBody<Facts extends { created_at: string }>(
  { form, name }: FileKind<Facts>,
  path: string,
  first: FirstLine,
  decrypt: Cipher | null,
): Promise<{ manifest: Facts; database: Chunks }> {
  const damaged = (error?: unknown) => {
    // What the file system says.
    if (codeOf(error)?.startsWith('E') && !codeOf(error)?.startsWith('ERR')) return error;
    if (error instanceof BackupProblem) return error;
    return new BackupProblem(
      `${path} is damaged: it is not what was written. ${name === 'backup' ? 'Restore another backup' : 'Export the tenant again'}`,
    );
  };
  const file = createReadStream(path, { start: Buffer.byteLength(first.text) });
  try {
    const chunks = (decrypt ? await decrypt(file) : file)[Symbol.asyncIterator]();
    let start = Buffer.alloc(0);
    let end = -1;
    while (end < 0) {
      const { value, done } = await chunks.next();
      if (done || start.length > MANIFEST_BYTES) throw damaged();
      start = Buffer.concat([start, value]);
      end = start.indexOf(LINE_FEED);
    }
    const line = start.subarray(0, end + 1);
    const parsed = form.safeParse(JSON.parse(line.toString()));
    if (!parsed.success || parsed.data.created_at !== first.createdAt) throw damaged();
    const database = async function* () {
      const sum = createHash('sha256').update(first.text).update(line);
      let kept = start.subarray(end + 1);
      try {
        for (;;) {
          if (kept.length > SUM_BYTES) {
            const part = kept.subarray(0, -SUM_BYTES);
            sum.update(part);
            yield part;
            kept = kept.subarray(-SUM_BYTES);
          }
          const { value, done } = await chunks.next();
          if (done) break;
          kept = Buffer.concat([kept, value]);
        }
        if (!kept.equals(sum.digest())) throw damaged();
      } catch (error) {
        throw damaged(error);
      } finally {
        file.destroy();
      }
    };
    return { manifest: parsed.data, database: database() };
  } catch (error) {
    file.destroy();
    throw damaged(error);
  }
}

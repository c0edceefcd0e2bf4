// The file of an exported tenant: the rows of each table as PostgreSQL's COPY writes them, between a line that says what they are and one
// that says how many and with which hash.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Chunks, FileKind } from '../backup/file.ts';
import { type Digest, readRows } from './copy.ts';
import type { CellDatabase } from './database.ts';
import { TenantProblem } from './problem.ts';

const manifestForm = z.object({
  /** The version of l9-memory that exported it. */
  version: z.string(),
  created_at: z.string(),
  tenant: z.object({ tenant_id: z.uuid(), name: z.string(), route: z.string().nullable() }),
  /** The hash of each migration that the database had run, by number. */
  migrations: z.record(z.string(), z.string()),
  /** The number of rows of each section. */
  counts: z.record(z.string(), z.number()),
  /** The hash of the first seal of the database; null if it had none. */
  chain: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  /** How far the roll-up of accesses was. */
  counted_to: z.string().regex(/^\d+$/),
  needs: z.object({
    models: z.array(z.object({ model: z.string(), dimensions: z.number() })),
    logins: z.array(z.string()),
    archive_keys: z.array(z.string()),
    stores: z.array(z.string()),
  }),
});
export type TenantManifest = z.output<typeof manifestForm>;

export const TENANT_FILE: FileKind<TenantManifest> = {
  name: 'tenant',
  noun: 'file of an exported tenant',
  command: 'l9-memory tenant export',
  form: manifestForm,
};

export interface Section {
  /** The table, or the part of it. */
  name: string;
  table: string;
  columns: string[];
  select: string;
}

const sectionForm = z.object({ name: z.string(), table: z.string(), columns: z.array(z.string()) });
const endForm = z.object({ rows: z.number(), sha256: z.string() });

const END = Buffer.from('\\.\n');
const LINE_AND_END = Buffer.from('\n\\.\n');
const LINE_FEED = 10;

export async function* writeSections(
  { client }: CellDatabase,
  sections: Section[],
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  for (const { select, ...section } of sections) {
    signal.throwIfAborted();
    yield Buffer.from(`${JSON.stringify(section)}\n`);
    const sum = createHash('sha256');
    const rows = readRows(client, select);
    for await (const chunk of rows as AsyncIterable<Buffer>) {
      sum.update(chunk);
      yield chunk;
    }
    yield END;
    yield Buffer.from(`${JSON.stringify({ rows: rows.rowCount, sha256: sum.digest('hex') })}\n`);
  }
}

const damaged = () => new TenantProblem('the rows in the file are not what was written: export the tenant again');

/** Reads the sections in their order. `store` takes the rows of one, and must read them to their end; `check` gets what they were. */
export async function readSections(
  chunks: Chunks,
  store: (section: Omit<Section, 'select'>, rows: AsyncIterable<Buffer>) => Promise<void>,
  check: (section: Omit<Section, 'select'>, written: Digest) => Promise<void>,
): Promise<void> {
  const reader = readerOf(chunks);
  for (let line = await reader.line(); line !== null; line = await reader.line()) {
    const section = sectionForm.parse(JSON.parse(line));
    const sum = createHash('sha256');
    await store(
      section,
      (async function* () {
        for await (const block of reader.rows()) {
          sum.update(block);
          yield block;
        }
      })(),
    );
    const end = endForm.parse(JSON.parse((await reader.line()) ?? 'null'));
    if (end.sha256 !== sum.digest('hex')) throw damaged();
    await check(section, end);
  }
}

function readerOf(chunks: Chunks) {
  const source = chunks[Symbol.asyncIterator]();
  let kept = Buffer.alloc(0);
  const more = async () => {
    const { value, done } = await source.next();
    if (!done) kept = kept.length === 0 ? Buffer.from(value) : Buffer.concat([kept, value]);
    return !done;
  };
  const take = (length: number) => {
    const taken = kept.subarray(0, length);
    kept = kept.subarray(length);
    return taken;
  };
  return {
    /** The next line; null at the end. */
    async line(): Promise<string | null> {
      for (let at = kept.indexOf(LINE_FEED); ; at = kept.indexOf(LINE_FEED)) {
        if (at >= 0) return take(at + 1).toString();
        if (!(await more())) {
          if (kept.length > 0) throw damaged();
          return null;
        }
      }
    },
    /** Whole rows, up to the line that ends them. */
    async *rows(): AsyncGenerator<Buffer> {
      for (;;) {
        if (kept.subarray(0, END.length).equals(END)) {
          take(END.length);
          return;
        }
        const end = kept.indexOf(LINE_AND_END);
        const whole = end >= 0 ? end + 1 : kept.lastIndexOf(LINE_FEED) + 1;
        if (whole > 0) yield take(whole);
        else if (!(await more())) throw damaged();
      }
    },
  };
}

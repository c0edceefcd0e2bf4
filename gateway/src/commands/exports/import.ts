// The part of `l9-memory import` that takes back what `l9-memory export` wrote: first the whole file is checked, then it is stored.
import { sizeOfFile } from '../../input/files.ts';
import { type Client, Refused, Unusable } from '../support/client.ts';
import { startProgress } from '../support/progress.ts';
import { ARCHIVE_BYTES, type Header, headerLine, kindOf, sealHashOf } from './format.ts';
import { checkExport, linesOf, withFile } from './read.ts';

const MAX_LINES = 500;
const MAX_CHARACTERS = 1_000_000;

const MUTATION = `mutation ($lines: String, $firstLine: Int) {
  admin { importMemories(lines: $lines, firstLine: $firstLine) }
}`;

interface Taken {
  stored: number;
  present: number;
  left_out: number;
  /** Lines that only the tenant that exported them can use. */
  bound: number;
  /** The hash of the last line about a seal. */
  auditHead?: string | null;
}

export interface ImportExportOptions {
  /** Take what another tenant exported as one's own. */
  anyTenant?: boolean;
}

/** Imports an export; `-` is stdin. Again: what is there already is skipped. */
export const importExport = (client: Client, file: string, options: ImportExportOptions): Promise<Taken> =>
  withFile(file, async (path) => {
    const header = await check(path);
    const send = refusalsOf(file, async (lines: string, firstLine: number) => {
      const { admin } = await client.request<{ admin: { importMemories: Taken } }>(MUTATION, { lines, firstLine });
      return admin.importMemories;
    });
    const isForeign = options.anyTenant === true && !(await isOwn(header, send));
    if (isForeign) await send(headerLine({ ...header, tenant_id: undefined as never }), 1);
    else if (!options.anyTenant) await send(headerLine(header), 1);
    const sum: Taken = { stored: 0, present: 0, left_out: 0, bound: 0 };
    const progress = startProgress('importing', sizeOfFile(path));
    try {
      for await (const { lines, kind, count, firstLine, read } of batches(path)) {
        if (isForeign && BOUND_TO_TENANT.has(kind)) sum.bound += count;
        else if (kind === ARCHIVE_BYTES) sum[await sendBytes(client, file, lines, firstLine)] += 1;
        else {
          const taken = await send(lines, firstLine);
          if (kind === 'audit_seal') sum.auditHead = sealHashOf(lines);
          for (const key of ['stored', 'present', 'left_out'] as const) sum[key] += taken[key];
        }
        progress.update(read, toldOf(sum));
      }
    } finally {
      progress.stop();
    }
    return sum;
  });

/** Archives are encrypted for their tenant, and seals are about its rows. */
const BOUND_TO_TENANT: ReadonlySet<string> = new Set([
  'archive',
  ARCHIVE_BYTES,
  ...['audit_row', 'audit_seal', 'imported_audit_row', 'imported_audit_seal'],
]);

/** An error of a line ends the import. */
const refusalsOf =
  <Args extends unknown[], Answer>(file: string, send: (...args: Args) => Promise<Answer>) =>
  async (...args: Args): Promise<Answer> => {
    try {
      return await send(...args);
    } catch (error) {
      if (error instanceof Refused) throw new Unusable(`${file}: ${error.message}`);
      throw error;
    }
  };

async function isOwn(header: Header, send: (lines: string, firstLine: number) => Promise<unknown>): Promise<boolean> {
  try {
    await send(headerLine(header), 1);
    return true;
  } catch (error) {
    if (error instanceof Unusable && error.message.includes('tenant_id')) return false;
    throw error;
  }
}

async function sendBytes(client: Client, file: string, line: string, number: number) {
  const given = (JSON.parse(line) as Record<string, object>)[ARCHIVE_BYTES]!;
  try {
    return (await client.post<{ state: 'stored' | 'present' | 'left_out' }>('/archives/import', given)).state;
  } catch (error) {
    if (error instanceof Refused) throw new Unusable(`${file}: line ${number}: ${ARCHIVE_BYTES}.${error.message}`);
    throw error;
  }
}

export const toldOf = ({ stored, present, left_out, bound }: Taken) =>
  [
    `${stored} stored, ${present} there already`,
    ...(left_out > 0 ? [`${left_out} left out, because they have expired or were erased`] : []),
    ...(bound > 0
      ? [`${bound} lines of archives and audit logs left out, because they belong to the tenant that exported them`]
      : []),
  ].join(', ');

async function check(path: string): Promise<Header> {
  const progress = startProgress('checking', sizeOfFile(path));
  try {
    return await checkExport(path, (read) => progress.update(read));
  } finally {
    progress.stop();
  }
}

/** Lines of one kind, as many as one request may hold. */
async function* batches(path: string) {
  let lines: string[] = [];
  let size = 0;
  let firstLine = 0;
  let kind = '';
  let read = 0;
  const most = () => (kind === ARCHIVE_BYTES ? 1 : MAX_LINES);
  for await (const line of linesOf(path)) {
    const next = kindOf(line.text) ?? '';
    if (line.number === 1) continue;
    if (lines.length > 0 && (next !== kind || lines.length === most() || size + line.text.length > MAX_CHARACTERS)) {
      yield { lines: lines.join('\n'), kind, count: lines.length, firstLine, read };
      lines = [];
      size = 0;
    }
    if (next === 'end') return;
    if (lines.length === 0) firstLine = line.number;
    kind = next;
    read = line.read;
    lines.push(line.text);
    size += line.text.length;
  }
}

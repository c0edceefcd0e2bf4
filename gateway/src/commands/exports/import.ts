// The part of `l9-memory import` that takes back what `l9-memory export` wrote: first the whole file is checked, then it is stored.
import { sizeOfFile } from '../../input/files.ts';
import { type Client, Refused, Unusable } from '../support/client.ts';
import { startProgress } from '../support/progress.ts';
import { type Header, headerLine, kindOf } from './format.ts';
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
}

export interface ImportExportOptions {
  /** Take what another tenant exported as one's own. */
  anyTenant?: boolean;
}

/** Imports an export; `-` is stdin. Again: what is there already is skipped. */
export const importExport = (client: Client, file: string, options: ImportExportOptions): Promise<Taken> =>
  withFile(file, async (path) => {
    const header = await check(path);
    const send = async (lines: string, firstLine: number) => {
      try {
        const { admin } = await client.request<{ admin: { importMemories: Taken } }>(MUTATION, { lines, firstLine });
        return admin.importMemories;
      } catch (error) {
        if (error instanceof Refused) throw new Unusable(`${file}: ${error.message}`);
        throw error;
      }
    };
    await send(options.anyTenant ? headerLine({ ...header, tenant_id: undefined as never }) : headerLine(header), 1);
    const sum: Taken = { stored: 0, present: 0, left_out: 0 };
    const progress = startProgress('importing', sizeOfFile(path));
    try {
      for await (const { lines, firstLine, read } of batches(path)) {
        const taken = await send(lines, firstLine);
        for (const key of ['stored', 'present', 'left_out'] as const) sum[key] += taken[key];
        progress.update(read, toldOf(sum));
      }
    } finally {
      progress.stop();
    }
    return sum;
  });

export const toldOf = ({ stored, present, left_out }: Taken) =>
  `${stored} stored, ${present} there already${left_out > 0 ? `, ${left_out} left out, because they have expired or were erased` : ''}`;

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
  let kind: string | null = null;
  let read = 0;
  for await (const line of linesOf(path)) {
    const next = kindOf(line.text);
    if (line.number === 1) continue;
    if (lines.length > 0 && (next !== kind || lines.length === MAX_LINES || size + line.text.length > MAX_CHARACTERS)) {
      yield { lines: lines.join('\n'), firstLine, read };
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

// The file that `l9-memory export` writes: a header, the lines of the database, and a last line that says whether it is whole.
import { createHash } from 'node:crypto';

export const FORMAT = 'l9-memory';
export const VERSION = 1;
/** Lines that the gateway makes, not the database: each follows that of its archive. */
export const ARCHIVE_BYTES = 'archive_bytes';

export interface KindCount {
  kind: string;
  lines: number;
}

export interface Header<Count = KindCount> {
  format: string;
  version: number;
  tenant_id: string;
  /** What there was of each kind when the export began, in the order of the file. */
  counts: Count[];
}

export interface End {
  /** How many lines precede, the header included. */
  lines: number;
  /** Of the bytes of all lines that precede. */
  sha256: string;
}

/** The same tenant gives the same file, to the byte: so the header has no time. */
export const headerLine = ({ format, version, tenant_id, counts }: Header) =>
  JSON.stringify({ format, version, tenant_id, counts });

export const endLine = (end: End) => JSON.stringify({ end: { lines: end.lines, sha256: end.sha256 } });

/** Whether a text begins as a header does. */
export const beginsExport = (text: string) => /^\{"format": *"l9-memory"/.test(text);

export const kindOf = (line: string): string | null => /^\{ *"(\w+)"/.exec(line)?.[1] ?? null;

/** Counts lines and hashes them as they are written or read. */
export function createSeal() {
  const hash = createHash('sha256');
  let lines = 0;
  return {
    add(text: string | Buffer, count: number) {
      hash.update(text);
      lines += count;
    },
    end: (): End => ({ lines, sha256: hash.digest('hex') }),
  };
}

/** What ends the chain of seals in these lines. */
export function sealHashOf(lines: string): string | null {
  const { audit_seal } = JSON.parse(lines.slice(lines.lastIndexOf('\n') + 1)) as { audit_seal: { hash: string } };
  return audit_seal.hash.replace('\\x', '');
}

export const headOf = (hash: string) => `The audit log in it ends with ${hash}: keep this elsewhere, and compare it.`;

// Positions in PostgreSQL's write-ahead log, such as 0/3000148.
const FORM = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i;

/** Of answers to writes, and of requests that want to find what was written up to there. */
export const LSN_HEADER = 'X-L9-Lsn';

/** Beyond all that is ever written: where a client asks for it, only the primary is read. */
export const END_OF_LOG = 'FFFFFFFF/FFFFFFFF';

/** The position as a number of bytes; null if the text is none. */
export function parseLsn(text: string): bigint | null {
  const [, high, low] = FORM.exec(text) ?? [];
  return high && low ? (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`) : null;
}

/** The same as a number, for what PostgreSQL itself answers. */
export const lsnOf = (text: string | null): bigint => (text === null ? null : parseLsn(text)) ?? 0n;

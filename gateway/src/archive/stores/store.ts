/**
 * Runs one statement as the caller, in a transaction of its own. One that may be lost in a power cut, because the call then
 * fails as a whole, does not wait for the disk.
 */
export type Query = <Row extends object>(
  text: string,
  values: unknown[],
  durability?: { mayBeLost: boolean },
) => Promise<Row[]>;

/** The most bytes of an encrypted session, as archive.max_blob_bytes() has it. */
const MAX_BLOB_BYTES = 25 * 1024 * 1024 + 1024;

/** The bytes that a store sends, up to one more than any session has. Bytes that were cut, or are too many, have a wrong hash. */
export async function readBlob(body: AsyncIterable<Uint8Array> | null | undefined): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let left = MAX_BLOB_BYTES + 1;
  for await (const part of body ?? []) {
    parts.push(part.subarray(0, left));
    left -= part.length;
    // Leaving the loop closes the connection.
    if (left <= 0) break;
  }
  return Buffer.concat(parts);
}

/** Which bytes are meant. The database knows them by their archive, other stores by their hash alone. */
export interface Address {
  archiveId: string;
  hash: Buffer;
}

/** A place for encrypted bytes under their SHA-256. A put that returned is on the disk; putting the same again changes nothing. */
export interface Store {
  readonly name: string;
  put(address: Address, blob: Buffer, query: Query): Promise<void>;
  /** Null if the store does not have them. The bytes are not trusted: the caller hashes them. */
  get(address: Address, query: Query): Promise<Buffer | null>;
  delete(hash: Buffer): Promise<void>;
}

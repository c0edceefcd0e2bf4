// Reads global/pg_control, the small file in which PostgreSQL keeps the state of a data folder, as the embedded engine writes it:
// little-endian, 64-bit places of the write-ahead log, and a CRC-32C behind the last field.

export interface ControlFile {
  /** The engine was closed: all that was saved is in the tables. */
  isShutDown: boolean;
  /** Place of the last checkpoint, and where a recovery begins to read the write-ahead log. */
  checkpoint: bigint;
  redo: bigint;
  timeline: number;
  systemId: bigint;
  segmentBytes: bigint;
}

const FILE_BYTES = 8192;
const CONTROL_VERSION = 1800;
const STATE_SHUT_DOWN = 1;
const AT = { systemId: 0, version: 8, state: 16, checkpoint: 32, redo: 40, timeline: 48 };
const LATER = { segmentBytes: 228, isFloat8ByValue: 248, crc: 292 };

/** What a control file says, or why it can't be used. */
export function parseControlFile(bytes: Buffer): ControlFile | string {
  if (bytes.length < FILE_BYTES) return `has ${bytes.length} of ${FILE_BYTES} bytes`;
  if (bytes.readUInt32LE(LATER.crc) !== crc32c(bytes.subarray(0, LATER.crc)))
    return 'is damaged, its checksum is wrong';
  const version = bytes.readUInt32LE(AT.version);
  if (version !== CONTROL_VERSION)
    return `has the form of PostgreSQL ${version / 100}, not of ${CONTROL_VERSION / 100}`;
  // PostgreSQL for a server of 64 bits passes such numbers by value, the embedded engine does not.
  if (bytes[LATER.isFloat8ByValue] !== 0) return 'was written by a PostgreSQL server, not by the embedded engine';
  return {
    isShutDown: bytes.readInt32LE(AT.state) === STATE_SHUT_DOWN,
    checkpoint: bytes.readBigUInt64LE(AT.checkpoint),
    redo: bytes.readBigUInt64LE(AT.redo),
    timeline: bytes.readUInt32LE(AT.timeline),
    systemId: bytes.readBigUInt64LE(AT.systemId),
    segmentBytes: BigInt(bytes.readUInt32LE(LATER.segmentBytes)),
  };
}

/** The name of a file of the write-ahead log. */
export function segmentName({ timeline, segmentBytes }: ControlFile, segment: bigint): string {
  const perGroup = 0x1_0000_0000n / segmentBytes;
  const parts = [BigInt(timeline), segment / perGroup, segment % perGroup];
  return parts.map((part) => part.toString(16).toUpperCase().padStart(8, '0')).join('');
}

const SEGMENT_HEADER = { place: 8, systemId: 24 };

/** Whether the first page of a file of the write-ahead log belongs to this data folder and this place. */
export function isSegmentOf({ systemId, segmentBytes }: ControlFile, segment: bigint, page: Buffer): boolean {
  return (
    page.length >= SEGMENT_HEADER.systemId + 8 &&
    page.readBigUInt64LE(SEGMENT_HEADER.place) === segment * segmentBytes &&
    page.readBigUInt64LE(SEGMENT_HEADER.systemId) === systemId
  );
}

const LOG_PAGE_BYTES = 8192;
const LOG_PAGE_HEADER = 24;
const RECORD = { header: 24, crc: 20, longest: 1024 };

/** Whether a record of the write-ahead log is what was written. It begins at `at` of two pages, and may go on in the second. */
export function isWholeRecord(pages: Buffer, at: number): boolean {
  const rest = pages.subarray(LOG_PAGE_BYTES + LOG_PAGE_HEADER);
  const bytes = Buffer.concat([pages.subarray(at, LOG_PAGE_BYTES), rest]);
  if (bytes.length < RECORD.header) return true;
  const length = bytes.readUInt32LE(0);
  if (length < RECORD.header || length > RECORD.longest) return false;
  // One that goes on in the next file is left to PostgreSQL.
  if (length > bytes.length) return true;
  const record = bytes.subarray(0, length);
  const covered = Buffer.concat([record.subarray(RECORD.header), record.subarray(0, RECORD.crc)]);
  return record.readUInt32LE(RECORD.crc) === crc32c(covered);
}

const CRC32C = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  return value;
});

function crc32c(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = CRC32C[(crc ^ byte) & 255]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

// Texts: whether they say anything, and how bytes become one.

// As identity.is_blank() in the database has it: white space, those without a shape, and fillers.
const SEEN = /[^\s\x85\p{Z}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]/u;

/** Whether a text has no visible character. */
export const isBlank = (text: string | null | undefined): boolean => !text || !SEEN.test(text);

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of these bytes, with the byte order mark if there is one; null if they are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  return decodedOrNull(() => utf8.decode(bytes));
}

function decodedOrNull(decode: () => string): string | null {
  try {
    return decode();
  } catch {
    return null;
  }
}

export const ENCODINGS = ['utf-8', 'latin1', 'utf-16'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** Stands for bytes that are not in the encoding. No text that was decoded holds half of a surrogate pair. */
export const UNDECODED = '\uDC80';

const LINE_FEED = 0x0a;

/** The text of a stream in chunks, with UNDECODED for what is not in the encoding. */
export async function* decodeChunks(chunks: AsyncIterable<Uint8Array>, encoding: Encoding): AsyncGenerator<string> {
  if (encoding === 'utf-8') yield* decodeUtf8Chunks(chunks);
  else {
    let decoder: InstanceType<typeof TextDecoder> | undefined;
    for await (const chunk of chunks) {
      const isBigEndian = chunk[0] === 0xfe && chunk[1] === 0xff;
      // `latin1` is windows-1252, as everywhere on the web.
      decoder ??= new TextDecoder(encoding === 'latin1' ? 'latin1' : isBigEndian ? 'utf-16be' : 'utf-16le', {
        fatal: true,
      });
      const text = decodedOrNull(() => decoder!.decode(chunk, { stream: true }));
      yield text ?? UNDECODED;
      // Where a character ends is not known any more.
      if (text === null) return;
    }
    if (decoder) yield decodedOrNull(() => decoder!.decode()) ?? UNDECODED;
  }
}

/** As its byte order mark says, UTF-16 or UTF-8; UTF-8 without one. Bytes that are not in that encoding become UNDECODED. */
export async function* decodeByMark(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const iterator = chunks[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done) return;
  const [a, b] = first.value;
  async function* whole() {
    yield first.value as Uint8Array;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  }
  yield* decodeChunks(whole(), (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff) ? 'utf-16' : 'utf-8');
}

/** The same text with \n for every end of a line, be it that of Windows or of old Macs. */
export async function* withPlainLineEnds(chunks: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  let isHeld = false;
  for await (const chunk of chunks) {
    const text: string = isHeld ? `\r${chunk}` : chunk;
    isHeld = text.endsWith('\r');
    // The other half of the end may stand in the next chunk.
    const whole = isHeld ? text.slice(0, -1) : text;
    yield whole.includes('\r') ? whole.replace(/\r\n?/g, '\n') : whole;
  }
  if (isHeld) yield '\n';
}

async function* decodeUtf8Chunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let rest = new Uint8Array();
  for await (const chunk of chunks) {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    const end = bytes.length - unfinished(bytes);
    yield decodeOrMark(bytes.subarray(0, end));
    rest = bytes.slice(end);
  }
  if (rest.length > 0) yield decodeOrMark(rest);
}

/** How many bytes at the end begin a character that goes on. */
function unfinished(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0;
  }
  return 0;
}

/** Only the lines that are not UTF-8 are marked. */
function decodeOrMark(bytes: Uint8Array): string {
  const text = decodeUtf8(bytes);
  if (text !== null) return text;
  const parts: string[] = [];
  for (let start = 0; start < bytes.length; ) {
    const feed = bytes.indexOf(LINE_FEED, start);
    const end = feed < 0 ? bytes.length : feed + 1;
    const line = bytes.subarray(start, end);
    parts.push(decodeUtf8(line) ?? Buffer.from(line).toString('utf8').replaceAll('\uFFFD', UNDECODED));
    start = end;
  }
  return parts.join('');
}

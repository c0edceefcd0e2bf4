// The parts of PostgreSQL's wire protocol (version 3) that a proxy between psql and the embedded engine needs.

const SSL_REQUEST = 80877103;
const GSS_REQUEST = 80877104;
const CANCEL_REQUEST = 80877102;
const MAX_STARTUP_BYTES = 10_000;
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

export interface WireMessage {
  type: string;
  bytes: Buffer;
}

export class WireError extends Error {}

/** A message: type, length, body. */
export function message(type: string, ...parts: (string | number | Buffer)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => {
      if (Buffer.isBuffer(part)) return part;
      if (typeof part === 'string') return Buffer.from(`${part}\0`);
      const number = Buffer.alloc(4);
      number.writeInt32BE(part);
      return number;
    }),
  );
  const head = Buffer.alloc(5, type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

export const errorMessage = (severity: string, sqlstate: string, text: string) =>
  message('E', `S${severity}`, `V${severity}`, `C${sqlstate}`, `M${text}`, Buffer.alloc(1));

/** The answer to a startup message: authentication is complete, the parameters, ready for queries. */
export const greeting = (parameters: Record<string, string>) =>
  Buffer.concat([
    message('R', 0),
    ...Object.entries(parameters).map(([name, value]) => message('S', name, value)),
    message('K', 0, 0),
    message('Z', Buffer.from('I')),
  ]);

/** The first `count` texts in the body of a message, after `skip` bytes. */
export function texts(bytes: Buffer, count: number, skip = 0): string[] {
  const found: string[] = [];
  let from = 5 + skip;
  while (found.length < count) {
    const end = bytes.indexOf(0, from);
    if (end === -1) throw new WireError('a text is not terminated');
    found.push(bytes.toString('utf8', from, end));
    from = end + 1;
  }
  return found;
}

/** The role that a client asks for in its startup message, as `options=-c role=…` in its URL or in PGOPTIONS does. */
export function roleOf(startup: Buffer): string | null {
  const given = startup.toString('utf8', 8).split('\0');
  const options = given.findIndex((name, place) => place % 2 === 0 && name === 'options');
  return options < 0 ? null : (/(?:^|\s)-c\s*role=([a-z0-9_]+)(?=\s|$)/.exec(given[options + 1] ?? '')?.[1] ?? null);
}

/** Splits a client's bytes into messages. The first ones have no type byte and are named after their request. */
export function messageReader() {
  let rest: Buffer[] = [];
  let size = 0;
  let wanted = 8;
  let hasStarted = false;

  const cut = (bytes: Buffer, length: number): Buffer => {
    const one = bytes.subarray(0, length);
    rest = [bytes.subarray(length)];
    size -= length;
    return one;
  };

  return function* read(chunk: Buffer): Generator<WireMessage> {
    rest.push(chunk);
    size += chunk.length;
    wanted = Math.max(wanted, hasStarted ? 5 : 8);
    // A long message arrives in many chunks, which are joined once it is complete.
    while (size >= wanted) {
      const bytes = rest.length === 1 ? rest[0]! : Buffer.concat(rest);
      rest = [bytes];
      const length = hasStarted ? bytes.readInt32BE(1) + 1 : bytes.readInt32BE(0);
      if (length < (hasStarted ? 5 : 8) || length > (hasStarted ? MAX_MESSAGE_BYTES : MAX_STARTUP_BYTES)) {
        throw new WireError('a message has an invalid length');
      }
      wanted = length;
      if (size < length) return;
      const one = cut(bytes, length);
      if (hasStarted) {
        wanted = 5;
        yield { type: String.fromCharCode(one[0]!), bytes: one };
      } else {
        const code = one.readInt32BE(4);
        if (code === CANCEL_REQUEST) yield { type: 'cancel', bytes: one };
        else if (code === SSL_REQUEST || code === GSS_REQUEST) yield { type: 'encrypt', bytes: one };
        else if (code >> 16 === 3) {
          hasStarted = true;
          yield { type: 'startup', bytes: one };
        } else throw new WireError('unknown protocol version');
        wanted = hasStarted ? 5 : 8;
      }
    }
  };
}

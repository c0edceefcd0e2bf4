// A ZIP archive as bytes, as other programs write it.
import { crc32, deflateRawSync } from 'node:zlib';

const DEFLATED = 8;

/** The fields that the header of a file and its entry in the directory have in common. */
function common(bytes: Buffer, packed: Buffer, name: string): Buffer {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(20, 0);
  fields.writeUInt16LE(DEFLATED, 4);
  fields.writeUInt32LE(crc32(bytes), 10);
  fields.writeUInt32LE(packed.length, 14);
  fields.writeUInt32LE(bytes.length, 18);
  fields.writeUInt16LE(Buffer.byteLength(name), 22);
  return fields;
}

export function zip(files: Record<string, string>): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const packed = deflateRawSync(text);
    const fields = common(Buffer.from(text), packed, name);
    const part = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name), packed]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\x00'), fields, place, Buffer.from(name));
    parts.push(part);
    offset += part.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(Object.keys(files).length, 4);
  end.writeUInt16LE(Object.keys(files).length, 6);
  end.writeUInt32LE(entries.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, entries, Buffer.from('PK\x05\x06'), end]);
}

// The ZIP archives in which ChatGPT, Claude and Hindsight hand out what they know: which of their files are imported, and their bytes.
import { closeSync } from 'node:fs';
import { type Entry, fromFdPromise, type ZipFile } from 'yauzl';
import { openFile, UnreadableFile } from '../../input/files.ts';
import { beginningOf } from '../exports/read.ts';
import type { FormatName } from './format.ts';

/** A file that is imported: one that is given, or one that lies in an archive. */
export interface Part {
  name: string;
  bytes: AsyncIterable<Buffer>;
  /** The format, where the kind of the archive tells it. */
  from?: FormatName | undefined;
}

const KINDS: readonly { files: RegExp; from?: FormatName }[] = [
  // ChatGPT divides a long history.
  { files: /(^|\/)conversations(-\d+)?\.json$/ },
  { files: /^(documents\/\d+|observations)\.json$/, from: 'hindsight' },
];

const UNPACK = 'unpack it, and name the files in it';

export const isZip = async (file: string): Promise<boolean> =>
  (await beginningOf(file))?.subarray(0, 4).toString('latin1') === 'PK\x03\x04';

/** Calls `use` with the parts of an archive, which it reads one after the other, and with how many bytes they are. */
export async function withParts(file: string, use: (parts: AsyncIterable<Part>, size: number) => Promise<void>) {
  const { descriptor } = openFile(file);
  try {
    const [archive, entries] = await open(file, descriptor);
    const kind = KINDS.find(({ files }) => entries.some(({ fileName }) => files.test(fileName)));
    if (!kind) throw new UnreadableFile(file, `this archive is no export of ChatGPT, Claude or Hindsight: ${UNPACK}`);
    const taken = entries
      .filter(({ fileName }) => kind.files.test(fileName))
      .sort((a, b) => (a.fileName < b.fileName ? -1 : 1));
    async function* parts(): AsyncGenerator<Part> {
      for (const entry of taken)
        yield { name: `${file}/${entry.fileName}`, bytes: bytesOf(file, archive, entry), from: kind!.from };
    }
    await use(
      parts(),
      taken.reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0),
    );
  } finally {
    closeSync(descriptor);
  }
}

async function open(file: string, descriptor: number): Promise<[ZipFile, Entry[]]> {
  try {
    const archive = await fromFdPromise(descriptor, { autoClose: false, lazyEntries: true });
    const entries: Entry[] = [];
    for await (const entry of archive.eachEntry()) entries.push(entry);
    return [archive, entries];
  } catch (error) {
    throw unreadable(file, error);
  }
}

async function* bytesOf(file: string, archive: ZipFile, entry: Entry): AsyncGenerator<Buffer> {
  try {
    yield* (await archive.openReadStreamPromise(entry)) as AsyncIterable<Buffer>;
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** The texts of the library name nothing that a person can do. */
const unreadable = (file: string, error: unknown) =>
  new UnreadableFile(
    file,
    /encrypted/.test(String(error)) ? `this archive is encrypted: ${UNPACK}` : 'this archive is damaged',
  );

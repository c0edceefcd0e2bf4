// The formats of files that can be imported. Each has a module of its own, which turns its contents into fields of save_memory.
export const FORMATS = ['memories', 'mem0', 'chatgpt', 'session', 'server-memory', 'csv'] as const;
export type FormatName = (typeof FORMATS)[number];

/** One memory to save, with the line of the file where it begins; of the record of a session, the number of the message. */
export type ImportItem = { line: number } & ({ fields: Record<string, unknown> } | { problem: string });

export interface ImportFormat {
  name: FormatName;
  /** Whether a file is in this format, by its name and its first object (null: it begins with none) or the text that it begins with. */
  recognises(file: { name: string; first: Record<string, unknown> | null; head: string }): boolean;
  /** The times stand in `timestamp` as they are given: all formats have them read by the same function. */
  read(chunks: AsyncIterable<string>, name: string): AsyncIterable<ImportItem>;
}

// The formats of files that can be imported. Each has a module of its own, which turns its contents into fields of save_memory.
export const FORMATS = [
  'memories',
  'mem0',
  'chatgpt',
  'claude',
  'hindsight',
  'session',
  'server-memory',
  'csv',
  'markdown',
] as const;
export type FormatName = (typeof FORMATS)[number];

/**
 * One memory to save, with the line of the file where it begins; of the record of a session, the number of the message. `part` is
 * the share that is reached with it of what one document holds, such as a conversation; it is 1 for the last or only memory.
 */
export type ImportItem = { line: number; part?: number } & (
  | { fields: Record<string, unknown>; notices?: string[] }
  | { problem: string }
);

export interface ImportFormat {
  name: FormatName;
  /** Whether a file is in this format, by its name and its first object (null: it begins with none) or the text that it begins with. */
  recognises(file: { name: string; first: Record<string, unknown> | null; head: string }): boolean;
  /** The times stand in `timestamp` as they are given: all formats have them read by the same function. */
  read(chunks: AsyncIterable<string>, name: string): AsyncIterable<ImportItem>;
}

import type { Facts } from './facts.ts';
import type { Chunks } from './file.ts';

/** What a backup is made of, by either engine. */
export interface Source {
  /** What was backed up, for a person. */
  name: string;
  facts: Facts;
  database: Chunks;
  /** Gives back what was needed to read it. */
  close(): Promise<void>;
}

/** What a restore found, line by line. */
export type Say = (line: string) => void;

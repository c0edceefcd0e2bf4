// What a caller can do: an operation is one SQL function, as an MCP tool and, mostly, a GraphQL field.
import type pg from 'pg';
import type { z } from 'zod';

/** A vector of the model that serves, or null when no embedder can be reached. */
export type Embed = (text: string) => Promise<{ vector: number[]; model: string } | null>;

export interface Embedding {
  /** Throws L9VAL where the embedder refuses the text. */
  query: Embed;
  /** Null also where it takes too long: a save does not wait for it. */
  content: Embed;
}

export interface Operation<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType> {
  /** The MCP tool, and (in camel case) the GraphQL field. */
  name: string;
  graphqlName: string;
  title: string;
  description: string;
  input: Input;
  output: Output;
  isReadOnly: boolean;
  isDestructive: boolean;
  isIdempotent: boolean;
  /** What a refusal is recorded as in audit_log. */
  audit: 'INSERT' | 'READ' | 'SEARCH' | 'UPDATE' | 'DELETE' | 'STATS' | 'CLEANUP';
  /** Whether something may now be waiting for its vectors. */
  enqueuesEmbeddings: boolean;
  /** What has to be had before a transaction is opened. */
  prepare?: (input: z.output<Input>, embedding: Embedding) => Promise<unknown>;
  /** Whether what was prepared had been overtaken: by a change of the embedding model, say. */
  isOvertaken?: (prepared: unknown, result: { output: z.output<Output> } | { error: unknown }) => boolean;
  /** Asks one query, at once, before it waits for anything: commit goes out right behind it. */
  run: (client: pg.ClientBase, input: z.output<Input>, prepared: unknown) => Promise<z.output<Output>>;
  /** What the answer holds besides, found out once all is committed; null where it holds it already. */
  complete?: (output: z.output<Output>) => Completion<z.output<Output>> | null;
  /** What happened, in one line for people. */
  summarize: (output: z.output<Output>) => string;
}

export interface Completion<Output = unknown> {
  prepare: (embedding: Embedding) => Promise<unknown>;
  run: (client: pg.ClientBase, prepared: unknown) => Promise<Output>;
}

export const define = <Input extends z.ZodType, Output extends z.ZodType>(operation: Operation<Input, Output>) =>
  operation as unknown as Operation;

/** Calls `name(parameter => value, …)` with the values that are given, under their own names. */
export async function call<Row>(
  client: pg.ClientBase,
  select: string,
  name: string,
  input: Record<string, unknown>,
): Promise<Row> {
  const given = Object.entries(input).filter(([, value]) => value !== null && value !== undefined);
  const values = given.map(([, value]) => (isPlainObject(value) ? JSON.stringify(value) : value));
  const parameters = given.map(([parameter], index) => `"${parameter}" => $${index + 1}`);
  const { rows } = await client.query(`select ${select} from public.${name}(${parameters.join(', ')}) as r`, values);
  return rows[0] as Row;
}

const isPlainObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

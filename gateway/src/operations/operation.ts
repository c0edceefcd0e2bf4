// An operation is something a caller can do: one SQL function, offered as an MCP tool and as a GraphQL field.
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { z } from 'zod';
import type { Archive } from '../archive/archive.ts';
import type { Query } from '../archive/stores/index.ts';
import { KnownError } from '../base/errors.ts';
import { queryPrepared } from '../database/index.ts';
import type { TextVector } from '../embeddings/index.ts';
import { isObject } from './read-input.ts';
import type { Reader } from './standing.ts';

export interface EmbeddedText {
  /** Null: the model knows no piece of the text. */
  vector: TextVector;
  model: string;
}

/** Embeds texts for the operations of one caller, or returns null when the provider can't be reached. */
export interface Embedding {
  /**
   * The vector of a query without the words that most memories of the project have, as far as the caller can read them.
   * Throws L9VAL when the provider rejects the text.
   */
  query(text: string, projectId: string | null | undefined): Promise<EmbeddedText | null>;
  /** Resolves once the caller's last saves can be found by meaning, or when that takes too long. query() waits for that itself. */
  ownSaves(): Promise<void>;
  /** Also returns null when it takes too long. */
  content(text: string): Promise<EmbeddedText | null>;
}

/** The services for an operation of several steps, some of them outside the database. */
export interface Services {
  archive: Archive;
  query: Query;
}

/** The sets that the tools of MCP are listed by, and that a key can be cut down to. identity.tool_sets() names the same. */
export const toolSets = ['core', 'knowledge', 'archive', 'review', 'admin'] as const;
export type ToolSet = (typeof toolSets)[number];

/** A key that is cut down to some sets calls nothing else, on any API. Throws L9SCP. */
export function requireToolSet(allowed: readonly string[] | null, { name, toolSet }: AnyOperation): void {
  if (allowed === null || allowed.includes(toolSet)) return;
  const sets = allowed.join(', ');
  throw new KnownError('L9SCP', `${name}: this key is limited to the tools of ${sets}, which it does not belong to`);
}

type AuditedAs =
  | ('INSERT' | 'READ' | 'SEARCH' | 'UPDATE' | 'DELETE' | 'STATS' | 'CLEANUP' | 'ARCHIVE' | 'RETRIEVE')
  | ('APPROVE' | 'REJECT' | 'MERGE');

/** The untyped part of an operation, all that MCP and GraphQL need to offer it. */
interface Described {
  /** The MCP tool, and in camel case the GraphQL field. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** core: what an agent needs in every session, listed by default. Models read the list again and again. */
  readonly toolSet: ToolSet;
  /** The SQL function behind it, hidden from GraphQL. */
  readonly sqlFunction: string;
  readonly isReadOnly: boolean;
  readonly isDestructive: boolean;
  readonly isIdempotent: boolean;
  /** Whether a call with these arguments may be sent again though its answer was lost. */
  isRepeatable(input: Record<string, unknown>): boolean;
  /** The operation in audit_log when the call fails. */
  readonly audit: AuditedAs;
  /** Whether a call may be larger than 2 MiB. */
  readonly takesLargeInput: boolean;
  /** Whether a memory may be waiting for its vectors afterwards. */
  readonly enqueuesEmbeddings: boolean;
  readonly graphql: GraphqlHints;
  /**
   * What the project of the client's working copy does where a call names none, and its branch where the operation takes
   * one: they narrow what is read, or what is written belongs to them, which the database decides. Null: nothing.
   */
  inferredProject(input: Record<string, unknown>): 'narrows' | 'owns' | null;
}

export interface GraphqlHints {
  /** Queries: return the value of this key of the output, instead of the whole output. */
  unwrap?: string;
  /** Mutations: put the whole output into this field of the payload, instead of each of its keys. */
  wrap?: string;
}

interface Behaviour<Input extends z.ZodType, Output extends z.ZodType, Prepared> {
  readonly input: Input;
  readonly output: Output;
  /**
   * Takes out of the input what cannot be stored exactly as it is, where that is an error of a part of the call, or is replaced. All
   * else of this sort is refused with the whole call.
   */
  setAside?(input: unknown): unknown;
  /** Runs before the transaction is opened, for example to embed a text; again before each retry. */
  prepare?(input: z.output<Input>, embedding: Embedding, retry: Retry | null): Promise<Prepared | null>;
  /** Does the whole operation in several transactions, instead of `prepare` and `run`. */
  perform?(input: z.output<Input>, services: Services): Promise<z.output<Output>>;
  /** Sends one query, without waiting for anything first: the commit is pipelined behind it. */
  run(
    client: pg.ClientBase,
    input: z.output<Input>,
    prepared: Prepared | null,
    retries: readonly Retry[],
  ): Promise<z.output<Output>>;
  /** The same for callers that read nothing of the row in the output but its columns. Without it they get all. */
  runForColumns?(client: pg.ClientBase, input: z.output<Input>): Promise<Columns<z.output<Output>>>;
  /** Why the database did nothing yet and is to be called again. Each reason that `run` was offered comes once at most. */
  retry?(output: z.output<Output>): Retry | null;
  /** Whether an answer holds texts of memories that the caller has not just sent itself. Without it: no answer does. */
  recalls?(output: z.output<Output>): boolean;
  /** Finds out the rest of the output in a transaction of its own, after the commit. */
  readonly completion?: Completion<z.output<Output>, Prepared>;
  /** The answer as text: what a model sees. */
  summarize(output: z.output<Output>, reader: Reader): string;
}

/** What a caller reads of an output: all, or nothing of the row in it but its columns. */
export type Wanted = 'all' | 'columns';

/** An output that is one row. What is computed about that row may be missing. */
export type Columns<Output> = { [Key in keyof Output]: Partial<Output[Key]> };

/** The query needs a vector, or one of the model that serves now. */
export const RETRIES = ['vector', 'model'] as const;
export type Retry = (typeof RETRIES)[number];

/** How the SQL functions that search say so. */
export const retryOf = ({ searched }: { searched: object }): Retry | null =>
  RETRIES.find((reason) => 'retry' in searched && searched.retry === reason) ?? null;

export interface Completion<Output, Prepared> {
  /** The keys of the output that it fills in. GraphQL runs it only where one of them is selected. */
  keys: readonly (keyof Output & string)[];
  isNeeded(output: Output): boolean;
  prepare(output: Output, embedding: Embedding): Promise<Prepared | null>;
  run(client: pg.ClientBase, output: Output, prepared: Prepared | null): Promise<Output>;
}

export type Operation<Input extends z.ZodType, Output extends z.ZodType, Prepared> = Described &
  Behaviour<Input, Output, Prepared> &
  Pick<AnyOperation, 'visit'>;

/** An operation of unknown types, as in the list of all of them. `visit` gives the types back. */
export interface AnyOperation extends Described {
  readonly input: z.ZodType;
  readonly output: z.ZodType;
  readonly completion?: { readonly keys: readonly string[] };
  readonly recalls?: unknown;
  visit<Answer>(
    visitor: <Input extends z.ZodType, Output extends z.ZodType, Prepared>(
      operation: Operation<Input, Output, Prepared>,
    ) => Answer,
  ): Answer;
}

type Definition<Input extends z.ZodType, Output extends z.ZodType, Prepared> = Pick<
  Described,
  'name' | 'title' | 'description' | 'toolSet'
> &
  Partial<Described> &
  Behaviour<Input, Output, Prepared>;

export function defineOperation<Input extends z.ZodType, Output extends z.ZodType, Prepared = never>(
  definition: Definition<Input, Output, Prepared>,
): Operation<Input, Output, Prepared> {
  const isReadOnly = definition.isReadOnly ?? false;
  const isIdempotent = definition.isIdempotent ?? isReadOnly;
  const operation: Operation<Input, Output, Prepared> = {
    sqlFunction: definition.name,
    isReadOnly,
    isDestructive: false,
    isIdempotent,
    isRepeatable: () => isIdempotent,
    audit: isReadOnly ? 'READ' : 'INSERT',
    takesLargeInput: false,
    enqueuesEmbeddings: !isReadOnly,
    graphql: {},
    inferredProject: () => null,
    ...definition,
    visit: (visitor) => visitor(operation),
  };
  return operation;
}

type Performed<Input extends z.ZodType, Output extends z.ZodType> = Omit<
  Definition<Input, Output, never>,
  'run' | 'prepare' | 'perform'
> &
  Required<Pick<Behaviour<Input, Output, never>, 'perform'>>;

/** An operation of several transactions. */
export const defineLongOperation = <Input extends z.ZodType, Output extends z.ZodType>(
  definition: Performed<Input, Output>,
): Operation<Input, Output, never> =>
  defineOperation<Input, Output, never>({
    ...definition,
    run: () => Promise.reject(new Error(`${definition.name} is not one query`)),
  });

/** The names of statements that callWithin() has prepared. */
const names = new LRUCache<string, string>({ max: 1_000, memoMethod: (text) => hash('sha256', text, 'base64url') });

/** Runs the statement that `statementOf` makes around the call `public.name(parameter => value, …)` with the values that are present. */
export async function callWithin<Row>(
  client: pg.ClientBase,
  statementOf: (call: string) => string,
  name: string,
  input: Record<string, unknown>,
): Promise<Row> {
  const present = Object.entries(input).filter(([, value]) => value !== null && value !== undefined);
  const values = present.map(([, value]) =>
    isObject(value) && !Buffer.isBuffer(value) ? JSON.stringify(value) : value,
  );
  const parameters = present.map(([parameter], index) => `"${parameter}" => $${index + 1}`);
  const text = statementOf(`public.${name}(${parameters.join(', ')})`);
  const { rows } = await queryPrepared(client, { name: names.memo(text), text, values });
  return rows[0] as Row;
}

/** Selects this of the row `r` that the function returns. */
export const call = <Row>(client: pg.ClientBase, select: string, name: string, input: Record<string, unknown>) =>
  callWithin<Row>(client, (called) => `select ${select} from ${called} as r`, name, input);

/** The whole row that the function returns. */
export const callForRow = async <Row>(client: pg.ClientBase, name: string, input: Record<string, unknown>) =>
  (await call<{ row: Row }>(client, 'to_jsonb(r) as row', name, input)).row;

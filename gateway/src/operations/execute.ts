// The one road that every call of an operation takes, whether it came by MCP or GraphQL.
import type pg from 'pg';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { Archive } from '../archive/archive.ts';
import type { Query } from '../archive/stores/index.ts';
import type { Refusal, Refusals } from '../audit/refusals.ts';
import { type Identity, toSettings } from '../auth/identity.ts';
import {
  type CurrentMemory,
  changedIdOf,
  KnownError,
  type PublicError,
  sqlstateOf,
  toPublicError,
} from '../base/errors.ts';
import { currentRequestId } from '../base/logger.ts';
import { inSpan, type Span, type SpanOptions } from '../base/tracing.ts';
import { type Database, inOneTrip, readInOneTrip, retryDeadlocks, type Settings } from '../database/index.ts';
import { isPlainName, shownPath } from '../input/echo.ts';
import { type CallReport, type CallReporting, createCallReporter, reportOf } from './call-report.ts';
import type { EmbeddingFor } from './embedding-policy.ts';
import { fillInProject, type Inferred, inferredIn } from './inferred-project.ts';
import { type AnyOperation, type Embedding, type Operation, RETRIES, type Retry, type Wanted } from './operation.ts';
import { type OwnSaves, savedIn } from './own-saves.ts';
import { readInput } from './read-input.ts';
import { createReaders } from './readers.ts';
import { RECALLED } from './recalled.ts';
import { checkStorable } from './storable.ts';

/** How long a save may wait for the list of similar memories. */
const COMPLETE_WITHIN_MS = 500;

export interface Answer {
  output: unknown;
  /** The answer as text: what a model sees. */
  summary: string;
}

export type Outcome =
  | {
      output: unknown;
      /** Finds out the rest of the output, once; by words alone, or also by meaning, which waits for a vector. */
      complete: (how: { byMeaning: boolean }) => Promise<Answer>;
      /** What the call left out and the client's working copy decided. */
      inferred: Inferred | null;
      error: null;
    }
  | { output: null; error: PublicError };

export type ExecuteOperation = (
  operation: AnyOperation,
  identity: Identity,
  toolName: string,
  input: unknown,
  /** All unless given. */
  wanted?: Wanted,
) => Promise<Outcome>;

export interface ExecutorDependencies extends CallReporting {
  database: Database;
  refusals: Pick<Refusals, 'record'>;
  archive: Archive;
  logger: Logger;
  embeddingFor: EmbeddingFor;
  /** Reads again which embedding model serves. */
  refreshModels: () => Promise<void>;
  ownSaves: Pick<OwnSaves, 'note'>;
  /** Called when memories may be waiting for their vectors, with the number of those that were just saved. */
  onEnqueued: (saved: number) => void;
}

export function createExecutor(dependencies: ExecutorDependencies): ExecuteOperation {
  const { database, refusals, archive, logger, embeddingFor, refreshModels, ownSaves, onEnqueued, metrics } =
    dependencies;
  const reportCall = createCallReporter(dependencies);
  const readerOf = createReaders(database.pool);

  /** Each statement in a transaction of its own. */
  const queryAs =
    (settings: Settings, timed: Timed): Query =>
    async <Row extends object>(text: string, values: unknown[], durability?: { mayBeLost: boolean }) => {
      const durable = durability?.mayBeLost ? { ...settings, synchronous_commit: 'off' } : settings;
      const { rows } = await retryDeadlocks(() =>
        inOneTrip(database.pool, durable, 'write', (client) => timed(() => client.query<Row>(text, values))),
      );
      return rows;
    };

  async function run<Input extends z.ZodType, Output extends z.ZodType, Prepared>(
    operation: Operation<Input, Output, Prepared>,
    settings: Settings,
    embedding: Embedding,
    rawInput: unknown,
    wanted: Wanted,
    timed: Timed,
  ): Promise<z.output<Output>> {
    const input = parseInput(operation.input, operation.setAside?.(rawInput) ?? rawInput);
    if (operation.perform) return operation.perform(input, { archive, query: queryAs(settings, timed) });
    const trip = <T>(work: (client: pg.ClientBase) => Promise<T>) =>
      operation.isReadOnly
        ? readInOneTrip(database, operation.name, settings, work)
        : inOneTrip(database.pool, settings, 'write', work);
    const { runForColumns } = operation;
    if (wanted === 'columns' && runForColumns)
      // Nobody reads what is missing.
      return (await retryDeadlocks(() =>
        trip((client) => timed(() => runForColumns(client, input))),
      )) as z.output<Output>;
    let retries: readonly Retry[] = RETRIES;
    for (let retry: Retry | null = null; ; ) {
      const prepared: Prepared | null = (await operation.prepare?.(input, embedding, retry)) ?? null;
      const output: z.output<Output> = await retryDeadlocks(() =>
        trip((client): Promise<z.output<Output>> => timed(() => operation.run(client, input, prepared, retries))),
      );
      retry = operation.retry?.(output) ?? null;
      if (retry === null) return output;
      if (retry === 'model') await refreshModels();
      retries = retries.filter((reason) => reason !== retry);
    }
  }

  async function complete<Input extends z.ZodType, Output extends z.ZodType, Prepared>(
    operation: Operation<Input, Output, Prepared>,
    settings: Settings,
    embedding: Embedding | null,
    output: z.output<Output>,
    loggerOfCall: () => Logger,
  ) {
    const { completion } = operation;
    if (!completion?.isNeeded(output)) return output;
    const limited = { ...settings, statement_timeout: `${COMPLETE_WITHIN_MS}ms`, synchronous_commit: 'off' };
    try {
      const prepared = embedding && (await completion.prepare(output, embedding));
      return await inOneTrip(database.pool, limited, 'read', (client) => completion.run(client, output, prepared));
    } catch (error) {
      loggerOfCall().info({ sqlstate: sqlstateOf(error) }, 'similar-memory lookup failed; answered without it');
      return output;
    }
  }

  async function audit(identity: Identity, toolName: string, refusal: Refusal, error: PublicError) {
    await refusals
      .record(identity, toolName, refusal, error)
      .catch((failure: unknown) =>
        logger.error({ sqlstate: sqlstateOf(failure), tool: toolName }, 'could not audit a refused call'),
      );
  }

  /** What is there now, where a write expected another version. */
  async function currentOf(packetId: string | null, settings: Settings): Promise<Pick<PublicError, 'current'>> {
    if (packetId === null) return {};
    try {
      const { rows } = await inOneTrip(database.pool, settings, 'write', (client) =>
        client.query<{ current: CurrentMemory | null }>('select memories.present_state($1) as current', [packetId]),
      );
      return { current: rows[0]?.current ?? null };
    } catch {
      return {}; // The refusal itself says that it has changed.
    }
  }

  const executeIn = (
    span: Span | null,
    ...[listed, identity, toolName, given, wanted = 'all']: Parameters<ExecuteOperation>
  ) =>
    listed.visit(async (operation): Promise<Outcome> => {
      const givenInput = readInput(operation.input, given);
      const rawInput = fillInProject(operation, identity, givenInput);
      const loggerOfCall = () => logger.child({ request_id: currentRequestId(), tool: operation.name });
      const stopTimer = metrics.startOperation(operation.name);
      const clock = stopwatch();
      const finish = (error: PublicError | null, output: unknown) => {
        stopTimer(error?.code ?? 'ok');
        const report = error ? null : reportOf(output);
        tell(span, error, report);
        reportCall({ operation, identity, input: givenInput, error, report, sqlMs: clock.milliseconds() });
      };
      const acting = { ...identity, toolSet: operation.toolSet };
      const settings = toSettings(acting, toolName);
      const embedding = embeddingFor(acting, toolName);
      try {
        // A read writes only its audit row. Losing the last few in a power cut is better than a disk flush for each search.
        const durability: Settings = operation.isReadOnly ? { ...settings, synchronous_commit: 'off' } : settings;
        const output = await run(operation, durability, embedding, rawInput, wanted, clock.timed);
        if (operation.enqueuesEmbeddings) {
          const saved = savedIn(output);
          ownSaves.note(identity, saved);
          onEnqueued(saved.length);
        }
        finish(null, output);
        let answer: Promise<Answer> | undefined;
        return {
          output,
          complete: ({ byMeaning }) => {
            answer ??= complete(operation, settings, byMeaning ? embedding : null, output, loggerOfCall).then(
              async (whole) => ({
                output: whole,
                summary: `${operation.recalls?.(whole) ? `${RECALLED}\n` : ''}${operation.summarize(whole, await readerOf(identity, settings))}`,
              }),
            );
            return answer;
          },
          inferred: inferredIn(operation, identity, givenInput, output),
          error: null,
        };
      } catch (cause) {
        const error = { ...toPublicError(cause, loggerOfCall()), ...(await currentOf(changedIdOf(cause), settings)) };
        await audit(identity, toolName, refusalOf(operation, rawInput), error);
        finish(error, null);
        return { output: null, error };
      }
    });
  return (...call) => inSpan(spanOf(call[0]), (span) => executeIn(span, ...call));
}

const spanOf = ({ name, isReadOnly }: AnyOperation): SpanOptions => ({
  name: `operation ${name}`,
  kind: 'internal',
  attributes: { 'l9.operation': name, 'l9.read_only': isReadOnly },
});

/** Codes and numbers, as the log has them. */
function tell(span: Span | null, error: PublicError | null, report: CallReport | null): void {
  if (error) {
    span?.set({ 'l9.sqlstate': error.sqlstate });
    span?.fail(error.code);
  }
  const counts = Object.entries(report?.counts ?? {}).map(([part, count]) => [`l9.${part}`, count]);
  span?.set({ 'l9.route': report?.route ?? undefined, ...Object.fromEntries(counts) });
}

type Timed = <T>(work: () => Promise<T>) => Promise<T>;

/** Adds up how long queries take, once they have a connection. */
function stopwatch(): { timed: Timed; milliseconds(): number } {
  let total = 0;
  return {
    async timed(work) {
      const start = performance.now();
      try {
        return await work();
      } finally {
        total += performance.now() - start;
      }
    },
    milliseconds: () => total,
  };
}

function parseInput<Input extends z.ZodType>(schema: Input, rawInput: unknown): z.output<Input> {
  checkStorable(rawInput);
  const parsed = schema.safeParse(rawInput ?? {});
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  if (issue?.code === 'unrecognized_keys') {
    const name = issue.keys[0] ?? '';
    throw isPlainName(name)
      ? new KnownError('L9VAL', `${name}: not a field of this operation`, name)
      : new KnownError('L9VAL', 'input: has a name that is not a field of this operation');
  }
  const field = issue && shownPath(issue.path);
  throw new KnownError('L9VAL', `${field || 'input'}: ${issue?.message}`, field || null);
}

const text = (value: unknown) => (typeof value === 'string' ? value : null);
const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** What the audit row of a failed call can say about its input, which may be malformed. */
function refusalOf(operation: AnyOperation, rawInput: unknown): Refusal {
  const input = (typeof rawInput === 'object' && rawInput !== null ? rawInput : {}) as Record<string, unknown>;
  const packetId = text(input.packet_id);
  return {
    operation: operation.audit,
    packetId: packetId && UUID.test(packetId) ? packetId : null,
    projectId: text(input.project_id) || null,
    scope: text(input.scope),
  };
}

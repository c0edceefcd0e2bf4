// Spans: what a request does, and how long each part of it takes. They hold names, numbers and codes, never a text of a memory, query or
// statement. Outside of a traced request or job each function here only does the work; base/opentelemetry.ts makes the tracer.
import { AsyncLocalStorage } from 'node:async_hooks';
import { sqlstateOf } from './errors.ts';

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Span {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  set(attributes: Attributes): void;
  /** Marks it as failed, with a code and without a text. */
  fail(code: string): void;
  end(): void;
}

export interface SpanOptions {
  name: string;
  kind: 'server' | 'client' | 'internal';
  attributes?: Attributes;
}

export interface Tracer {
  /** `parent` is a span of this tracer, or the header `traceparent` of a request; null begins a trace. */
  start(options: SpanOptions, parent: Span | string | null): Span;
  /** Sends what was not sent yet. */
  close(): Promise<void>;
}

const current = new AsyncLocalStorage<{ tracer: Tracer; span: Span } | undefined>();

/** The id of the trace in which the caller of this function works, or null. */
export const currentTraceId = (): string | null => current.getStore()?.span.traceId ?? null;

/** Does work in whose span the spans that it starts stand. The caller ends the span. */
export const within = <T>(tracer: Tracer, span: Span, work: () => T): T => current.run({ tracer, span }, work);

/** Does work that a request sets off, but which is no part of it. */
export const outsideSpans = <T>(work: () => T): T => current.run(undefined, work);

/** What may be told of an error: its code, or else its name. */
const codeOf = (error: unknown): string => sqlstateOf(error) ?? (error instanceof Error ? error.name : 'error');

async function finished<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    span.fail(codeOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** A span below the current one, for work that reports its end itself; null where nothing is traced. */
export function startSpan(options: () => SpanOptions): Span | null {
  const store = current.getStore();
  return store ? store.tracer.start(options(), store.span) : null;
}

/** Does work in a span below the current one. */
export async function inSpan<T>(options: SpanOptions, work: (span: Span | null) => Promise<T>): Promise<T> {
  const store = current.getStore();
  if (!store) return work(null);
  const span = store.tracer.start(options, store.span);
  return within(store.tracer, span, () => finished(span, () => work(span)));
}

/** Does work in a trace of its own. */
export async function inTrace<T>(tracer: Tracer | null, options: SpanOptions, work: () => Promise<T>): Promise<T> {
  if (!tracer) return work();
  const span = tracer.start(options, null);
  return within(tracer, span, () => finished(span, work));
}

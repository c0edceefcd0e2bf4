// A chat model with answers in a JSON schema: OpenAI, or any server with the same `/chat/completions`.
import { BrokenCircuitError, ConsecutiveBreaker, circuitBreaker, handleWhen } from 'cockatiel';
import { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai';
import type { Logger } from 'pino';
import { openaiClient } from '../base/openai-client.ts';
import type { ChatConfig } from '../config/config.ts';

export interface ChatRequest {
  /** The instructions, a constant text of the gateway. */
  system: string;
  /** The data. Instructions in it are not to be followed. */
  data: string;
  /** The name and JSON schema of the answer. */
  name: string;
  schema: Record<string, unknown>;
  /** The maximum length of the answer. */
  maxTokens: number;
}

export interface Usage {
  promptTokens: number;
  completionTokens: number;
}

export interface Chat {
  model: string;
  /** The maximum number of tokens of a call. */
  mostTokens(request: ChatRequest): number;
  /** The parsed answer, not validated yet. */
  ask(request: ChatRequest, signal?: AbortSignal): Promise<{ answer: unknown; usage: Usage | null }>;
}

/** An error of a call. `usage` is null if its cost is unknown. */
export class ChatError extends Error {
  readonly usage: Usage | null;
  constructor(message: string, usage: Usage | null = { promptTokens: 0, completionTokens: 0 }) {
    super(message);
    this.usage = usage;
  }
}

/** The provider could not be reached or is busy, so a retry may succeed. */
export class ChatUnavailable extends ChatError {
  override name = 'ChatUnavailable';
}

/** The provider refuses this request. */
export class ChatRejected extends ChatError {
  override name = 'ChatRejected';
}

/** The answer does not match the schema. */
export class ChatAnswerInvalid extends ChatError {
  override name = 'ChatAnswerInvalid';
}

export interface ChatTuning {
  /** After this many consecutive failures the circuit breaker opens. */
  failuresToOpen: number;
  /** The breaker then rejects calls for this long, before a single call tests the provider. */
  halfOpenAfterMs: number;
}

const TUNING: ChatTuning = { failuresToOpen: 5, halfOpenAfterMs: 10_000 };
const MAX_BYTES_PER_ANSWER = 2 * 1024 * 1024;

export function openaiChat(config: ChatConfig, logger: Logger, tuning: Partial<ChatTuning> = {}): Chat {
  const { model, baseUrl, apiKey, timeoutMs } = config;
  const { failuresToOpen, halfOpenAfterMs } = { ...TUNING, ...tuning };
  // Each call has its own reservation of tokens, so a failed call is retried from the queue with a new one.
  const client = openaiClient({ apiKey, baseUrl, timeoutMs, maxRetries: 0, fetch: boundedFetch });
  const breaker = circuitBreaker(
    handleWhen((error) => error instanceof ChatUnavailable),
    { breaker: new ConsecutiveBreaker(failuresToOpen), halfOpenAfter: halfOpenAfterMs },
  );
  breaker.onBreak(() => logger.warn({ model, retryInMs: halfOpenAfterMs }, 'the chat model is down'));
  breaker.onReset(() => logger.info({ model }, 'the chat model is back'));

  const bodyOf = ({ system, data, name, schema, maxTokens }: ChatRequest) => ({
    model,
    messages: [
      { role: 'system' as const, content: system },
      { role: 'user' as const, content: data },
    ],
    response_format: { type: 'json_schema' as const, json_schema: { name, schema, strict: true } },
    max_completion_tokens: maxTokens,
  });

  return {
    model,
    // A token has at least one byte. The constant covers role names and separators.
    mostTokens: ({ system, data, schema, maxTokens }) =>
      [system, data, JSON.stringify(schema)].reduce((sum, text) => sum + Buffer.byteLength(text), 200) + maxTokens,
    async ask(request, signal) {
      try {
        return await breaker.execute(async () => {
          // The timeout of the client ends with the headers.
          const inTime = AbortSignal.timeout(timeoutMs);
          const either = signal ? AbortSignal.any([inTime, signal]) : inTime;
          try {
            return read(await client.chat.completions.create(bodyOf(request), { signal: either }));
          } catch (error) {
            // The model may have used tokens nevertheless.
            throw either.aborted
              ? new ChatUnavailable('the chat model did not answer in time', null)
              : translated(error, model);
          }
        });
      } catch (error) {
        if (error instanceof BrokenCircuitError)
          throw new ChatUnavailable('the chat model is down; the request was not sent');
        throw error;
      }
    },
  };
}

/** Limits the size of an answer, and follows no redirect, which would send the memory to another server. */
const boundedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: 'error' });
  if (!response.body) return response;
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body) {
    size += part.byteLength;
    if (size > MAX_BYTES_PER_ANSWER) throw new ChatAnswerInvalid('the answer of the chat model is too long', null);
    parts.push(part);
  }
  const { status, statusText, headers } = response;
  return new Response(size > 0 ? Buffer.concat(parts) : null, { status, statusText, headers });
};

interface Completion {
  choices?: Array<{ finish_reason?: unknown; message?: { content?: unknown } | null } | null> | null;
  usage?: { prompt_tokens?: unknown; completion_tokens?: unknown } | null;
}

function read(completion: Completion): { answer: unknown; usage: Usage | null } {
  const usage = usageOf(completion);
  const choice = Array.isArray(completion?.choices) ? completion.choices[0] : null;
  const text = choice?.message?.content;
  if (typeof text !== 'string') throw new ChatAnswerInvalid('the chat model gave no answer', usage);
  if (choice?.finish_reason === 'length') throw new ChatAnswerInvalid("the chat model's answer was cut off", usage);
  try {
    return { answer: JSON.parse(text), usage };
  } catch {
    throw new ChatAnswerInvalid("the chat model's answer is no JSON", usage);
  }
}

function usageOf(completion: Completion): Usage | null {
  const { prompt_tokens, completion_tokens } = completion?.usage ?? {};
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  return isCount(prompt_tokens) && isCount(completion_tokens)
    ? { promptTokens: prompt_tokens, completionTokens: completion_tokens }
    : null;
}

/** Keeps only the status, without `cause`, because a message of the provider may quote the memory or the key. */
function translated(error: unknown, model: string): ChatError {
  if (error instanceof ChatError) return error;
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (at instanceof ChatError) return at;
  if (error instanceof APIConnectionTimeoutError)
    return new ChatUnavailable('the chat model did not answer in time', null);
  if (error instanceof APIConnectionError) {
    const isUnheard = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].includes(causeCode(error) ?? '');
    return new ChatUnavailable("the chat model can't be reached", isUnheard ? undefined : null);
  }
  if (!(error instanceof APIError) || error.status === undefined) {
    return new ChatAnswerInvalid("the chat model's answer can't be read", null);
  }
  switch (error.status) {
    case 400:
    case 413:
    case 422:
      return new ChatRejected(`the chat model refused the request: HTTP ${error.status}`);
    case 401:
    case 403:
      return new ChatUnavailable(`the chat model refused CHAT_API_KEY: HTTP ${error.status}`);
    case 404:
      return new ChatUnavailable(`the provider knows no CHAT_MODEL=${model}: HTTP 404`);
    default:
      return new ChatUnavailable(`the chat model failed: HTTP ${error.status}`);
  }
}

function causeCode(error: unknown): string | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && typeof at.code === 'string') return at.code;
  }
  return undefined;
}

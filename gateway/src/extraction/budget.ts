// A call of the chat model within the daily token budget of its tenant.
import type { Logger } from 'pino';
import type { WorkerPool } from '../database/index.ts';
import { type Chat, ChatAnswerInvalid, ChatError, type ChatRequest, type Usage } from './chat.ts';

/** The daily budget of the tenant is not enough for the call. */
export class BudgetSpent extends Error {
  override name = 'BudgetSpent';
}

export interface Spending {
  pool: WorkerPool;
  chat: Chat;
  logger: Logger;
  onTokens?: ((usage: Usage) => void) | undefined;
}

export interface Reservation {
  tenantId: string;
  day: string;
  tokens: number;
}

/** Reserves the maximum number of tokens of the call, or rejects with BudgetSpent. */
export async function reserve({ pool, chat }: Spending, tenantId: string, request: ChatRequest): Promise<Reservation> {
  const tokens = chat.mostTokens(request);
  const { rows } = await pool.query<{ day: string | null }>('select extraction.reserve_tokens($1, $2)::text as day', [
    tenantId,
    tokens,
  ]);
  const day = rows[0]!.day;
  if (day === null) throw new BudgetSpent('the token budget of this day is spent');
  return { tenantId, day, tokens };
}

/** Calls the model, parses the answer (`parse` returns null for an invalid one), and records the tokens used. Rejects with a ChatError. */
export async function askReserved<Answer>(
  { pool, chat, logger, onTokens }: Spending,
  { tenantId, day, tokens }: Reservation,
  request: ChatRequest,
  parse: (answer: unknown) => Answer | null,
  signal?: AbortSignal,
): Promise<Answer> {
  const settle = async (usage: Usage | null, hasFailed: boolean) => {
    if (usage) onTokens?.(usage);
    await pool
      .query('select extraction.record_token_usage($1, $2, $3, $4, $5, $6)', [
        tenantId,
        day,
        tokens,
        usage?.promptTokens ?? null,
        usage?.completionTokens ?? null,
        hasFailed,
      ])
      // If this fails the reservation remains, so the budget is kept either way.
      .catch((error: Error) => logger.warn({ name: error.name }, 'could not record token usage'));
  };
  let answered: Awaited<ReturnType<Chat['ask']>>;
  try {
    answered = await chat.ask(request, signal);
  } catch (error) {
    await settle(error instanceof ChatError ? error.usage : null, true);
    throw error;
  }
  const parsed = parse(answered.answer);
  await settle(answered.usage, parsed === null);
  if (parsed === null) {
    throw new ChatAnswerInvalid("the chat model's answer is not as the schema has it", answered.usage);
  }
  return parsed;
}

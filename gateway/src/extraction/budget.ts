// A call of the chat model within what its tenant may spend a day.
import type { Logger } from 'pino';
import type { WorkerPool } from '../database/index.ts';
import { type Chat, ChatAnswerInvalid, ChatError, type ChatRequest, type Usage } from './chat.ts';

/** The tenant's budget of the day doesn't suffice. */
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

/** Sets aside what the call can cost at most, or rejects with BudgetSpent. */
export async function reserve({ pool, chat }: Spending, tenantId: string, request: ChatRequest): Promise<Reservation> {
  const tokens = chat.mostTokens(request);
  const { rows } = await pool.query<{ day: string | null }>('select extraction.reserve_tokens($1, $2)::text as day', [
    tenantId,
    tokens,
  ]);
  const day = rows[0]!.day;
  if (day === null) throw new BudgetSpent('the tokens of this day are spent');
  return { tenantId, day, tokens };
}

/** Asks, reads the answer by `parse` (null: it is none), and counts what that did cost. Rejects with a ChatError. */
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
      // What is not settled stays reserved: the budget is kept either way.
      .catch((error: Error) => logger.warn({ name: error.name }, 'tokens could not be counted'));
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

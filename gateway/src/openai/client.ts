import OpenAI, { type ClientOptions } from 'openai';

const OFFICIAL_URL = 'https://api.openai.com/v1';

interface Provider {
  /** Null: another server, which asks for none. */
  apiKey: string | null;
  /** Null: OpenAI itself. */
  baseUrl: string | null;
  timeoutMs: number;
  maxRetries: number;
  fetch?: ClientOptions['fetch'];
}

/** A client that goes by its settings alone: it would read the environment by itself, and its log would hold bodies. */
export function openaiClient({ apiKey, baseUrl, timeoutMs, maxRetries, fetch }: Provider): OpenAI {
  return new OpenAI({
    apiKey: apiKey ?? 'none',
    baseURL: baseUrl ?? OFFICIAL_URL,
    organization: null,
    project: null,
    logLevel: 'off',
    timeout: timeoutMs,
    maxRetries,
    fetch,
  });
}

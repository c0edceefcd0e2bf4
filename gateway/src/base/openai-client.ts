import OpenAI, { type ClientOptions } from 'openai';

const OFFICIAL_URL = 'https://api.openai.com/v1';

interface Provider {
  /** Null for a server that requires no key. */
  apiKey: string | null;
  /** Null for OpenAI itself. */
  baseUrl: string | null;
  timeoutMs: number;
  maxRetries: number;
  fetch?: ClientOptions['fetch'];
}

/** A client that uses only these settings. By default it reads the environment, and can log request bodies. */
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

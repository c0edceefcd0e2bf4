// One request of MCP to the server, which answers each with one JSON message.
import { type JSONRPCRequest, type JSONRPCResponse, PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/server';
import { isObject } from '../operations/read-input.ts';

export interface Target {
  url: string;
  headers: Record<string, string>;
  /** That of the session; a request of 2026-07-28 or later names its own. */
  protocolVersion: string | undefined;
}

/** The server refused the request as a whole, with this text. */
export class RequestRefused extends Error {}

/** The parameter of a request that the header Mcp-Name repeats. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/** A value as a header can hold it: as it is, or in Base64 between marks. */
function headerValue(value: string): string {
  const isPlain = /^[\x20-\x7e]+$/.test(value) && value === value.trim() && !/^=\?base64\?.*\?=$/.test(value);
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

/** The headers that repeat what stands in a request. */
function headersOf({ method, params }: JSONRPCRequest, protocolVersion: string | undefined): Record<string, string> {
  const own = params?._meta?.[PROTOCOL_VERSION_META_KEY];
  if (typeof own !== 'string') return protocolVersion === undefined ? {} : { 'mcp-protocol-version': protocolVersion };
  const name = params?.[NAMED_BY[method] ?? ''];
  return {
    'mcp-protocol-version': own,
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': headerValue(name) }),
  };
}

/** Throws RequestRefused, or the error of fetch. */
export async function post(
  request: JSONRPCRequest,
  { url, headers, protocolVersion }: Target,
  signal: AbortSignal,
): Promise<JSONRPCResponse> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      ...headers,
      ...headersOf(request, protocolVersion),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(request),
    signal,
  });
  const text = await response.text();
  const answer = parsed(text);
  if (answer?.id === request.id && ('result' in answer || 'error' in answer))
    return answer as unknown as JSONRPCResponse;
  const reason = isObject(answer?.error) ? answer.error.message : null;
  throw new RequestRefused(
    typeof reason === 'string' ? reason : `the server refused the request: ${text.slice(0, 300)}`,
  );
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

// JSON-RPC has a code for invalid parameters. The SDK answers them as an internal error whose text is that of its validator,
// or, if they are no object, as a message that it can't parse.
import { ErrorCode, type JSONRPCErrorResponse, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { shownPath } from '../echo.ts';
import { INEXACT_NUMBER, INEXACT_REASON } from '../exact-json.ts';

type Id = JSONRPCErrorResponse['id'];

const invalid = (id: Id, message: string): JSONRPCErrorResponse => ({
  jsonrpc: '2.0',
  id,
  error: { code: ErrorCode.InvalidParams, message: `INVALID_INPUT (L9VAL): ${message}` },
});

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The answer to a body with a message whose id or parameters can't be those of a request. */
export function refusalOfParams(body: unknown): JSONRPCErrorResponse | null {
  for (const message of Array.isArray(body) ? body : [body]) {
    if (!isObject(message)) continue;
    const { id, params } = message;
    const none = null as unknown as Id;
    if (id === INEXACT_NUMBER) return invalid(none, `id: ${INEXACT_REASON}`);
    const known = typeof id === 'string' || typeof id === 'number' ? id : none;
    if (params === undefined) continue;
    if (!isObject(params)) return invalid(known, 'params: must be an object');
    if (params._meta !== undefined && !isObject(params._meta)) return invalid(known, '_meta: must be an object');
  }
  return null;
}

interface Sender {
  send(message: JSONRPCMessage, options?: unknown): Promise<void>;
}

/** The same transport, which names what is wrong with the parameters of a request. */
export function withoutSdkErrors<Transport extends Sender>(transport: Transport): Transport {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => send(withField(message), options);
  return transport;
}

function withField(message: JSONRPCMessage): JSONRPCMessage {
  if (!('error' in message) || message.error.code !== ErrorCode.InternalError) return message;
  let issues: { path: (string | number)[]; message: string }[];
  try {
    issues = JSON.parse(message.error.message);
  } catch {
    return message;
  }
  const [issue] = issues;
  if (!issue) return message;
  const field = shownPath(issue.path.filter((key) => key !== 'params'));
  return invalid(message.id!, `${field || 'params'}: ${issue.message}`);
}

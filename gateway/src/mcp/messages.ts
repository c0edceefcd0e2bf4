// Messages of JSON-RPC as clients send them. What they fill in for what they leave out goes, what they encoded twice is decoded, and a
// message that can't be a request gets the error code that the specification has for it: the SDK answers with that of its parser.
import { ErrorCode, type JSONRPCErrorResponse, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { shownPath } from '../echo.ts';
import { INEXACT_NUMBER, INEXACT_REASON } from '../exact-json.ts';
import { isObject, readInput } from '../operations/read-input.ts';

type Id = JSONRPCErrorResponse['id'];

const NO_ID = null as unknown as Id;

export const errorMessage = (id: Id, code: number, message: string): JSONRPCErrorResponse => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});

const invalid = (id: Id, message: string, code: number = ErrorCode.InvalidParams) =>
  errorMessage(id, code, `INVALID_INPUT (L9VAL): ${message}`);

const anObject = z.record(z.string(), z.unknown());

export type ReadMessage =
  | { message: JSONRPCMessage; refusal: null }
  /** The answer to what is no message, or whose id or parameters can't be those of a request. */
  | { message: null; refusal: JSONRPCErrorResponse };

export function readMessage(given: unknown): ReadMessage {
  const refuse = (refusal: JSONRPCErrorResponse) => ({ message: null, refusal });
  if (!isObject(given)) return refuse(invalid(NO_ID, 'a message must be an object', ErrorCode.InvalidRequest));
  const { id } = given;
  if (id === INEXACT_NUMBER) return refuse(invalid(NO_ID, `id: ${INEXACT_REASON}`));
  const known = typeof id === 'string' || typeof id === 'number' ? id : NO_ID;
  if (given.jsonrpc !== '2.0') return refuse(invalid(known, 'jsonrpc: must be "2.0"', ErrorCode.InvalidRequest));
  if ('id' in given && (known === NO_ID || (typeof id === 'number' && !Number.isInteger(id))))
    return refuse(invalid(NO_ID, 'id: must be a text or a whole number', ErrorCode.InvalidRequest));
  if (!('result' in given || 'error' in given) && typeof given.method !== 'string')
    return refuse(invalid(known, 'method: must be a text', ErrorCode.InvalidRequest));
  if (!('params' in given)) return { message: given as unknown as JSONRPCMessage, refusal: null };
  const params = given.params ?? {};
  if (!isObject(params)) return refuse(invalid(known, 'params: must be an object'));
  const { arguments: input, ...present } = Object.fromEntries(
    Object.entries(params).filter(([, value]) => value !== null),
  );
  if (present._meta !== undefined && !isObject(present._meta))
    return refuse(invalid(known, '_meta: must be an object'));
  const read = { ...present, ...(input !== undefined && { arguments: readInput(anObject, input) }) };
  return { message: { ...given, params: read } as unknown as JSONRPCMessage, refusal: null };
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

// Messages of JSON-RPC as clients send them. Placeholders for left-out arguments are removed, arguments that were encoded twice are decoded, and a
// message that can't be a request gets the error code that the specification has for it: the SDK answers with that of its parser.
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { shownPath } from '../input/echo.ts';
import { INEXACT_NUMBER, INEXACT_REASON } from '../input/exact-json.ts';
import { isObject, readInput } from '../operations/read-input.ts';

type Id = RequestId;

/** The id in the answer to a message without an id. */
export const NO_ID = null as unknown as Id;

export const errorMessage = (id: Id, code: number, message: string): JSONRPCErrorResponse => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});

const invalid = (id: Id, message: string, code: number = INVALID_PARAMS) =>
  errorMessage(id, code, `INVALID_INPUT (L9VAL): ${message}`);

const anObject = z.record(z.string(), z.unknown());

export type ReadMessage =
  | { message: JSONRPCMessage; refusal: null }
  /** The answer to what is no message, or whose id or parameters can't be those of a request. */
  | { message: null; refusal: JSONRPCErrorResponse };

function readMessage(given: unknown): ReadMessage {
  const refuse = (refusal: JSONRPCErrorResponse) => ({ message: null, refusal });
  if (!isObject(given)) return refuse(invalid(NO_ID, 'a message must be an object', INVALID_REQUEST));
  const { jsonrpc, id, method } = given;
  if (id === INEXACT_NUMBER) return refuse(invalid(NO_ID, `id: ${INEXACT_REASON}`));
  // The id of an answer is one of this side, so that an error with it would be taken for the answer to another request.
  const isAnswer = !('method' in given) && ('result' in given || 'error' in given);
  const isId = typeof id === 'string' || Number.isInteger(id);
  const known = isId && !isAnswer ? (id as Id) : NO_ID;
  const invalidRequest = (message: string) => refuse(invalid(known, message, INVALID_REQUEST));
  if (jsonrpc !== '2.0') return invalidRequest('jsonrpc: must be "2.0"');
  if ('id' in given && !isId) return invalidRequest('id: must be a text or a whole number');
  if (isAnswer) return checked(given, known);
  if (typeof method !== 'string') return invalidRequest('method: must be a text');
  // The protocol knows no other fields, so those that a client adds are left out.
  const message = { jsonrpc, ...(isId && { id }), method };
  if (!('params' in given)) return checked(message, known);
  const params = given.params ?? {};
  if (!isObject(params)) return refuse(invalid(known, 'params: must be an object'));
  const { arguments: input, _meta: meta, ...others } = withoutNulls(params);
  if (meta !== undefined && !isObject(meta)) return refuse(invalid(known, '_meta: must be an object'));
  const read = {
    ...others,
    ...(meta !== undefined && { _meta: withoutNulls(meta) }),
    ...(input !== undefined && { arguments: readInput(anObject, input) }),
  };
  return checked({ ...message, params: read }, known);
}

/** The messages of a body or a line, which may be a batch. */
export function readMessages(given: unknown): ReadMessage[] {
  const all: unknown[] = Array.isArray(given) ? given : [given];
  if (all.length > 0) return all.map(readMessage);
  return [{ message: null, refusal: invalid(NO_ID, 'a batch must hold a message', INVALID_REQUEST) }];
}

const withoutNulls = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** Refuses a message that the SDK would ignore, without an answer, because it does not follow the schema. */
function checked(message: object, id: Id): ReadMessage {
  try {
    parseJSONRPCMessage(message);
    return { message: message as JSONRPCMessage, refusal: null };
  } catch {
    const refusal =
      'method' in message
        ? invalid(
            id,
            '_meta: its progressToken must be a text or a whole number, and its other fields as the protocol defines them',
          )
        : invalid(id, 'an answer must have a result or an error', INVALID_REQUEST);
    return { message: null, refusal };
  }
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

/** What the SDK answers where parameters don't follow its schema: the issues as JSON, for some methods behind a few words. */
const ISSUES = /^(?:Invalid [\w/]+ request: )?(\[[\s\S]*\])$/;

function withField(message: JSONRPCMessage): JSONRPCMessage {
  if (!('error' in message) || ![INTERNAL_ERROR, INVALID_PARAMS].includes(message.error.code)) return message;
  let issues: { path: (string | number)[]; message: string }[];
  try {
    issues = JSON.parse(ISSUES.exec(message.error.message)?.[1] ?? '');
  } catch {
    return message;
  }
  const [issue] = issues;
  if (!issue) return message;
  const field = shownPath(issue.path.filter((key) => key !== 'params'));
  return invalid(message.id!, `${field || 'params'}: ${issue.message}`);
}

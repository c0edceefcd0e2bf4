// A session that store_session_to_cascade names by a path or an id is read here, on the machine of the user: the server reads no files.
import { isJSONRPCRequest, type JSONRPCMessage, type JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { findSession } from '../archive/find-session.ts';
import { readSessionFile } from '../archive/read-session.ts';
import { isFields, textOf } from '../archive/session.ts';
import { errorKinds, KnownError } from '../errors.ts';

/** The call with the session in it, or the answer to one that names none. */
export async function withLocalSession(
  message: JSONRPCMessage,
  env: NodeJS.ProcessEnv,
): Promise<{ message: JSONRPCMessage } | { answer: JSONRPCMessage }> {
  const { path, session_id, ...others } = argumentsOf(message) ?? {};
  const file = textOf(path);
  const id = textOf(session_id);
  if (others.session != null || (file === null && id === null)) return { message };
  const request = message as JSONRPCRequest;
  try {
    const session =
      file === null ? await findSession(id!, env) : await readSessionFile(file, { sessionId: id ?? undefined });
    return { message: { ...request, params: { ...request.params, arguments: { ...others, session } } } };
  } catch (error) {
    if (!(error instanceof KnownError)) throw error;
    const text = `${errorKinds[error.sqlstate]!.code} (${error.sqlstate}): ${error.message}`;
    return { answer: { jsonrpc: '2.0', id: request.id, result: { isError: true, content: [{ type: 'text', text }] } } };
  }
}

function argumentsOf(message: JSONRPCMessage): Record<string, unknown> | null {
  if (!isJSONRPCRequest(message) || message.method !== 'tools/call') return null;
  if (message.params?.name !== 'store_session_to_cascade') return null;
  return isFields(message.params.arguments) ? message.params.arguments : null;
}

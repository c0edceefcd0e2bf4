// A session that store_session_to_cascade names by a path or an id is read here, on the machine of the user: the server reads no files.
import { type JSONRPCMessage, type JSONRPCRequest, PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/server';
import { findSession } from '../archive/find-session.ts';
import { readSessionFile } from '../archive/read-session.ts';
import { isFields, textOf } from '../archive/session.ts';
import { errorKinds, KnownError } from '../base/errors.ts';

/** The call with the session in it, or the answer to one that names none. */
export async function withLocalSession(
  request: JSONRPCRequest,
  env: NodeJS.ProcessEnv,
): Promise<{ request: JSONRPCRequest } | { answer: JSONRPCMessage }> {
  const { path, session_id, ...others } = argumentsOf(request) ?? {};
  const file = textOf(path);
  const id = textOf(session_id);
  if (others.session != null || (file === null && id === null)) return { request };
  try {
    const session =
      file === null ? await findSession(id!, env) : await readSessionFile(file, { sessionId: id ?? undefined });
    return { request: { ...request, params: { ...request.params, arguments: { ...others, session } } } };
  } catch (error) {
    if (!(error instanceof KnownError)) throw error;
    const text = `${errorKinds[error.sqlstate]!.code} (${error.sqlstate}): ${error.message}`;
    // A request that names its version is one of 2026-07-28, whose results name their type.
    const isModern = request.params?._meta?.[PROTOCOL_VERSION_META_KEY] !== undefined;
    const result = { ...(isModern && { resultType: 'complete' }), isError: true, content: [{ type: 'text', text }] };
    return { answer: { jsonrpc: '2.0', id: request.id, result } };
  }
}

const argumentsOf = ({ params }: JSONRPCRequest) =>
  params?.name === 'store_session_to_cascade' && isFields(params.arguments) ? params.arguments : null;

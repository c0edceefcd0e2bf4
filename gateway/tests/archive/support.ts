// Sessions to archive, and the calls that archive and open them.
import type { TestGateway } from '../support/gateway.ts';

/** A session of about so many bytes, whose words no other one has. */
export function sessionOf(name: string, bytes = 1_000) {
  const line = `The ${name} was looked at again, and this time the tests went through. `;
  return {
    session_id: `session-${name}`,
    timestamp: '2026-11-20T09:30:00Z',
    ended_at: '2026-11-20T10:00:00Z',
    tool_name: 'claude-code',
    success: true,
    summary: `Repaired the ${name}\nIt failed on Mondays only.`,
    tags: ['repair', name],
    messages: [
      { role: 'user', text: `Why does the ${name} fail?` },
      {
        role: 'assistant',
        text: line.repeat(Math.ceil(bytes / line.length)),
        tool_calls: [{ name: 'Read', input: { path: 'src/main.ts' }, output: 'ok', success: true }],
      },
    ],
  };
}

export const POINTER = /^cascade:\/\/[0-9a-f]{64}$/;
export const store = (gateway: TestGateway, caller: string, session: object, args: object = {}) =>
  gateway.call(caller, 'store_session_to_cascade', { session, project_id: 'l9', ...args });
export const retrieve = (gateway: TestGateway, caller: string, pointer: string) =>
  gateway.tool(caller, 'retrieve_session_from_cascade', { pointer });
export const keepMessages = (gateway: TestGateway) =>
  gateway.sql('L', "select set_archive_settings('{messages,tool_calls}')");

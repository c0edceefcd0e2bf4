// The summary of an archived session by a chat model, where the tenant lets one write it.

import { token } from '../../../db/tests/secrets/support.ts';
import { type ChatServer, startChatServer } from '../extraction/chat-server.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const SUMMARY = 'The importer dropped rows.\nIt now keeps them; the nightly run is still to be checked.';

describe('the summary of a session by a chat model', () => {
  let gateway: TestGateway;
  let server: ChatServer;
  beforeAll(async () => {
    server = await startChatServer();
    server.answer = () => ({ says: { summary: SUMMARY } });
    const env = { CHAT_MODEL: 'a-model', CHAT_BASE_URL: server.baseUrl };
    gateway = await startTestGateway({ embedder: standIn, env });
    await gateway.sql('L', "select set_archive_settings('{messages}')");
  });
  afterAll(async () => {
    await gateway.close();
    await server.close();
  });

  const sessionOf = (id: string, more: object = {}) => ({
    session_id: id,
    messages: [
      { role: 'user', text: `Why does the importer drop rows? (${id})` },
      { role: 'assistant', text: 'Because of a filter. It is gone.' },
    ],
    ...more,
  });
  const store = (session: object, args: object = {}) =>
    gateway.call('C', 'store_session_to_cascade', { session, project_id: 'l9', scope: 'developer', ...args });
  const summaryOf = async ({ pointer }: { pointer: string }) => {
    const { session_data } = (await gateway.tool('C', 'retrieve_session_from_cascade', { pointer })).result;
    const [row] = await gateway.sql('C', 'select summary from session_archives where pointer = $1', [pointer]);
    expect(row.summary).toBe(session_data.summary ?? '');
    return row.summary;
  };

  it('is not asked for until the tenant enables it, nor in scopes that it did not name', async () => {
    expect(await summaryOf(await store(sessionOf('before')))).toBe('');
    await gateway.sql('L', "select set_extraction_settings(writes_summaries => true, scopes => '{developer}')");
    expect(await summaryOf(await store(sessionOf('elsewhere'), { scope: 'global', project_id: null }))).toBe('');
    expect(server.asked).toHaveLength(0);
  });

  it('replaces words taken from the session, from the messages that are kept, and is found by searches', async () => {
    const session = sessionOf('importer', { summary: 'Asked: Why', summary_is_derived: true, secret_field: 'dropped' });
    const archived = await store(session);
    expect(await summaryOf(archived)).toBe(SUMMARY);
    expect(server.asked).toHaveLength(1);
    expect(server.asked[0]!.data).toStrictEqual({ messages: session.messages });
    const { sessions } = await gateway.call('C', 'query_cascade_memories', { query: 'nightly' });
    expect(sessions).toMatchObject([{ pointer: archived.pointer, title: 'The importer dropped rows.' }]);
    // The same session again is known, and no model is asked.
    expect(await store(session)).toMatchObject({ status: 'skipped_dedupe', pointer: archived.pointer });
    expect(server.asked).toHaveLength(1);
  });

  it('never replaces one that somebody wrote', async () => {
    expect(await summaryOf(await store(sessionOf('written', { summary: 'By hand.' })))).toBe('By hand.');
    expect(server.asked).toHaveLength(1);
  });

  it('is not asked for a session with a secret, which is refused', async () => {
    const messages = [{ role: 'user', text: `The key is ${token}` }];
    expect(await store(sessionOf('leak', { messages }))).toMatchObject({ status: 'refused' });
    expect(server.asked).toHaveLength(1);
  });

  it('leaves the own words where the model fails, or writes what looks like a secret', async () => {
    server.answer = () => ({ says: { summary: `Use ${token}` } });
    expect(await summaryOf(await store(sessionOf('invented')))).toBe('');
    server.answer = () => ({ status: 500 });
    const derived = { summary: 'Asked: Why', summary_is_derived: true };
    expect(await summaryOf(await store(sessionOf('down', derived)))).toBe('Asked: Why');
    expect(server.asked).toHaveLength(3);
  });
});

// A process that has nothing to do, with both the engine and the model that `npm start` uses.
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { asMonitor, callTool, createProcessHome, type ProcessHome } from './processes.ts';

let home: ProcessHome;
beforeAll(async () => {
  home = await createProcessHome();
});
afterAll(() => home.close());

describeOnEmbedded('a server without work', () => {
  it('lets go of the engine and the model while an editor is attached, and finds by meaning what it was given before', async () => {
    const server = await home.serve([], { IDLE_SECONDS: '1', LOG_LEVEL: 'debug' });
    const times = (line: string) => server.stdout.split(line).length - 1;
    const headers = { authorization: `Bearer ${home.key('C')}` };
    const attached = await fetch(`${server.url}/attach`, { headers });
    expect(attached.status).toBe(200);
    const content = 'We deploy on Tuesdays, never on Fridays.';
    await callTool(server.url, home.key('C'), 'save_memory', { content, project_id: 'p' });

    for (let round = 1; round <= 2; round++) {
      await eventually(() => times('the database engine was idle') >= round);
      await eventually(() => times('the embedding process was idle') >= round);
      expect((await fetch(`${server.url}/ready`, asMonitor)).status).toBe(200);
      const found = await callTool(server.url, home.key('C'), 'search_memory', {
        query: 'which day do releases go out?',
      });
      expect(found.searched.mode).toBe('hybrid');
      expect(found.hits.map((hit: { content: string }) => hit.content)).toStrictEqual([content]);
    }
    expect(server.stdout).not.toMatch(/"level":[56]0/);
    await attached.body?.cancel();
    server.process.kill('SIGTERM');
    expect(await server.exit).toBe(0);
  });
});

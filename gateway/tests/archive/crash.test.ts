// kill -9 while sessions are archived: every archive that is entered has its bytes, and none that was acknowledged is lost.

import { eventually } from '../../../db/tests/support/eventually.ts';
import { callTool, createProcessHome, kill, type ProcessHome } from '../home/processes.ts';

/** `ARCHIVE_KILLS=25 npm test -- gateway/tests/archive/crash` proves more. */
const KILLS = Number(process.env.ARCHIVE_KILLS || 2);
const STORERS = 100;

let home: ProcessHome;
beforeAll(async () => {
  home = await createProcessHome();
});
afterAll(() => home.close());

describe('a server after kill -9 in the middle of a hundred stores', () => {
  it('opens every archive that it lists, and every one that it acknowledged', async () => {
    const acknowledged = new Map<string, string>();
    for (let round = 1; round <= KILLS; round++) {
      const { pid, url, exit } = await home.serve();
      const key = home.key('C');
      let isKilled = false;
      const before = acknowledged.size;
      const storers = Array.from({ length: STORERS }, async (_, storer) => {
        for (let n = 0; !isKilled; n++) {
          const name = `session-${round}-${storer}-${n}`;
          try {
            const session = { session_id: name, summary: `Round ${round}, storer ${storer}, time ${n}` };
            const { pointer } = await callTool(url, key, 'store_session_to_cascade', { session, project_id: 'crash' });
            acknowledged.set(pointer, name);
          } catch (error) {
            if (isKilled) return;
            throw error;
          }
        }
      });
      await eventually(() => acknowledged.size >= before + 20);
      isKilled = true;
      kill(pid);
      await Promise.all([exit, ...storers]);
    }

    const server = await home.serve();
    const key = home.key('C');
    let verified = 0;
    for (let after: string | null = null, isFirst = true; isFirst || after; isFirst = false) {
      const page = await callTool(server.url, key, 'verify_archives', { after, limit: 100 });
      expect(page.problems).toStrictEqual([]);
      verified += page.verified;
      after = page.next;
    }
    expect(verified).toBeGreaterThanOrEqual(acknowledged.size);
    for (const [pointer, name] of acknowledged) {
      const { session_data } = await callTool(server.url, key, 'retrieve_session_from_cascade', { pointer });
      expect(session_data.session_id).toBe(name);
    }
    server.process.kill('SIGTERM');
    expect(await server.exit).toBe(0);
  });
});

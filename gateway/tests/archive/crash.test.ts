// kill -9 while sessions are archived: every archive that is entered has its bytes, none that was acknowledged is lost, and what is
// left over is known to the job that deletes it.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import { serverUrl } from '../../../db/tests/support/engine.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { loadConfig } from '../../src/config/config.ts';
import { queryEmbeddedAsOwner } from '../../src/database/embedded.ts';
import { callTool, createProcessHome, kill, type ProcessHome } from '../home/processes.ts';

/** `ARCHIVE_KILLS=25 npm test -- gateway/tests/archive/crash` proves more. */
// In WebAssembly each start takes several times as long.
const KILLS = Number(process.env.ARCHIVE_KILLS || (serverUrl ? 2 : 1));
const STORERS = 100;

describe.each(['postgres', 'file'])('a server after kill -9 in the middle of a hundred stores into %s', (kind) => {
  let home: ProcessHome;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'l9-archive-'));
    home = await createProcessHome({ withModel: false });
  });
  afterAll(async () => {
    await home.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const serve = () => home.serve([], { ARCHIVE_STORE: kind === 'file' ? `file:${folder}` : kind });
  const end = async ({ process, exit }: Awaited<ReturnType<typeof serve>>) => {
    process.kill('SIGTERM');
    expect(await exit).toBe(0);
  };
  /** While no server runs. */
  async function asOwner(query: string): Promise<Record<string, unknown>[]> {
    const { superuserUrl } = home.test;
    if (!superuserUrl) return queryEmbeddedAsOwner(loadConfig(home.env), pino({ level: 'silent' }), query, []);
    const client = new pg.Client({ connectionString: superuserUrl });
    await client.connect();
    return (await client.query(query).finally(() => client.end())).rows;
  }

  it('opens every archive that it lists, and every one that it acknowledged', async () => {
    const acknowledged = new Map<string, string>();
    for (let round = 1; round <= KILLS; round++) {
      const { pid, url, exit } = await serve();
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
            // On a slow machine a hundred at once may wait for too long.
            if (!/L9BSY/.test((error as Error).message)) throw error;
          }
        }
      });
      await eventually(() => acknowledged.size >= before + 20);
      isKilled = true;
      kill(pid);
      await Promise.all([exit, ...storers]);
    }

    const server = await serve();
    const key = home.key('C');
    let verified = 0;
    for (let after: string | null = null, isFirst = true; isFirst || after; isFirst = false) {
      const page = await eventually(async () => {
        const found = await callTool(server.url, key, 'verify_archives', { after, limit: 100 });
        // On a slow machine the database may have no time for all of them.
        return found.problems.every(({ problem }: { problem: string }) => problem !== 'unavailable') && found;
      });
      expect(page.problems).toStrictEqual([]);
      verified += page.verified;
      after = page.next;
    }
    expect(verified).toBeGreaterThanOrEqual(acknowledged.size);
    for (const [pointer, name] of acknowledged) {
      const { session_data } = await callTool(server.url, key, 'retrieve_session_from_cascade', { pointer });
      expect(session_data.session_id).toBe(name);
    }
    await end(server);
  });

  if (kind === 'file') {
    it('deletes every file that no archive names, drafts too, and no other', async () => {
      const hashesIn = async (table: string) =>
        new Set((await asOwner(`select encode(content_hash, 'hex') as hash from ${table}`)).map(({ hash }) => hash));
      const files = () =>
        readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      const hashOf = (name: string) => /[0-9a-f]{64}/.exec(basename(name))?.[0];
      const named = await hashesIn('session_archives');
      const pending = await hashesIn('archive.pending_deletions');
      const extra = files().filter(({ name }) => !named.has(name));
      for (const { name } of extra) expect(pending).toContain(hashOf(name));
      await asOwner("update archive.pending_deletions set due_at = due_at - interval '3 hours'");
      const server = await serve();
      await eventually(() => extra.every(({ parentPath, name }) => !existsSync(join(parentPath, name))));
      await end(server);
      expect(new Set(files().map(({ name }) => name))).toStrictEqual(named);
    });
  }
});

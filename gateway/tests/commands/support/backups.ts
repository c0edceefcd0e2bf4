// What the drills of both engines share: a gateway with something of everything, and whether it is whole again after a restore.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sealAll } from '../../../../db/tests/audit/support.ts';
import { eventually } from '../../../../db/tests/support/eventually.ts';
import { type Chunks, readBackup, writeBackup } from '../../../src/commands/backup/file.ts';
import { startTestGateway, type TestGateway } from '../../support/gateway.ts';
import type { TestHome } from '../../support/home.ts';
import { standIn } from '../../support/stand-in.ts';

export const CONTENTS = ['The deploy key is rotated on Mondays.', 'Queues are drained before a release.'];
export const never = new AbortController().signal;
export const noKey = async (): Promise<never> => {
  throw new Error('it is not encrypted');
};

/** Runs a command in this process: its exit code, and what it prints. */
export async function run(command: () => Promise<number>) {
  const writes = [process.stdout.write, process.stderr.write] as const;
  let said = '';
  const take = ((text: string) => {
    said += text;
    return true;
  }) as typeof process.stdout.write;
  process.stdout.write = process.stderr.write = take;
  try {
    return { code: await command(), said };
  } finally {
    [process.stdout.write, process.stderr.write] = writes;
  }
}

/** A gateway that leaves its database and folder. */
export const start = (home: TestHome) =>
  startTestGateway({ embedder: standIn, home: { ...home, drop: async () => {} } });

const headOf = async (gateway: TestGateway): Promise<string> => {
  const [{ head }] = await gateway.sql('L', 'select v.head from public.verify_audit() v');
  return head;
};

/** Saves, searches, changes and seals, so that there is something of everything. Returns the head of the seals. */
export async function use(gateway: TestGateway): Promise<string> {
  const first = await gateway.save('C', CONTENTS[0]!);
  await gateway.save('L', CONTENTS[1]!, { scope: 'l-private' });
  await gateway.call('C', 'update_memory', { packet_id: first, tags: ['ops'] });
  await gateway.embedded();
  await gateway.call('C', 'search_memory', { query: 'deploy key' });
  await sealAll(gateway);
  return headOf(gateway);
}

export async function expectWhole(gateway: TestGateway, head: string, contents = [CONTENTS[0]!]) {
  await eventually(async () => (await fetch(`${gateway.instance.url}/ready`)).status === 200);
  for (const mode of ['lexical', 'semantic', 'hybrid']) {
    for (const query of contents) {
      const { hits } = await gateway.call('C', 'search_memory', { query, mode, min_relevance: 0, k: 100 });
      expect(
        hits.map(({ content }: { content: string }) => content),
        mode,
      ).toContain(query);
    }
  }
  const { hits } = await gateway.call('L', 'search_memory', { query: 'queues drained release', mode: 'lexical' });
  expect(hits).toHaveLength(1);
  const [verified] = await gateway.sql(
    'L',
    'select v.ok, v.reason, v.seals > 0 as has_seals from public.verify_audit(head => $1) v',
    [head],
  );
  expect(verified).toStrictEqual({ ok: true, reason: null, has_seals: true });
  const again = await gateway.call('C', 'save_memory', { content: CONTENTS[0], project_id: 'l9' });
  expect(again.status).toBe('skipped_dedupe');
  expect(await gateway.save('C', 'It still takes what is new.')).toMatch(/^[0-9a-f-]{36}$/);
  await gateway.asWorker('call public.refresh_memory_views()');
}

/** Saves until it is told to stop; returns what was saved. */
export function keepSaving(gateway: TestGateway) {
  const saved: string[] = [];
  let isOver = false;
  const over = (async () => {
    for (let number = 1; !isOver; number++) {
      const content = `Saved during the backup, as number ${number} of several.`;
      await gateway.save('C', content);
      saved.push(content);
    }
  })();
  return {
    saved,
    async stop() {
      isOver = true;
      await over;
    },
  };
}

/** Writes a whole file again, whose database is another. */
export async function tamper(from: string, to: string, change: (database: Chunks) => Chunks | Promise<Chunks>) {
  const { manifest, database } = await readBackup(from, noKey);
  await writeBackup(to, { manifest, database: await change(database()), encrypt: null, signal: never });
}

/** Paths in a folder that is gone after the tests of a file. */
export function useFolder(): (name?: string) => string {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'l9-drill-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return (name = '') => join(folder, name);
}

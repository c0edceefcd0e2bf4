// The embedded engine. A backup is a copy of the data folder that was opened once and closed again. A server that runs is asked through
// the socket of psql: whoever has a transaction there has the only session of the engine, so after a checkpoint nothing changes the files.
import { constants, mkdirSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { packTar, unpackTar } from 'modern-tar/fs';
import type { Config } from '../../config/config.ts';
import { withConnection } from '../../database/connection.ts';
import { dataFolderOf, draftOf, inspectData, installDraft, isWithoutData } from '../../database/data-folder.ts';
import { requireSpace } from '../../database/disk.ts';
import { markClosed } from '../../database/marker.ts';
import { createPglite } from '../../database/pglite.ts';
import { psqlSocket } from '../../database/psql-socket.ts';
import { takeHome } from '../../home/examine.ts';
import { checkHome, makeHome } from '../../home/folder.ts';
import { HomeLocked, lockHome } from '../../home/lock.ts';
import { checkCounts, checkSeals, checkSearch, factsOf, type Query } from './facts.ts';
import { type Backup, BackupProblem } from './file.ts';
import { isAlive } from './keep.ts';
import type { Say, Source } from './source.ts';

// The server ends a transaction in which nothing happens for 30 seconds.
const STAY_EVERY_MS = 5_000;

export async function backUpEmbedded(config: Config, signal: AbortSignal): Promise<Source> {
  const { home } = config;
  checkHome(home);
  if (isWithoutData(dataFolderOf(home)))
    throw new BackupProblem(
      `${home}: there is no database to back up; L9_MEMORY_HOME names another home folder, DATABASE_URL a server`,
    );
  deleteCopies(home);
  const folder = join(home, `backup.${process.pid}`);
  const copy = join(folder, 'data');
  const close = async () => rmSync(folder, { recursive: true, force: true });
  try {
    mkdirSync(folder, { mode: 0o700 });
    await whileStill(config, () => copyData(home, copy, signal));
    const facts = await withEngine(copy, factsOf);
    markClosed(copy);
    return { name: home, facts, database: packTar(copy), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Copies that a killed backup left behind. */
function deleteCopies(home: string): void {
  for (const name of readdirSync(home)) {
    const [, pid] = /^backup\.(\d+)$/.exec(name) ?? [];
    if (pid && !isAlive(Number(pid))) rmSync(join(home, name), { recursive: true, force: true });
  }
}

/** Runs work while nothing writes to the data folder. */
async function whileStill(config: Config, work: () => Promise<void>): Promise<void> {
  let lock: Awaited<ReturnType<typeof takeHome>>;
  try {
    lock = await takeHome(config);
  } catch (error) {
    if (!(error instanceof HomeLocked)) throw error;
    return whileServerWaits(config, work);
  }
  try {
    await work();
  } finally {
    lock.release();
  }
}

async function whileServerWaits({ home }: Config, work: () => Promise<void>): Promise<void> {
  let isCopied = false;
  try {
    await withConnection(psqlSocket(home).url, async (server) => {
      await server.query('begin');
      await server.query('set local role l9_worker');
      await server.query('checkpoint');
      const stay = setInterval(() => server.query('select').catch(() => {}), STAY_EVERY_MS);
      try {
        await work();
        isCopied = true;
      } finally {
        clearInterval(stay);
      }
      // It fails if the server took the session away meanwhile, and then the copy is worth nothing.
      await server.query('commit');
    });
  } catch (error) {
    if (error instanceof BackupProblem || (!isCopied && isOfFiles(error))) throw error;
    throw new BackupProblem(
      `the server that uses ${home} did not stand still for a copy (${(error as Error).message}): try again, or stop it with \`l9-memory stop\` first`,
    );
  }
}

/** Whether copying failed; errors of the connection name no path. */
const isOfFiles = (error: unknown) =>
  (error as NodeJS.ErrnoException).path !== undefined || (error as { code?: string }).code === '53100';

async function copyData(home: string, copy: string, signal: AbortSignal): Promise<void> {
  const data = realpathSync(dataFolderOf(home));
  requireSpace(home, bytesOf(data));
  const goesOn = () => !signal.aborted;
  await cp(data, copy, { recursive: true, mode: constants.COPYFILE_FICLONE, filter: goesOn });
  signal.throwIfAborted();
}

const bytesOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);

/** Opens a data folder that nobody else knows, as a superuser, and closes it again. */
async function withEngine<Result>(dataDir: string, work: (query: Query) => Promise<Result>): Promise<Result> {
  inspectData(dataDir);
  let complaint = 'the engine ended';
  const db = await createPglite(dataDir, (line) => {
    complaint = /(?:ERROR|FATAL|PANIC):\s+(.+)/.exec(line)?.[1] ?? complaint;
  }).catch(() => {
    throw new BackupProblem(`the data folder can't be opened (${complaint}), so this is no backup`);
  });
  try {
    await db.exec('reset search_path');
    return await work((query, values) => db.query(query, values));
  } finally {
    await db.close();
  }
}

/** Into a home folder that has no database. Nothing is left there unless all that was checked is right. */
export async function restoreEmbedded(config: Config, { manifest, database }: Backup, say: Say): Promise<void> {
  const { home } = config;
  checkHome(home);
  const data = dataFolderOf(home);
  const refuseData = () => {
    if (!isWithoutData(data))
      throw new BackupProblem(
        `${home} has a database, and a restore never replaces one: name a new folder in L9_MEMORY_HOME`,
      );
  };
  refuseData();
  makeHome(home);
  const lock = await lockHome(home, refuseData);
  const draft = draftOf(data);
  try {
    mkdirSync(draft, { mode: 0o700 });
    await pipeline(database(), unpackTar(draft, { fmode: 0o600, dmode: 0o700 }));
    await withEngine(draft, async (query) => {
      say(await checkCounts(query, manifest));
      say(await checkSeals(query, manifest));
      say(await checkSearch(query));
    });
    markClosed(draft);
    installDraft(draft, data);
  } finally {
    rmSync(draft, { recursive: true, force: true });
    lock.release();
  }
}

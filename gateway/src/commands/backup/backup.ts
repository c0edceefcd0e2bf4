// `l9-memory backup FILE`: all of the database, of every tenant, in a file that only its owner may read.
import { readFileSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { version } from '../../base/version.ts';
import { type Config, loadConfig } from '../../config/config.ts';
import { credentialsPath, readCredentials } from '../../home/credentials.ts';
import { told } from '../support/client.ts';
import { stopSignal } from '../support/stop-signal.ts';
import { backUpEmbedded } from './embedded.ts';
import { type EncryptionOptions, encryption } from './encryption.ts';
import { totalOf } from './facts.ts';
import { BackupProblem, exists, type Manifest, writeBackup } from './file.ts';
import { deleteDrafts, deleteOld, readKeep } from './keep.ts';
import { backUpServer } from './server.ts';

export interface BackupOptions extends EncryptionOptions {
  withKeys?: boolean;
  keep?: string;
}

export const backup = (env: NodeJS.ProcessEnv, file: string, options: BackupOptions): Promise<number> =>
  told(async () => {
    const config = loadConfig(env);
    const created_at = new Date().toISOString();
    const path = pathOf(file, created_at);
    const keep = readKeep(options.keep, basename(path));
    const credentials = options.withKeys ? keysOf(config, options) : undefined;
    const encrypt = await encryption(config, options);
    deleteDrafts(path);
    const { signal, forget } = stopSignal({ exitCode: 130, onLimit: () => {} });
    try {
      const onServer = config.databaseUrl !== null || config.backupDatabaseUrl !== null;
      const source = onServer ? await backUpServer(config, signal) : await backUpEmbedded(config, signal);
      const manifest: Manifest = {
        engine: onServer ? 'server' : 'embedded',
        version,
        created_at,
        ...source.facts,
        ...(credentials === undefined ? {} : { credentials }),
      };
      try {
        await writeBackup(path, { manifest, database: source.database, encrypt, signal });
      } finally {
        await source.close();
      }
      process.stdout.write(`${path}: ${source.name}, ${inWords(manifest, path, encrypt !== null)}\n`);
      for (const line of notIncluded(config, manifest)) process.stdout.write(`not in it: ${line}\n`);
      for (const name of keep === null ? [] : await deleteOld(path, keep)) process.stdout.write(`deleted: ${name}\n`);
      return 0;
    } catch (error) {
      if (signal.aborted) throw new BackupProblem('stopped: nothing was written');
      throw error;
    } finally {
      forget();
    }
  });

/** In a folder a backup is named after its time. */
function pathOf(file: string, createdAt: string): string {
  const path = resolve(file);
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory();
  if (isFolder) return join(path, `l9-memory-${createdAt.replace(/[-:]|\.\d+/g, '')}.backup`);
  if (isFolder === false) throw exists(path);
  if (file.endsWith('/') || !statSync(resolve(path, '..'), { throwIfNoEntry: false })?.isDirectory())
    throw new BackupProblem(`${file}: there is no such folder; make it first`);
  return path;
}

function keysOf(config: Config, { encrypt, key }: BackupOptions): string {
  if (!encrypt && key === undefined)
    throw new BackupProblem('--with-keys: only in an encrypted backup; add --encrypt, or --key FILE');
  if (!readCredentials(config.home))
    throw new BackupProblem(`--with-keys: there is no ${credentialsPath(config.home)}`);
  return readFileSync(credentialsPath(config.home), 'utf8');
}

const inWords = ({ counts }: Manifest, path: string, isEncrypted: boolean) =>
  `${counts['public.packet_store'] ?? 0} memories, ${totalOf(counts)} rows in ${Object.keys(counts).length} tables, ${(statSync(path).size / 1e6).toFixed(1)} MB, ${isEncrypted ? 'encrypted' : 'not encrypted'}`;

/** What a restore needs besides the file. */
function notIncluded({ home, archive }: Config, { credentials, archive_keys }: Manifest): string[] {
  const keys = archive_keys.length > 0 ? `, without which no archive can be opened (${archive_keys.join(', ')})` : '';
  return [
    ...(credentials === undefined
      ? [`the keys of ${credentialsPath(home)}${keys}; keep them elsewhere, or pass --with-keys`]
      : []),
    ...archive.stores
      .filter(({ kind }) => kind !== 'postgres')
      .map(({ kind, place }) => `the bytes of archives in ${kind}:${place}`),
  ];
}

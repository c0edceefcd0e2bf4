// `l9-memory restore FILE`: a backup into a place that has no database yet, and the proof that it is all there.
import { linkSync, rmSync, writeFileSync } from 'node:fs';
import { type Config, loadConfig } from '../../config/config.ts';
import { committedHashes } from '../../database/migrations.ts';
import { credentialsPath, readCredentials } from '../../home/credentials.ts';
import { makeHome } from '../../home/folder.ts';
import { told } from '../support/client.ts';
import { styled } from '../support/output.ts';
import { restoreEmbedded } from './embedded.ts';
import { decryption } from './encryption.ts';
import { BackupProblem, type Manifest, readBackup } from './file.ts';
import { restoreServer } from './server.ts';

export interface RestoreOptions {
  key?: string;
  rootUrl?: string;
  database: string;
}

export const restore = (env: NodeJS.ProcessEnv, file: string, options: RestoreOptions): Promise<number> =>
  told(async () => {
    const config = loadConfig(env);
    const backup = await readBackup(file, () => decryption(config, options));
    const { manifest } = backup;
    requireKnown(file, manifest);
    if (manifest.credentials !== undefined && readCredentials(config.home))
      throw new BackupProblem(
        `${credentialsPath(config.home)}: the backup brings keys, and there are others; name a new folder in L9_MEMORY_HOME`,
      );
    const say = (line: string) => process.stderr.write(`${styled('green', '✓', process.stderr)} ${line}\n`);
    say(`the file is whole: ${manifest.engine} engine, of ${manifest.created_at}, by l9-memory ${manifest.version}`);
    if (manifest.engine === 'embedded') await restoreEmbedded(config, backup, say);
    else if (!(await restoreServer(env, config, options, backup, say))) return 1;
    if (manifest.credentials !== undefined) writeKeys(config, manifest.credentials);
    else if (manifest.archive_keys.length > 0)
      process.stderr.write(
        `The backup has no keys. Put the former credentials.json into ${config.home}, or the archive key (${manifest.archive_keys.join(', ')}) into ARCHIVE_KEY, before you start.\n`,
      );
    process.stderr.write(
      manifest.engine === 'embedded' ? `restored to ${config.home}: start it with \`l9-memory start\`\n` : 'restored\n',
    );
    return 0;
  });

/** Refuses a backup whose migrations this version does not know, and which it could not migrate. */
function requireKnown(file: string, { migrations, version }: Manifest): void {
  const known = Object.entries(committedHashes()).map(([name, hash]) => [Number.parseInt(name, 10), hash] as const);
  const byNumber = new Map(known);
  const foreign = Object.entries(migrations).find(([number, hash]) => byNumber.get(Number(number)) !== hash)?.[0];
  if (foreign !== undefined)
    throw new BackupProblem(
      `${file}: was made by l9-memory ${version}, whose migration ${foreign} is unknown here: restore it with that version, or a later one`,
    );
}

function writeKeys({ home }: Config, credentials: string): void {
  makeHome(home);
  const path = credentialsPath(home);
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, credentials, { mode: 0o600 });
  try {
    linkSync(draft, path);
  } finally {
    rmSync(draft);
  }
}

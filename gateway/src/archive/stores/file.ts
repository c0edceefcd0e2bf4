import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { readBlob, type Store } from './store.ts';

const missing = (error: NodeJS.ErrnoException) => {
  if (error.code === 'ENOENT') return null;
  throw error;
};

async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}

/**
 * A folder: aa/aabb…, so that none has too many entries. A crash leaves a temporary file at most, never half a blob; it goes when the
 * bytes are deleted.
 */
export function fileStore(root: string): Store {
  const pathOf = (hash: Buffer) => {
    const name = hash.toString('hex');
    return join(root, name.slice(0, 2), name);
  };
  const draftOf = (path: string) => `.${basename(path)}.`;
  return {
    name: 'file',
    async put({ hash }, blob) {
      const path = pathOf(hash);
      const folder = dirname(path);
      const made = await mkdir(folder, { recursive: true, mode: 0o700 });
      const draft = join(folder, `${draftOf(path)}${randomUUID()}`);
      try {
        const handle = await open(draft, 'wx', 0o600);
        try {
          await handle.writeFile(blob);
          await handle.sync();
        } finally {
          await handle.close();
        }
        await rename(draft, path);
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
      await sync(folder);
      if (made) await sync(root);
    },
    get: ({ hash }) => readBlob(createReadStream(pathOf(hash))).catch(missing),
    async delete(hash) {
      const path = pathOf(hash);
      const names = (await readdir(dirname(path)).catch(missing)) ?? [];
      for (const draft of names.filter((name) => name.startsWith(draftOf(path))))
        await rm(join(dirname(path), draft), { force: true });
      await rm(path, { force: true });
    },
  };
}

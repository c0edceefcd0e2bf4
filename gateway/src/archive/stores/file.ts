import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readBlob, type Store } from './store.ts';

const missing = (error: NodeJS.ErrnoException) => {
  if (error.code === 'ENOENT') return null;
  throw error;
};

async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}

/** A folder: aa/aabb…, so that none has too many entries. A crash leaves a temporary file at most, never half a blob. */
export function fileStore(root: string): Store {
  const pathOf = (hash: Buffer) => {
    const name = hash.toString('hex');
    return join(root, name.slice(0, 2), name);
  };
  return {
    name: 'file',
    async put(hash, blob) {
      const path = pathOf(hash);
      const folder = dirname(path);
      const made = await mkdir(folder, { recursive: true, mode: 0o700 });
      const draft = join(folder, `.${randomUUID()}`);
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
    get: (hash) => readBlob(createReadStream(pathOf(hash))).catch(missing),
    has: async (hash) => (await stat(pathOf(hash)).catch(missing)) !== null,
    stat: async (hash) => (await stat(pathOf(hash)).catch(missing))?.size ?? null,
    async delete(hash) {
      await rm(pathOf(hash), { force: true });
    },
  };
}

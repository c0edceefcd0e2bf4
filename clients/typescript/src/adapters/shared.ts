// What the adapters have in common.
import { L9MemoryError, type Pages, type SaveManyResult } from '../index.ts';

/** The first items of a list. A list that not all memories could be looked at for is an error, because an item might be taken to be missing. */
export async function readAll<Item>(list: Pages<Item>, limit = Number.POSITIVE_INFINITY): Promise<Item[]> {
  const found: Item[] = [];
  for await (const { items, notice } of list.pages()) {
    found.push(...items);
    if (found.length >= limit) break;
    if (notice !== null) throw new L9MemoryError(notice, { code: 'LIMIT_EXCEEDED' });
  }
  return found.slice(0, limit);
}

/** Throws the first error of a batch. */
export function requireStored({ errors: [first] }: SaveManyResult): void {
  if (!first) return;
  const { message, code, field, sqlstate, findings } = first;
  const extensions = { code, sqlstate, ...(field && { field }), ...(findings && { findings }) };
  throw new L9MemoryError(message, { code: code as L9MemoryError['code'], errors: [{ message, extensions }] });
}

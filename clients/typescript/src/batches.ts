import type { MemoryStoreItem } from './generated.ts';

/** What one call may hold, a little below the limits of the server: 500 items, and 2 MiB unless it stores documents. */
const MOST_ITEMS = 500;
const MOST_BYTES = 1_500_000;

/** The items in their order, cut into lists that a call may hold. An item that is larger than that stands alone. */
export function batchesOf(items: readonly MemoryStoreItem[]): MemoryStoreItem[][] {
  const batches: MemoryStoreItem[][] = [];
  let bytes = 0;
  for (const item of items) {
    const size = new TextEncoder().encode(JSON.stringify(item)).length;
    const last = batches.at(-1);
    if (last && last.length < MOST_ITEMS && bytes + size <= MOST_BYTES) {
      last.push(item);
      bytes += size;
    } else {
      batches.push([item]);
      bytes = size;
    }
  }
  return batches;
}

// Calls of clients that were written for older memory servers: their names of tools and arguments, as those of today's tools.
import { isObject } from '../operations/read-input.ts';

type Arguments = Record<string, unknown>;

/** These names are answered, not listed. */
const tools: Readonly<Record<string, string>> = {
  saveMemory: 'save_memory',
  searchMemory: 'search_memory',
  'memory.find': 'memory_find',
  getMemoryStats: 'get_memory_stats',
  deleteExpiredMemories: 'delete_expired_memories',
  'memory.store': 'memory_store',
};

const names: Readonly<Record<string, string>> = {
  project: 'project_id',
  type: 'kind',
  payload: 'data',
  top_k: 'k',
  limit: 'k',
  types: 'kinds',
  filters: 'where',
};

/** What an item of memory_store says beside the fields of its kind. */
const ofItem: ReadonlySet<string> = new Set([
  ...['kind', 'data', 'scope', 'project_id', 'branch', 'tags', 'thread_id', 'speaker', 'language', 'timestamp'],
  ...['idempotency_key', 'ttl_policy', 'parent_ids', 'citations', 'expected_version'],
]);

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** An object of a place (org, project, branch), which may be encoded twice. The org is that of the key. */
function placeIn(scope: unknown): Arguments | null {
  if (isObject(scope)) return scope;
  if (typeof scope !== 'string' || !scope.startsWith('{')) return null;
  try {
    const decoded: unknown = JSON.parse(scope);
    return isObject(decoded) ? decoded : null;
  } catch {
    return null;
  }
}

/** With today's names. An argument that is given under both names keeps the value under today's. */
function renamed(given: Arguments): Arguments {
  const result: Arguments = {};
  const place = placeIn(given.scope);
  const { org: _, org_id: __, ...within } = place ?? {};
  for (const [name, value] of [...Object.entries(within), ...Object.entries(given)]) {
    if (name === 'scope' && value === given.scope && place) continue;
    const known = names[snakeCase(name)] ?? snakeCase(name);
    if (known === name || !(known in result)) result[known] = value;
  }
  return result;
}

function findArguments(given: Arguments): Arguments {
  const { scope, kind, ...others } = renamed(given);
  return {
    ...(scope !== undefined && { scopes: scope }),
    ...(kind !== undefined && { kinds: kind }),
    ...others,
  };
}

/** Unknown names in an item are fields of its kind. */
function itemOf(given: unknown, place: Arguments): unknown {
  if (!isObject(given)) return given;
  const entries = Object.entries({ ...place, ...renamed(given) });
  const item = Object.fromEntries(entries.filter(([name]) => ofItem.has(name)));
  const fields = Object.fromEntries(entries.filter(([name]) => !ofItem.has(name)));
  if (Object.keys(fields).length === 0) return item;
  if (item.data !== undefined && !isObject(item.data)) return item;
  return { ...item, data: { ...fields, ...(item.data as Arguments | undefined) } };
}

function storeArguments(given: Arguments): Arguments {
  const { items, all_or_nothing, ...others } = given;
  const batch = { ...(all_or_nothing !== undefined && { all_or_nothing }) };
  if (items === undefined || items === null) return { ...batch, items: [itemOf(others, {})] };
  if (!Array.isArray(items)) return given;
  // Arguments beside the list hold for each item.
  const common = renamed(others);
  return { ...batch, items: items.map((item) => itemOf(item, common)) };
}

/** The tool of today and its arguments. */
export function todaysCall(tool: string, given: Arguments = {}): { tool: string; arguments: Arguments } {
  if (!Object.hasOwn(tools, tool)) return { tool, arguments: given };
  const read = tool === 'memory.find' ? findArguments : tool === 'memory.store' ? storeArguments : renamed;
  return { tool: tools[tool]!, arguments: read(given) };
}

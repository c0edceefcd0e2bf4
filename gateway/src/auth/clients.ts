// A client of MCP that has the key of another caller says in the header X-L9-Client what it is. Whether that gives it a name of its own
// decides the database, in administration.register_client(); its rights are those of the key.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Database, inOneTrip } from '../database/index.ts';
import type { Directory } from './directory.ts';
import { type Identity, toSettings } from './identity.ts';

const AGENT = 'l9_agent';
const REMEMBERED = 1_000;
const REMEMBERED_FOR_MS = 10_000;

/** The identity of the client with this name; without one, or without a name that the database gives it, the identity as it is. */
export type NameClient = (identity: Identity, name: string | null) => Promise<Identity>;

export function clientNamer(
  database: Pick<Database, 'pool'>,
  directory: Pick<Directory, 'admit' | 'registeredBy' | 'refresh'>,
): NameClient {
  /** The callers of names, as the database last said. Null: the name gives none. */
  const remembered = new LRUCache<string, { caller: string | null }>({ max: REMEMBERED, ttl: REMEMBERED_FOR_MS });

  const register = async (identity: Identity, name: string): Promise<string | null> => {
    const settings = toSettings({ ...identity, toolSet: identity.toolSets?.[0] ?? null }, 'register_client');
    const { rows } = await inOneTrip(database.pool, settings, 'read', (client) =>
      client.query<{ caller: string | null }>('select administration.register_client($1) as caller', [name]),
    );
    return rows[0]?.caller ?? null;
  };

  return async (identity, name) => {
    const { tenantId, caller: via, role } = identity;
    if (name === null || role !== AGENT) return identity;
    const isKnown = (caller: string) => directory.registeredBy(tenantId, caller) === via;
    const subject = createHash('sha256').update([tenantId, via, name].join('\n')).digest('base64');
    let found = remembered.get(subject);
    // An administrator may have given it a key or rights of its own since.
    if (!found || (found.caller !== null && !isKnown(found.caller))) {
      found = { caller: await register(identity, name) };
      if (found.caller !== null && !isKnown(found.caller)) await directory.refresh();
      remembered.set(subject, found);
    }
    if (found.caller === null) return identity;
    return directory.admit({ ...identity, caller: found.caller, via, role: null });
  };
}

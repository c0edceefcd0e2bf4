// Helpers that fill and query a graph as a caller.

import { named } from '../support/named.ts';
import type { Sessions } from '../support/sessions.ts';

export interface Relation {
  relationship_id: string;
  source_entity: string;
  relationship_type: string;
  target_entity: string;
  confidence: number;
  mention_count: string;
  agent_count: number;
  is_from_admin: boolean;
  first_seen: Date;
  last_seen: Date;
  source_packet: string;
  scope: string;
  project_id: string | null;
  ttl: Date | null;
  creator: string;
}

export interface Path {
  entity: string;
  confidence: number;
  depth: number;
  steps: {
    source_entity: string;
    relationship_type: string;
    target_entity: string;
    direction: string;
    confidence: number;
    relationship_ids: string[];
  }[];
}

export interface Exploration {
  entity: string;
  known_as: string[];
  paths: Path[];
  edges_followed: number;
  is_truncated: boolean;
}

type Claims = Record<string, string>;

export function graphOf(db: Sessions) {
  const call = async (caller: string, text: string, args: Record<string, unknown>, claims: Claims = {}) =>
    (await db.sql(caller, text.replace('…', named(args)), Object.values(args), claims))[0];
  return {
    save: async (caller: string, args: Record<string, unknown>, claims?: Claims): Promise<string> =>
      (await call(caller, 'select (memory).packet_id as id from public.save_memory(…)', args, claims)).id,
    relate: (caller: string, args: Record<string, unknown>, claims?: Claims): Promise<Relation> =>
      call(caller, 'select * from public.relate(…)', args, claims),
    addAlias: (caller: string, args: Record<string, unknown>, claims?: Claims) =>
      call(caller, 'select * from public.add_alias(…)', args, claims),
    explore: async (caller: string, args: Record<string, unknown>, claims?: Claims): Promise<Exploration> =>
      (await call(caller, 'select to_jsonb(e) as e from public.explore_graph(…) e', args, claims)).e,
    search: (caller: string, args: Record<string, unknown>, claims?: Claims) =>
      call(caller, 'select to_jsonb(s.hits) as hits, s.searched from public.search_memory(…) s', args, claims),
    /** The relationships of an entity that the caller can read. */
    triples: (caller: string, source: string, claims?: Claims): Promise<Relation[]> =>
      db.sql(
        caller,
        'select * from public.entity_relationships where source_normalized = $1 order by scope, relationship_type, target_normalized',
        [source],
        claims,
      ),
  };
}

let places = 0;

/** A project and entity names that no other test uses. */
export function newPlace() {
  const n = ++places;
  return { project_id: `p${n}`, name: (entity: string) => `${entity} ${n}` };
}

// Reads what opened entities are related to, each once.
import { type Client, type CombinedError, useClient } from '@urql/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { present } from '../../lib/me.ts';
import { type Expansion, keyOf } from './model.ts';
import { MAX_RELATIONS, namesOfEntity, relationsOfEntity } from './query.ts';

export interface Expansions {
  /** Of the entities that have been read so far, in the order of `entities`. */
  list: Expansion[];
  isLoading: boolean;
  error: CombinedError | undefined;
  retry: () => void;
}

export function useExpansions(entities: readonly string[]): Expansions {
  const client = useClient();
  const known = useRef(new Map<string, Expansion>());
  const [error, setError] = useState<CombinedError>();
  const [turn, setTurn] = useState(0);
  const wanted = JSON.stringify(entities);
  const missing = entities.filter((name) => !known.current.has(name));

  useEffect(() => {
    let isCurrent = true;
    const read = async () => {
      for (const name of (JSON.parse(wanted) as string[]).filter((one) => !known.current.has(one))) {
        const found = await expand(client, name);
        if (!isCurrent) return;
        if ('error' in found) return setError(found.error);
        known.current.set(name, found);
        setTurn((before) => before + 1);
      }
    };
    setError(undefined);
    void read();
    return () => {
      isCurrent = false;
    };
  }, [client, wanted, turn === -1]);

  return {
    list: entities.flatMap((name) => known.current.get(name) ?? []),
    isLoading: missing.length > 0 && !error,
    error,
    retry: () => setTurn(-1),
  };
}

async function expand(client: Client, asked: string): Promise<Expansion | { error: CombinedError }> {
  const named = await client.query(namesOfEntity, { entity: asked });
  if (named.error) return { error: named.error };
  const name = named.data?.exploreGraph?.entity ?? asked;
  const names = [...new Set([keyOf(name), ...(named.data?.exploreGraph?.knownAs ?? [])])];
  const filter = { or: [{ sourceNormalized: { in: names } }, { targetNormalized: { in: names } }] };
  const related = await client.query(relationsOfEntity, { first: MAX_RELATIONS, filter });
  if (related.error) return { error: related.error };
  const page = related.data?.entityRelationships;
  return {
    asked,
    key: keyOf(name),
    name,
    names,
    relations: present(page?.nodes),
    hasMore: page?.pageInfo.hasNextPage ?? false,
  };
}

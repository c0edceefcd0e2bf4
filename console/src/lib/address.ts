// The state of a page stands in its address, so that bookmarks and the back button work.
import { useCallback } from 'preact/hooks';
import { useSearchParams } from 'wouter-preact';

export type Change = Record<string, string | readonly string[] | null | undefined>;

export interface Address {
  get(name: string): string;
  all(name: string): string[];
  /** Null, '' and [] leave a name out. `replace` makes no entry in the history, for what changes while somebody types. */
  set(change: Change, options?: { replace?: boolean }): void;
}

export function useAddress(): Address {
  const [params, setParams] = useSearchParams();
  const set = useCallback(
    (change: Change, { replace = false }: { replace?: boolean } = {}) =>
      setParams(
        (before: URLSearchParams) => {
          const after = new URLSearchParams(before);
          for (const [name, value] of Object.entries(change)) {
            after.delete(name);
            for (const one of Array.isArray(value) ? value : [value]) if (one) after.append(name, one);
          }
          return after;
        },
        { replace },
      ),
    [setParams],
  );
  return { get: (name) => params.get(name) ?? '', all: (name) => params.getAll(name), set };
}

// Reading and changing data: thin wrappers of urql that all pages use, so that they load, fail, poll and report alike.
import {
  type AnyVariables,
  type CombinedError,
  createRequest,
  type TypedDocumentNode,
  useMutation,
  useQuery,
} from '@urql/preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';

export interface Loaded<Data> {
  data: Data | undefined;
  error: CombinedError | undefined;
  /** No data yet. */
  isLoading: boolean;
  /** Data is shown, and newer data is being fetched. */
  isRefreshing: boolean;
  refresh(): void;
}

export interface ReadOptions {
  /** Reads again this often, while the tab is visible. */
  pollMs?: number;
  /** Show what was read before as it is, and read again only when asked to: for searches, each of which leaves an audit row. */
  isKept?: boolean;
  /** Do not ask. */
  skip?: boolean;
}

export function useData<Data, Variables extends AnyVariables>(
  query: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  { pollMs, skip = false, isKept = false }: ReadOptions = {},
): Loaded<Data> {
  const [{ data, error, fetching, stale, operation }, execute] = useQuery({
    query,
    variables,
    pause: skip,
    requestPolicy: isKept ? 'cache-first' : 'cache-and-network',
  } as Parameters<typeof useQuery<Data, Variables>>[0]);
  const refresh = useCallback(() => execute({ requestPolicy: 'network-only' }), [execute]);
  usePolling(refresh, skip ? undefined : pollMs);
  // Right after the variables have changed, the data is still that of the former ones.
  const isFormer = !skip && operation !== undefined && operation.key !== createRequest(query, variables).key;
  return {
    data,
    error,
    isLoading: fetching && data === undefined,
    isRefreshing: fetching || stale || isFormer,
    refresh,
  };
}

/** Calls `task` every so often while the tab is visible, and once when it becomes visible again. */
export function usePolling(task: () => void, everyMs: number | undefined): void {
  const latest = useRef(task);
  latest.current = task;
  useEffect(() => {
    if (everyMs === undefined) return;
    let last = Date.now();
    const run = () => {
      if (document.hidden || Date.now() - last < everyMs) return;
      last = Date.now();
      latest.current();
    };
    const timer = setInterval(run, everyMs);
    document.addEventListener('visibilitychange', run);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', run);
    };
  }, [everyMs]);
}

export interface Action<Data, Variables> {
  /** Resolves to the data, or to null if it failed; then `error` says why. */
  run(variables: Variables): Promise<Data | null>;
  isBusy: boolean;
  error: CombinedError | undefined;
  reset(): void;
}

export function useAction<Data, Variables extends AnyVariables>(
  mutation: TypedDocumentNode<Data, Variables>,
): Action<Data, Variables> {
  const [{ fetching }, execute] = useMutation<Data, Variables>(mutation);
  const [error, setError] = useState<CombinedError>();
  const run = useCallback(
    async (variables: Variables) => {
      setError(undefined);
      const result = await execute(variables);
      if (!result.error) return result.data ?? null;
      setError(result.error);
      return null;
    },
    [execute],
  );
  return useMemo(() => ({ run, isBusy: fetching, error, reset: () => setError(undefined) }), [run, fetching, error]);
}

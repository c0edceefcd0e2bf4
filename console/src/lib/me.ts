// Who is signed in. The page uses it to leave out what the database would refuse; the database decides.
import type { ResultOf } from './graphql.ts';
import { graphql } from './graphql.ts';
import { createStore, useStore } from './store.ts';

export const whoAmI = graphql(`
  query WhoAmI {
    whoAmI {
      caller creator role tenantId tenantName orgId userId projects readableScopes writableScopes isAdmin isReadOnly canCleanUp
    }
  }
`);

export type Me = NonNullable<ResultOf<typeof whoAmI>['whoAmI']>;

export const me = createStore<Me | null>(null);

/** Only below the shell, which shows pages once it knows who is signed in. */
export function useMe(): Me {
  return useStore(me)!;
}

/** Lists as the API types them, which may hold null there only. */
export const present = <Value>(list: readonly (Value | null)[] | null | undefined): Value[] =>
  (list ?? []).filter((value): value is Value => value !== null);

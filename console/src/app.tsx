// Signed in or not, and the page of the address.
import { Provider } from '@urql/preact';
import { useEffect, useMemo } from 'preact/hooks';
import { Redirect, Route, Router, Switch } from 'wouter-preact';
import { Button } from './components/button.tsx';
import { Lazy } from './components/lazy.tsx';
import { PageView } from './components/page-view.tsx';
import { Empty, Failure, Loading } from './components/states.tsx';
import { Toasts } from './components/toast.tsx';
import { createApi } from './lib/client.ts';
import { useData } from './lib/data.ts';
import { me, whoAmI } from './lib/me.ts';
import { pages } from './lib/pages.ts';
import { session, signOut } from './lib/session.ts';
import { useStore } from './lib/store.ts';
import { Shell } from './shell.tsx';
import { SignIn } from './sign-in.tsx';

export function App() {
  const { secret } = useStore(session);
  const client = useMemo(() => (secret === null ? null : createApi(secret)), [secret]);
  return (
    <Router base="/console">
      {client === null ? (
        <SignIn />
      ) : (
        // Another key gets nothing of what the former one has read.
        <Provider value={client} key={secret}>
          <SignedIn />
        </Provider>
      )}
      <Toasts />
    </Router>
  );
}

function SignedIn() {
  const answer = useData(whoAmI, {});
  const caller = answer.data?.whoAmI ?? null;
  const isKnown = useStore(me) !== null;
  useEffect(() => {
    if (caller) me.set(caller);
  }, [caller]);
  useEffect(() => () => me.set(null), []);
  if (answer.error && !caller) {
    return (
      <main class="bare">
        <Failure error={answer.error} onRetry={answer.refresh} />
        <Button onClick={() => signOut()}>Sign out</Button>
      </main>
    );
  }
  if (!isKnown)
    return (
      <main class="bare">
        <Loading label="Signing in" />
      </main>
    );
  return (
    <Shell>
      <Switch>
        <Route path="/">
          <Redirect to={pages[0]!.path} replace />
        </Route>
        {pages.map((page) => (
          <Route key={page.path} path={page.path}>
            {(params) => (
              <Lazy
                key={page.path}
                name={page.path}
                load={page.load}
                params={params as Record<string, string>}
                frame={(shown) => <main class="page">{shown}</main>}
              />
            )}
          </Route>
        ))}
        <Route>
          <PageView title="Not found">
            <Empty title="There is no such page">The address may be old. Choose a page on the left.</Empty>
          </PageView>
        </Route>
      </Switch>
    </Shell>
  );
}

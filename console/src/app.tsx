// Signed in or not, and the page of the address.
import { Provider } from '@urql/preact';
import type { ComponentType } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Redirect, Route, Router, Switch } from 'wouter-preact';
import { Button } from './components/button.tsx';
import { PageView } from './components/page-view.tsx';
import { Empty, Failure, Loading } from './components/states.tsx';
import { Toasts } from './components/toast.tsx';
import { createApi } from './lib/client.ts';
import { useData } from './lib/data.ts';
import { me, whoAmI } from './lib/me.ts';
import { type Page, pages } from './lib/pages.ts';
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
            {(params) => <Lazy page={page} params={params as Record<string, string>} />}
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

const opened = new Map<string, ComponentType<Record<string, string>>>();

function Lazy({ page, params }: { page: Page; params: Record<string, string> }) {
  const [View, setView] = useState(() => opened.get(page.path));
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    if (View) return;
    page.load().then(
      (module) => {
        opened.set(page.path, module.default);
        setView(() => module.default);
      },
      // A newer version of the server has other files.
      () => setBroken(true),
    );
  }, [page, View]);
  if (View) return <View {...params} key={page.path} />;
  return (
    <main class="page">
      {isBroken ? (
        <Empty title="This page could not be loaded">
          <Button onClick={() => location.reload()}>Load it again</Button>
        </Empty>
      ) : (
        <Loading />
      )}
    </main>
  );
}

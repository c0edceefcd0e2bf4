import { useState } from 'preact/hooks';
import { Button } from './components/button.tsx';
import { TextField } from './components/field.tsx';
import { session, signIn } from './lib/session.ts';
import { useStore } from './lib/store.ts';

export function SignIn() {
  const { notice } = useStore(session);
  const [secret, setSecret] = useState('');
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const given = secret.trim().replace(/^bearer +/i, '');
    if (given) signIn(given);
  };
  return (
    <main class="bare" id="content">
      <h1>l9-memory</h1>
      <p class="about">What your agents remember, who may see it, and why.</p>
      {notice && (
        <p class="notice" role="alert">
          {notice}
        </p>
      )}
      <form onSubmit={submit}>
        <TextField
          label="API key or token"
          type="password"
          value={secret}
          onInput={setSecret}
          hint="It stays in this tab and is sent only to this server."
        />
        <Button type="submit" look="primary" isDisabled={!secret.trim()}>
          Sign in
        </Button>
      </form>
      <section class="help">
        <h2>You are at the machine of the server?</h2>
        <p>
          <code>l9-memory console</code> (in a clone: <code>npm run console</code>) prints a link that signs you in. It
          is valid once, for ten minutes.
        </p>
      </section>
    </main>
  );
}

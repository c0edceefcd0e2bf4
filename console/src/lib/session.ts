// The key or token of the person, kept for this tab only, and how it gets here: pasted, or from the one-time code of a link.
import { createStore } from './store.ts';

const SLOT = 'l9-memory.secret';

export interface Session {
  /** Null: nobody is signed in. */
  secret: string | null;
  /** Why somebody has to sign in again. */
  notice: string | null;
}

export const session = createStore<Session>({ secret: sessionStorage.getItem(SLOT), notice: null });

export function signIn(secret: string): void {
  sessionStorage.setItem(SLOT, secret);
  session.set({ secret, notice: null });
}

export function signOut(notice: string | null = null): void {
  sessionStorage.removeItem(SLOT);
  session.set({ secret: null, notice });
}

/** The code in the fragment of this address. It leaves the address, and so the history, before it is used. */
export function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code !== null) history.replaceState(null, '', location.pathname + location.search);
  return code;
}

export async function signInWithCode(code: string): Promise<void> {
  const response = await fetch('/console/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code }),
  }).catch(() => null);
  const answer = await response?.json().catch(() => null);
  if (response?.ok) signIn(answer.token);
  // A person who is signed in with a good key stays signed in after following a used link.
  else if (session.get().secret === null)
    signOut(answer?.errors?.[0]?.message ?? 'The server could not be reached. Load this page again.');
}

import { useMe } from '../lib/me.ts';

/** Who saved a memory, and whether that is the person who is signed in. */
export function Writer({ name, isOwn }: { name: string | undefined; isOwn?: boolean | null }) {
  const me = useMe();
  return (
    <>
      {name}
      {(isOwn ?? name === me.creator) && <span class="muted"> (you)</span>}
    </>
  );
}

// What the caller can do with a memory, as far as the row tells. The database decides.
import { type Me, present } from '../lib/me.ts';

interface Row {
  scope: string;
  metadata?: { creator?: string } | null;
  textCreator?: string | null;
  reviewState?: string | null;
}

export function mayChange(me: Me, { scope, metadata, textCreator, reviewState }: Row): boolean {
  if (!present(me.writableScopes).includes(scope)) return false;
  return me.isAdmin === true || (metadata?.creator === me.creator && !textCreator && reviewState !== 'rejected');
}

// Where the server replicates synchronously, PostgreSQL ends the wait for a replica when the time of the statement is over, and reports
// the commit as if all were well, behind a warning. A failover would lose it, so that it must not be acknowledged.
import type pg from 'pg';
import { KnownError } from '../base/errors.ts';

/** The function of PostgreSQL that warns. Its text depends on the language of the server. */
const WARNS = 'SyncRepWaitForLSN';

const unconfirmed = new WeakSet<pg.ClientBase>();

/** Notes the warnings of this client. */
export function watchReplication(client: pg.ClientBase): void {
  client.on('notice', ({ routine }) => {
    if (routine === WARNS) unconfirmed.add(client);
  });
}

/** Throws L9BSY if the last commit of this client was not confirmed by a replica. */
export function requireReplicated(client: pg.ClientBase): void {
  if (unconfirmed.delete(client))
    throw new KnownError('L9BSY', 'no replica has confirmed the write in time', null, 'Repeat it in a second.');
}

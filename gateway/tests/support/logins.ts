// Database sessions of other logins than the gateway's, on either engine.
import pg from 'pg';
import type { House } from './house.ts';

type Session = pg.ClientBase;
type Place = Pick<House, 'home' | 'gateway'>;

/** Runs `work` in a session whose session_user is this login, which need not be able to log in over the network. */
export const asLogin = <T>(house: Place, login: string, work: (session: Session) => Promise<T>): Promise<T> =>
  asSuperuser(house, async (session) => {
    await session.query(`set session authorization ${pg.escapeIdentifier(login)}`);
    return work(session);
  });

/** Runs `work` as the superuser, whom no policy binds: to look behind every policy, or to break something and see who notices. */
export async function asSuperuser<T>(house: Place, work: (session: Session) => Promise<T>): Promise<T> {
  if (house.home.superuserUrl) {
    const client = new pg.Client({ connectionString: house.home.superuserUrl });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }
  // The embedded engine has one session, which was made by its superuser: it is theirs for as long as this takes.
  const client = await house.gateway.database.pool.connect();
  try {
    await client.query('set session authorization postgres');
    return await work(client);
  } finally {
    await client.query('rollback');
    await client.query('reset role');
    await client.query('set session authorization postgres');
    await client.query('set session authorization l9_gateway');
    client.release();
  }
}

/** As a DBA with the rights of l9_owner, and no identity. */
// biome-ignore lint/suspicious/noExplicitAny: rows differ by query
export const asOwner = (house: Place, query: string, values: unknown[] = []): Promise<any[]> =>
  asLogin(house, 'l9_owner', async (session) => (await session.query(query, values)).rows);

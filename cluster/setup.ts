// Starts PgBouncer in front of the server of TEST_DATABASE_URL before the tests, for the gateways that they start.
import { startPgBouncer } from './support/pgbouncer.ts';
import { openWorkplace, programs, type Workplace } from './support/programs.ts';

// The password of db/tests/support/databases.ts.
const PASSWORD = 'for-tests-only';

let place: Workplace | undefined;

export async function setUp(): Promise<void> {
  const root = programs();
  const url = process.env.TEST_DATABASE_URL;
  if (!root || !url)
    throw new Error('needs `.ci/cluster install`, and TEST_DATABASE_URL, such as `.ci/postgres start` prints');
  place = openWorkplace(root);
  process.env.TEST_PGBOUNCER_PORT = String(await startPgBouncer(place, new URL(url), PASSWORD));
}

export const tearDown = async (): Promise<void> => place?.close();

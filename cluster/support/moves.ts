// Two databases between which a tenant moves, by a command that waits at a step until a test lets it go on or ends it.
import { once } from 'node:events';
import { eventually } from '../../db/tests/support/eventually.ts';
import { addTenant } from '../../db/tests/support/tenants.ts';
import { openTestDatabase, type TestDatabase } from '../../db/tests/support/test-database.ts';
import { nameOf } from '../../gateway/tests/commands/support/tenants.ts';
import { spawnCommand } from '../../gateway/tests/support/command.ts';

const WAITS = `
  create schema test_waits;
  create table test_waits.waits (step text);
  grant usage on schema test_waits to public;
  grant select on test_waits.waits to public;
  create function test_waits.wait_a_while() returns trigger language plpgsql as $$ begin
    while exists (select from test_waits.waits w where w.step = tg_argv[0]) loop perform pg_sleep(0.1); end loop;
    return coalesce(new, old); end $$;
  create trigger _999_arrive before insert on public.packet_store for each row execute function test_waits.wait_a_while('copy');
  create trigger _999_leave before delete on public.packet_store for each row execute function test_waits.wait_a_while('remove');
  create trigger _999_vector before insert on public.memory_embeddings for each row execute function test_waits.wait_a_while('vector');
  alter table public.packet_store enable always trigger _999_arrive;
  alter table public.packet_store enable always trigger _999_leave;
  create trigger _999_arriving before insert on identity.tenant_moves
    for each row when (new.state = 'arriving') execute function test_waits.wait_a_while('arriving');
  create trigger _999_moved before update on identity.tenant_moves
    for each row when (new.state = 'moved') execute function test_waits.wait_a_while('moved');
  create trigger _999_arrived before update on identity.tenant_moves
    for each row when (new.state = 'arrived') execute function test_waits.wait_a_while('arrived')`;

export type Step = 'copy' | 'remove' | 'vector' | 'arriving' | 'moved' | 'arrived';
export type Claims = Awaited<ReturnType<typeof addTenant>>;
export type Place = Pick<TestDatabase, 'asSuperuser' | 'sql' | 'superuserUrl' | 'inSuperuserSession'>;

/** Has the steps of moves wait in this database while their names are in test_waits.waits. */
export const addWaits = (db: Pick<Place, 'asSuperuser'>): Promise<unknown> => db.asSuperuser(WAITS);
export const wait = (db: Pick<Place, 'asSuperuser'>, step: Step) =>
  db.asSuperuser('insert into test_waits.waits values ($1)', [step]);
export const goOn = (db: Pick<Place, 'asSuperuser'>, step: Step) =>
  db.asSuperuser('delete from test_waits.waits where step = $1', [step]);

const WAITING = "from pg_stat_activity where datname = $1 and wait_event = 'PgSleep'";

/** Whether a step waits in this database. */
export const isWaiting = async (db: Place): Promise<boolean> =>
  (await db.asSuperuser(`select ${WAITING}`, [nameOf(db)])).length > 0;

/** Ends the sessions whose steps wait in this database. */
export const endWaiting = (db: Place): Promise<unknown> =>
  eventually(async () => {
    const ended = await db.asSuperuser(`select pg_terminate_backend(pid) ${WAITING}`, [nameOf(db)]);
    return ended.length === 0;
  });

/** Two databases, the first with the tenant acme of 20 memories. */
export async function openMovingTenant(): Promise<{ databases: [TestDatabase, TestDatabase]; claims: Claims }> {
  const databases: [TestDatabase, TestDatabase] = [await openTestDatabase(), await openTestDatabase()];
  const [db] = databases;
  const claims = await addTenant(db, 'acme');
  await db.asSuperuser("update public.tenants set route = 'acme' where tenant_id = $1", [
    claims['jwt.claims.tenant_id'],
  ]);
  for (let n = 0; n < 20; n++)
    await db.sql('C', 'select public.save_memory($1, project_id => $2)', [`Note ${n} of the tenant.`, 'l9'], claims);
  for (const each of databases) await addWaits(each);
  return { databases, claims };
}

/** The state of the tenant's move in this database; null: it has never moved. */
export const stateIn = async (db: Place, claims: Claims): Promise<string | null> =>
  (
    await db.asSuperuser('select state from identity.tenant_moves where tenant_id = $1', [
      claims['jwt.claims.tenant_id'],
    ])
  )[0]?.state ?? null;

/** Whether this database serves a caller of the tenant. */
export const serves = (db: Place, claims: Claims): Promise<boolean> =>
  db.sql('C', 'select identity.current_caller() as caller', [], claims).then(
    ([{ caller }]) => caller === 'C',
    (error) => {
      if (error.code !== 'L9BSY') throw error;
      return false;
    },
  );

/** Runs the command in a process of its own. */
export function moving(source: Place, target: Place, home: string, options: string[] = []) {
  const child = spawnCommand(['tenant', 'move', 'acme', '--database', nameOf(source), ...options], {
    home,
    env: { ROOT_DATABASE_URL: source.superuserUrl!, TARGET_DATABASE_URL: target.superuserUrl! },
  });
  let said = '';
  child.stderr.on('data', (part) => {
    said += part;
  });
  const ended = once(child, 'close') as Promise<[number | null]>;
  return {
    child,
    /** Rejects if the command ends before `look` gives something. */
    until: (look: () => Promise<boolean>) =>
      eventually(async () => {
        if (child.exitCode !== null) throw new Error(`the command ended: ${said}`);
        return look();
      }),
    /** Its exit code, and what it said. */
    async end(): Promise<[number | null, string]> {
      const [code] = await ended;
      return [code, said];
    },
    async kill(): Promise<void> {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

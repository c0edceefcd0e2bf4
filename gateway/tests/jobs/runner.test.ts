import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { keepRunning } from '../../src/jobs/runner.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describeOnServer('background jobs', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  it('continues after one job could not be marked as done while others ran', async () => {
    const isSealed = async () =>
      !(await gateway.instance.database.workerPool.query('select audit.is_audit_unsealed() as due')).rows[0].due;
    // That the first failed is refused by the database while the others are under way: one fails, then the last is done.
    await gateway.asSuperuser(`
      alter function audit.seal_audit rename to seal_audit_later;
      alter function facts.roll_up_accesses rename to roll_up_accesses_later;
      create function audit.seal_audit() returns bigint language plpgsql as
        $$ begin raise exception 'not now'; end $$;
      create sequence public.turns;
      create function facts.roll_up_accesses() returns bigint language plpgsql security definer as
        $$ begin
          perform pg_sleep(nextval('public.turns'));
          if currval('public.turns') = 1 then raise exception 'not now'; end if;
          return 0;
        end $$;
      create function public.refuse() returns trigger language plpgsql as $$ begin
        if new.last_error is distinct from old.last_error and exists
          (select from graphile_worker._private_tasks t where t.id = new.task_id and t.identifier = 'seal_audit')
        then
          -- Until its worker has the next one.
          perform pg_sleep(0.5);
          raise exception 'no job is ticked off';
        end if;
        return new;
      end $$;
      create trigger refuse before update on graphile_worker._private_jobs
        for each row execute function public.refuse();`);
    await gateway.sql('C', "select public.save_memory('the lighthouse keeper', project_id => 'l9')");
    await gateway.instance.database.workerPool.query(`
      select graphile_worker.add_job(task, '{}', job_key => key)
      from (values (1, 'seal_audit', 'seal_audit'), (2, 'roll_up_accesses', 'roll_up_accesses'), (3, 'roll_up_accesses', 'last'))
        j (n, task, key) order by n`);
    const isLastDone = async () =>
      (await gateway.asSuperuser("select from graphile_worker._private_jobs where key = 'last'")).length === 0;
    await eventually(isLastDone);
    expect(await isSealed()).toBe(false);
    await gateway.asSuperuser(`
      drop trigger refuse on graphile_worker._private_jobs;
      drop function audit.seal_audit();
      drop function facts.roll_up_accesses();
      alter function audit.seal_audit_later rename to seal_audit;
      alter function facts.roll_up_accesses_later rename to roll_up_accesses;`);
    await eventually(isSealed);
  });

  it('asks for jobs again after its first question failed', async () => {
    const { workerPool } = gateway.instance.database;
    const blocking = new pg.Client({ connectionString: gateway.home.superuserUrl! });
    await blocking.connect();
    // The first question for a job asks for the ids of the tasks: the connection breaks while it waits for this lock.
    await blocking.query('begin; lock table graphile_worker._private_tasks');
    const abort = new AbortController();
    const done = Promise.withResolvers<void>();
    const options = { pgPool: workerPool, taskList: { ask_again: () => done.resolve() }, noHandleSignals: true };
    const { stopped } = await keepRunning(options, pino({ level: 'silent' }), abort.signal);
    try {
      // Another session looks, because a transaction sees the same activity until it ends.
      await eventually(async () => {
        const terminated = await gateway.asSuperuser(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'
             and query like 'insert into "graphile_worker"._private_tasks%'`,
        );
        return terminated.length > 0;
      });
      await blocking.query('rollback');
      // The pool may still hold the broken connection.
      await blocking.query("select graphile_worker.add_job('ask_again', '{}')");
      await done.promise;
    } finally {
      // First the lock is given back, which the runner may still wait for.
      await blocking.end();
      abort.abort();
      await stopped;
    }
  });

  it('survives that its listening connection breaks while it is stopped', async () => {
    const { workerPool } = gateway.instance.database;
    const listening = Promise.withResolvers<(error: Error) => void>();
    // LISTEN is never answered, and the connection breaks when the runner, as it stops, no longer wants to listen.
    const connect = (
      connected?: (error: Error | undefined, client: pg.PoolClient | undefined, release: () => void) => void,
    ) =>
      connected
        ? workerPool.connect((error, client, release) => {
            const query = client!.query.bind(client) as (text: string) => Promise<unknown>;
            const answer = async (text: string) => {
              if (text.startsWith('LISTEN')) return new Promise((_, reject) => listening.resolve(reject));
              if (text.startsWith('UNLISTEN')) (await listening.promise)(new Error('the connection is lost'));
              return query(text);
            };
            connected(error, Object.assign(client!, { query: answer }), release);
          })
        : workerPool.connect();
    const pgPool = new Proxy(workerPool, {
      get: (target, name) => {
        const value = name === 'connect' ? connect : Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', note);
    try {
      const abort = new AbortController();
      const options = { pgPool, taskList: { nothing: () => {} }, noHandleSignals: true };
      const { stopped } = await keepRunning(options, pino({ level: 'silent' }), abort.signal);
      await listening.promise;
      abort.abort();
      await stopped;
      await sleep(200);
      expect(unhandled).toStrictEqual([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });
});

import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describeOnServer('background jobs', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());

  it('go on after one could not be ticked off while others were under way', async () => {
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
});

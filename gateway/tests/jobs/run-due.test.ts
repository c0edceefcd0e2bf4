import { EventEmitter } from 'node:events';
import { queryObjects } from 'node:v8';
import { Logger } from 'graphile-worker';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { dueJobs } from '../../src/jobs/run-due.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const RUNS = 50;

const emitters = () => Number(queryObjects(EventEmitter));

describeOnEmbedded('a run of the due jobs of one name', () => {
  const runDue = dueJobs({ logger: new Logger(() => () => {}), noHandleSignals: true });
  let gateway: TestGateway;
  let ran = 0;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
  });
  afterAll(() => gateway.close());
  beforeEach(() => {
    ran = 0;
  });

  const add = (name: string) =>
    gateway.instance.database.workerPool.query("select graphile_worker.add_job($1, '{}')", [name]);
  const run = (name: string) =>
    runDue(
      name,
      () => {
        ran += 1;
      },
      gateway.instance.database.jobPool(name),
    );

  it('leaves nothing in memory', async () => {
    await add('count');
    await run('count');
    const before = emitters();
    for (let n = 0; n < RUNS; n++) {
      await add('count');
      await run('count');
    }
    expect(ran).toBe(1 + RUNS);
    expect(emitters() - before).toBeLessThan(RUNS / 2);
  });

  it('finds jobs again after the lookup of their name failed once', async () => {
    await add('again');
    await gateway.asSuperuser('alter table graphile_worker._private_tasks rename to tasks_elsewhere');
    // graphile-worker prints the error of a worker.
    const { trace } = console;
    console.trace = () => {};
    await run('again').finally(() => {
      console.trace = trace;
    });
    await gateway.asSuperuser('alter table graphile_worker.tasks_elsewhere rename to _private_tasks');
    expect(ran).toBe(0);
    await run('again');
    expect(ran).toBe(1);
  });
});

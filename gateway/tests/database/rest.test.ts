// The embedded engine is ended while nobody needs it, and started again by the next user.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

// Longer than the interval at which the queue for vectors is checked.
const A_WHILE_MS = 6_000;
const WRITERS = 3;
const ROUNDS = 2;

let ended = 0;
const logger = pino({ level: 'debug' }, { write: (line) => line.includes('was idle, and was ended') && ended++ });

describeOnEmbedded('the embedded engine at rest', () => {
  const gateway = useTestGateway({ embedder: standIn, logger });

  /** A job that is between two queries starts the engine again, so this waits until none does. */
  const rest = () =>
    eventually(async () => {
      const { database } = gateway.instance;
      await database.rest!();
      await sleep(500);
      return database.isResting();
    });

  it('is started again by the next call, with what was saved and the channels that are listened to', async () => {
    const { database } = gateway.instance;
    let notified = 0;
    await database.listen('a_channel', () => {
      notified += 1;
    });
    const id = await gateway.save('C', 'saved before the engine was ended');
    await rest();
    expect((await gateway.call('C', 'get_memory', { packet_id: id })).memory.content).toMatch(/was ended/);
    expect(database.isResting()).toBe(false);
    const { rows } = await database.pool.query('select session_user::text as login');
    expect(rows[0].login).toBe('l9_gateway');
    const before = notified;
    await database.pool.query('notify a_channel');
    await eventually(() => notified > before);
  });

  it('is not woken by monitors and by checks for work, which say what they last knew', async () => {
    const { database, url } = gateway.instance;
    const memory = { packet_id: await gateway.save('C', 'the last one') };
    await gateway.embedded();
    const before = await gateway.metrics();
    await rest();
    const ready = await fetch(`${url}/ready`);
    expect([ready.status, await ready.json()]).toMatchObject([200, { status: 'ready', database: 'ok' }]);
    const after = await gateway.metrics();
    await sleep(A_WHILE_MS);
    expect(database.isResting()).toBe(true);
    const backlog = (metrics: string) => metrics.split('\n').filter((line) => line.startsWith('l9_embedding_backlog'));
    expect(backlog(after)).toHaveLength(3);
    expect(backlog(after)).toStrictEqual(backlog(before));
    expect((await gateway.call('C', 'get_memory', memory)).memory.content).toBe('the last one');
  });

  it('loses no write and fails no call that comes while it is ended', async () => {
    const { database } = gateway.instance;
    const saved: string[] = [];
    const before = ended;
    while (ended < before + ROUNDS) {
      await eventually(() => database.pools().session!.inUse === 0);
      // These calls come while it is ended.
      const resting = database.rest!();
      const calls = Array.from({ length: WRITERS }, (_, n) => gateway.save('C', `memory ${saved.length + n}`));
      await resting;
      saved.push(...(await Promise.all(calls)));
    }
    expect(new Set(saved).size).toBe(saved.length);
    const found = await gateway.asSuperuser('select packet_id from public.packet_store where packet_id = any ($1)', [
      saved,
    ]);
    expect(found).toHaveLength(saved.length);
  });

  it('is not ended while somebody uses it', async () => {
    const { database } = gateway.instance;
    const client = await database.pool.connect();
    await client.query('begin');
    await database.rest!();
    expect(database.isResting()).toBe(false);
    await client.query('commit');
    client.release();
  });

  it('serves a psql that was connected before it was ended, with the statements that it has prepared', async () => {
    const psql = new pg.Client({ connectionString: gateway.instance.database.psqlUrl });
    await psql.connect();
    const add = { name: 'add', text: 'select $1::int + 1 as sum', values: [1] };
    expect((await psql.query(add)).rows).toStrictEqual([{ sum: 2 }]);
    await rest();
    expect((await psql.query(add)).rows).toStrictEqual([{ sum: 2 }]);
    await psql.end();
  });

  it('closes without being started again', async () => {
    await rest();
    await gateway.instance.close();
    expect(gateway.instance.database.isResting()).toBe(true);
  });
});

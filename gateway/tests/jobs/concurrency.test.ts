// Background jobs must not wait for each other: an embedding provider that hangs holds up nothing but embeddings.
import { eventually } from '../../../db/tests/support/eventually.ts';
import { itOnEmbedded, itOnServer } from '../../../db/tests/support/on-engine.ts';
import type { Embedder } from '../../src/embeddings/index.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

// More than could run at once.
const EMBEDDING_JOBS = 12;

describe('a job', () => {
  let gateway: TestGateway;
  let isHanging = false;
  let answer = () => {};
  beforeEach(async () => {
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const hanging: Embedder = {
      ...standIn,
      embed: async (texts) => {
        isHanging = true;
        await answered;
        return standIn.embed(texts);
      },
    };
    gateway = await startTestGateway({ embedder: hanging, env: { CLEANUP_INTERVAL_SECONDS: '1' } });
    await gateway.sql(
      'C',
      `insert into public.packet_store (envelope, scope) values ('{"content": "It waits."}', 'global')`,
    );
    await gateway.asSuperuser(
      `select graphile_worker.add_job('embed_pending') from generate_series(1, ${EMBEDDING_JOBS})`,
    );
    await eventually(async () => isHanging);
  });
  afterEach(async () => {
    answer();
    await gateway.close();
  });

  const isDeletedInTime = async () => {
    const [{ packet_id: id }] = await gateway.sql(
      'C',
      `insert into public.packet_store (envelope, scope, ttl)
       values ('{"content": "It expires."}', 'global', now() + interval '1 second') returning packet_id`,
    );
    const isGone = async () =>
      (await gateway.asSuperuser('select from public.packet_store where packet_id = $1', [id])).length === 0;
    await eventually(isGone);
    return true;
  };

  it('deletes expired memories and seals on time while the embedding provider hangs', async () => {
    const countSeals = async () =>
      (await gateway.asSuperuser('select count(*)::int as n from public.audit_seals'))[0].n;
    const before = await countSeals();
    for (let round = 0; round < 3; round++) expect(await isDeletedInTime()).toBe(true);
    await eventually(async () => (await countSeals()) > before);
  });

  itOnServer('seals on time while other periodic jobs take very long', async () => {
    // Each waits in the database for a lock that this session holds.
    const held = await gateway.instance.database.pool.connect();
    await held.query('select pg_advisory_lock(1)');
    const waiting = 'perform pg_catalog.pg_advisory_xact_lock_shared(1);';
    await gateway.asSuperuser(`
      alter function facts.roll_up_accesses rename to roll_up_accesses_later;
      alter function ranking.count_stale_audiences rename to count_stale_audiences_later;
      alter procedure public.refresh_memory_views rename to refresh_memory_views_later;
      create function facts.roll_up_accesses() returns bigint language plpgsql as $$ begin ${waiting} return 0; end $$;
      create function ranking.count_stale_audiences(integer) returns integer language plpgsql as
        $$ begin ${waiting} return 0; end $$;
      create procedure public.refresh_memory_views() language plpgsql as $$ begin ${waiting} end $$;
      select graphile_worker.add_job(name, '{}', job_key => name)
      from unnest('{roll_up_accesses, count_words, refresh_memory_views}'::text[]) as name;`);
    const lockWaits = async () =>
      (await gateway.asSuperuser("select from pg_catalog.pg_locks where locktype = 'advisory' and not granted")).length;
    await eventually(async () => (await lockWaits()) === 3);
    await gateway.save('C', 'saved while three jobs wait');
    const isSealed = async () => !(await gateway.asSuperuser('select audit.is_audit_unsealed() as due'))[0].due;
    await eventually(isSealed);
    expect(await lockWaits()).toBe(3);
    await held.query('select pg_advisory_unlock(1)');
    held.release();
  });
});

itOnEmbedded('gives each job a turn, however much another asks for', async () => {
  const gateway = await startTestGateway({ embedder: standIn });
  try {
    const { database } = gateway.instance;
    const held = await database.pool.connect();
    const order: string[] = [];
    const ask = (job: string) =>
      database
        .jobPool(job)
        .query('select')
        .then(() => order.push(job));
    const asked = [...Array.from({ length: 20 }, () => ask('long')), ask('short')];
    held.release();
    await Promise.all(asked);
    expect(order.indexOf('short')).toBeLessThanOrEqual(1);
  } finally {
    await gateway.close();
  }
});

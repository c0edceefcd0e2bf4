// Background jobs must not wait for each other: an embedding provider that hangs holds up nothing but embeddings.
import { eventually } from '../../../db/tests/support/eventually.ts';
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

  it('deletes and seals on time though an embedding provider hangs', async () => {
    const countSeals = async () =>
      (await gateway.asSuperuser('select count(*)::int as n from public.audit_seals'))[0].n;
    const before = await countSeals();
    for (let round = 0; round < 3; round++) expect(await isDeletedInTime()).toBe(true);
    await eventually(async () => (await countSeals()) > before);
  });
});

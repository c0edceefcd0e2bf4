import { eventually } from '../../../db/tests/support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('the job that deletes expired memories', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn, env: { CLEANUP_INTERVAL_SECONDS: '1' } });
  });
  afterAll(() => gateway.close());

  it('deletes memories whose ttl has passed, and audits it', async () => {
    await gateway.sql(
      'C',
      "select public.save_memory('gone soon', project_id => 'l9', ttl => now() + interval '1 second')",
    );
    await gateway.sql('C', "select public.save_memory('here to stay', project_id => 'l9')");
    const contents = async () =>
      (await gateway.asSuperuser('select content from public.packet_store order by content')).map(
        ({ content }) => content,
      );
    await eventually(async () => (await contents()).length === 1);
    expect(await contents()).toStrictEqual(['here to stay']);
    const [row] = await gateway.sql(
      'L',
      "select caller, creator, source, details from public.audit_log where operation = 'CLEANUP'",
    );
    expect([row.caller, row.creator, row.source, row.details.deleted]).toStrictEqual([
      ...['db:l9_worker', 'job', 'l9-memory'],
      1,
    ]);
    const nameless = await gateway.sql(
      'L',
      "select operation, table_name from public.audit_log where caller = 'db:l9_worker' and (creator is null or source is null)",
    );
    expect(nameless, 'nor is any other row of a job').toStrictEqual([]);
  });
});

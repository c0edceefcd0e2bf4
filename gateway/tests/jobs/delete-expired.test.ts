import { eventually } from '../../../db/tests/support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('memories whose ttl has passed', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn, env: { CLEANUP_INTERVAL_SECONDS: '1' } });
  });
  afterAll(() => gateway.close());

  it('are deleted by themselves, on the record', async () => {
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
    const [row] = await gateway.sql('L', "select caller, details from public.audit_log where operation = 'CLEANUP'");
    expect([row.caller, row.details.deleted]).toStrictEqual(['db:l9_worker', 1]);
  });
});

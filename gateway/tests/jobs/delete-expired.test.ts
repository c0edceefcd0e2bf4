import { eventually } from '../support/eventually.ts';
import { type House, openHouse } from '../support/house.ts';
import { standIn } from '../support/stand-in.ts';

describe('memories whose ttl has passed', () => {
  let house: House;
  beforeAll(async () => {
    house = await openHouse({ embedder: standIn, env: { CLEANUP_INTERVAL_SECONDS: '1' } });
  });
  afterAll(() => house.close());

  it('are deleted by themselves, on the record', async () => {
    await house.sql(
      'C',
      "select public.save_memory('gone soon', project_id => 'l9', ttl => now() + interval '1 second')",
    );
    await house.sql('C', "select public.save_memory('here to stay', project_id => 'l9')");
    const contents = async () =>
      (await house.asSuperuser('select content from public.packet_store order by content')).map(
        ({ content }) => content,
      );
    await eventually(async () => (await contents()).length === 1);
    expect(await contents()).toStrictEqual(['here to stay']);
    const [row] = await house.sql('L', "select caller, details from public.audit_log where operation = 'CLEANUP'");
    expect([row.caller, row.details.deleted]).toStrictEqual(['db:l9_worker', 1]);
  });
});

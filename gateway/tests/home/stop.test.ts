import { startTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

it('says on /ready that it stops, and answers calls until the time to notice is over', async () => {
  const gateway = await startTestGateway({ embedder: standIn, env: { DRAIN_SECONDS: '3' } });
  const { url } = gateway.instance;
  const id = await gateway.save('C', 'saved before the stop');
  const closed = gateway.instance.close();
  const ready = await fetch(`${url}/ready`);
  expect([ready.status, await ready.json()]).toStrictEqual([503, { status: 'stopping' }]);
  const answered = await gateway.call('C', 'get_memory', { packet_id: id });
  expect(answered.memory.content).toBe('saved before the stop');
  await closed;
  await expect(fetch(`${url}/ready`)).rejects.toThrow();
  await gateway.home.drop();
});

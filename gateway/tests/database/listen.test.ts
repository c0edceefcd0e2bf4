import { once } from 'node:events';
import { createServer } from 'node:net';
import { pino } from 'pino';
import { describeOnServer } from '../../../db/tests/support/on-engine.ts';
import { listenOnServer } from '../../src/database/listen.ts';
import { createTestHome, type TestHome } from '../support/home.ts';
import { startRelay } from '../support/relay.ts';

describeOnServer('listening for notifications of a server', () => {
  let home: TestHome;
  beforeAll(async () => {
    home = await createTestHome();
  });
  afterAll(() => home.drop());

  it('stops while it connects again to a server that does not answer yet', async () => {
    const relay = await startRelay(home.env.DATABASE_DIRECT_URL ?? home.env.DATABASE_URL!);
    const stop = await listenOnServer(relay.url, 'a channel', pino({ level: 'silent' }), () => {});
    relay.close();
    const mute = createServer((socket) => void socket.resume());
    mute.listen(Number(new URL(relay.url).port), '127.0.0.1');
    await once(mute, 'connection');
    await stop();
    mute.close();
  }, 30_000);
});

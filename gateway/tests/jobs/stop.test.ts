// A server that is told to stop does not wait for a long memory to be embedded.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Embedder } from '../../src/embeddings/index.ts';
import { startTestGateway } from '../support/gateway.ts';

describe('a gateway that stops', () => {
  it('leaves the rest of a long memory to the next start', async () => {
    let embedded = 0;
    const slow: Embedder = {
      model: 'slow',
      dimensions: 3,
      chunk: async (text) =>
        [...Array(600).keys()].map((place) => ({ text: `${text} ${place}`, start: place, end: place + 1 })),
      embed: async (texts) => {
        await sleep(100 * texts.length);
        embedded += texts.length;
        return texts.map(() => [1, 0, 0]);
      },
      close: async () => {},
    };
    const gateway = await startTestGateway({ embedder: slow });
    await gateway.save('C', 'A long memory.');
    while (embedded === 0) await sleep(50);
    const start = performance.now();
    await gateway.close();
    expect(performance.now() - start).toBeLessThan(8_000);
    expect(embedded).toBeLessThan(200);
  });
});

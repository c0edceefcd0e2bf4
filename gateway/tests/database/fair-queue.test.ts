// Who gets a connection next, and who is refused. No database is needed to see that.
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { createFairQueue } from '../../src/database/fair-queue.ts';

const FOREVER = 2_000_000_000;

/** Takes turns for these clients one after the other, and gives the order in which they get them. */
async function order(clients: readonly string[], options: { slots?: number; maxWaiting?: number } = {}) {
  const queue = createFairQueue({ slots: 1, maxWaiting: 1_000, maxWaitMs: FOREVER, ...options });
  const [first, ...others] = clients;
  const got: string[] = [];
  const refused: string[] = [];
  const end = await queue.take(first!);
  const waiting = others.map((client) =>
    queue.take(client).then(
      async (end) => {
        got.push(client);
        // A turn lasts longer than the step that gives it.
        await null;
        end();
      },
      (error: { sqlstate: string }) => refused.push(`${client} ${error.sqlstate}`),
    ),
  );
  end();
  await Promise.all(waiting);
  return { got, refused, queue };
}

describe('the queue of a pool', () => {
  it('lets clients take turns, however many requests each has', async () => {
    const { got } = await order(['a', 'a', 'a', 'a', 'b', 'c', 'b']);
    expect(got).toStrictEqual(['a', 'b', 'c', 'a', 'b', 'a']);
  });

  it('refuses the newest request of the client with the most when too many wait', async () => {
    const { got, refused, queue } = await order(['a', 'a', 'a', 'a', 'b', 'c'], { maxWaiting: 3 });
    expect(got).toStrictEqual(['a', 'b', 'c']);
    expect(refused).toStrictEqual(['a L9BSY', 'a L9BSY']);
    expect(queue.waiting()).toBe(0);
  });

  it('refuses a client that itself has the most', async () => {
    const { got, refused } = await order(['a', 'b', 'a', 'a'], { maxWaiting: 2 });
    expect(got).toStrictEqual(['b', 'a']);
    expect(refused).toStrictEqual(['a L9BSY']);
  });

  it('refuses a request that waits too long, and goes on with the others', async () => {
    const queue = createFairQueue({ slots: 1, maxWaiting: 10, maxWaitMs: 20 });
    const end = await queue.take('a');
    await expect(queue.take('b')).rejects.toMatchObject({ sqlstate: 'L9BSY' });
    const patient = queue.takeUnlimited('jobs');
    await sleep(50);
    end();
    (await patient)();
    (await queue.take('b'))();
    expect(queue.waiting()).toBe(0);
  });

  it('refuses a request that waits too long in all its turns together', async () => {
    const queue = createFairQueue({ slots: 1, maxWaiting: 10, maxWaitMs: 200 });
    const request = {};
    const hold = async (ms: number) => {
      const end = await queue.take('other');
      setTimeout(end, ms);
    };
    await hold(120);
    // Two turns that are waited for at once count once.
    const [first, second] = [queue.take('a', request), queue.take('a', request)];
    (await first)();
    (await second)();
    await hold(1_000);
    const began = performance.now();
    await expect(queue.take('a', request)).rejects.toMatchObject({ sqlstate: 'L9BSY' });
    expect(performance.now() - began).toBeLessThan(150);
    await expect(queue.take('a', request)).rejects.toMatchObject({ sqlstate: 'L9BSY' });
  });

  it('gives a request its next turn before those of its client that had none', async () => {
    const queue = createFairQueue({ slots: 1, maxWaiting: 10, maxWaitMs: FOREVER });
    const request = {};
    (await queue.take('a', request))();
    const end = await queue.take('b');
    const got: string[] = [];
    const turns = [queue.take('a', {}), queue.take('a', request), queue.take('b')].map(async (turn, n) => {
      const over = await turn;
      got.push(['new', 'begun', 'other'][n]!);
      over();
    });
    end();
    await Promise.all(turns);
    expect(got).toStrictEqual(['begun', 'other', 'new']);
  });

  it('never refuses work of the gateway itself when too many wait', async () => {
    const queue = createFairQueue({ slots: 1, maxWaiting: 1, maxWaitMs: FOREVER });
    const end = await queue.take('a');
    const jobs = [queue.takeUnlimited('jobs'), queue.takeUnlimited('jobs'), queue.takeUnlimited('jobs')];
    await expect(queue.take('a')).rejects.toMatchObject({ sqlstate: 'L9BSY' });
    end();
    for (const turn of jobs) (await turn)();
  });

  it('ends a turn once, also if it is ended twice', async () => {
    const queue = createFairQueue({ slots: 1, maxWaiting: 10, maxWaitMs: FOREVER });
    const end = await queue.take('a');
    end();
    end();
    await queue.take('a');
    let isTaken = false;
    void queue.take('b').then(() => {
      isTaken = true;
    });
    await sleep(5);
    expect(isTaken).toBe(false);
  });

  it('gives every request a turn, and no more turns at once than there are slots', async () => {
    const requests = fc.array(
      fc.record({ client: fc.constantFrom('a', 'b', 'c'), lasts: fc.integer({ min: 0, max: 3 }) }),
    );
    await fc.assert(
      fc.asyncProperty(requests, fc.integer({ min: 1, max: 3 }), async (asked, slots) => {
        const queue = createFairQueue({ slots, maxWaiting: 1_000, maxWaitMs: FOREVER });
        let running = 0;
        await Promise.all(
          asked.map(async ({ client, lasts }) => {
            const end = await queue.take(client);
            running += 1;
            expect(running).toBeLessThanOrEqual(slots);
            for (let step = 0; step < lasts; step++) await null;
            running -= 1;
            end();
          }),
        );
        expect(queue.waiting()).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});

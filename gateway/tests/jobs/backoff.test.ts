import { EmbedderUnavailable } from '../../src/embeddings/index.ts';
import { backoffSeconds, outagePause } from '../../src/jobs/backoff.ts';

describe('the wait after failures', () => {
  it('doubles with each failure in a row, up to its limit', () => {
    expect([0, 1, 2, 3, 4, 5, 6, 100].map((failures) => backoffSeconds(failures, 60))).toStrictEqual([
      2, 2, 4, 8, 16, 32, 60, 60,
    ]);
    expect(backoffSeconds(5_000, 3600)).toBe(3600);
  });
});

describe('the pause of a provider that is down', () => {
  const down = new EmbedderUnavailable('down');
  const pauseAt = () => {
    let time = 0;
    const pause = outagePause(60, () => time);
    return {
      ...pause,
      wait: (seconds: number) => {
        time += seconds * 1_000;
      },
    };
  };

  it('grows with each outage in a row, and ends with the first answer', () => {
    const pause = pauseAt();
    pause.recordFailure(down);
    pause.wait(1.9);
    expect(pause.isPausing()).toBe(true);
    pause.wait(0.1);
    expect(pause.isPausing()).toBe(false);
    pause.recordFailure(down);
    pause.wait(3.9);
    expect(pause.isPausing()).toBe(true);
    pause.recordSuccess();
    expect(pause.isPausing()).toBe(false);
    pause.recordFailure(down);
    pause.wait(2);
    expect(pause.isPausing()).toBe(false);
  });

  it('counts an outage once that several jobs meet', () => {
    const pause = pauseAt();
    for (let job = 0; job < 5; job++) pause.recordFailure(down);
    pause.wait(2);
    expect(pause.isPausing()).toBe(false);
  });

  it('is not for failures of the database', () => {
    const pause = pauseAt();
    pause.recordFailure(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
    expect(pause.isPausing()).toBe(false);
  });
});

import { createRecent } from '../../src/metrics/recent.ts';

describe('the record of the last hour', () => {
  const start = Date.parse('2026-01-01T12:00:00Z');
  let time = start;
  const recent = createRecent(() => time);
  const minutes = (count: number) => {
    time += count * 60_000;
  };

  it('begins with its start', () => {
    expect(recent.minutes()).toStrictEqual([
      {
        at: '2026-01-01T12:00:00.000Z',
        ...{ calls: 0, refused: 0, failed: 0, meanMs: 0, slowestMs: 0, limited: 0, slow: 0 },
        ...{ embeddingWaiting: null, connectionsWaiting: null, residentBytes: null },
      },
    ]);
  });

  it('tells refusals, which are the fault of callers, from failures', () => {
    recent.called('save_memory', 'ok', 10);
    recent.called('save_memory', 'INVALID_INPUT', 20);
    recent.called('save_memory', 'BUSY', 60);
    recent.called('search_memory', 'INTERNAL_ERROR', 500);
    recent.limited('reads');
    recent.slow('search_memory', 400, 'hybrid');
    recent.sampled({ embeddingWaiting: 3, connectionsWaiting: 0, residentBytes: 1_000 });
    expect(recent.minutes()).toMatchObject([
      { calls: 4, refused: 1, failed: 2, limited: 1, slow: 1, meanMs: 147.5, slowestMs: 500, embeddingWaiting: 3 },
    ]);
    expect(recent.operations()).toStrictEqual([
      { operation: 'search_memory', calls: 1, refused: 0, failed: 1, meanMs: 500, slowestMs: 500 },
      { operation: 'save_memory', calls: 3, refused: 1, failed: 1, meanMs: 30, slowestMs: 60 },
    ]);
    expect(recent.limits()).toStrictEqual([{ limit: 'reads', refused: 1 }]);
  });

  it('has a minute for each in which nothing happened', () => {
    minutes(3);
    recent.called('save_memory', 'ok', 10);
    expect(recent.minutes().map(({ calls }) => calls)).toStrictEqual([4, 0, 0, 1]);
  });

  it('forgets what is older than an hour', () => {
    minutes(57);
    expect(recent.minutes()).toHaveLength(60);
    expect(recent.operations()).toMatchObject([{ operation: 'save_memory', calls: 1 }]);
    expect([recent.slowCalls(), recent.limits()]).toStrictEqual([[], []]);
    minutes(600);
    expect(recent.operations()).toStrictEqual([]);
    expect(recent.minutes()).toHaveLength(60);
  });

  it('keeps the fifty newest slow calls', () => {
    for (let i = 0; i < 60; i++) recent.slow('search_memory', i, null);
    expect(recent.slowCalls().map(({ sqlMs }) => sqlMs)).toStrictEqual(Array.from({ length: 50 }, (_, i) => 59 - i));
  });
});

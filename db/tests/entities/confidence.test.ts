import { useTestDatabase } from '../support/test-database.ts';

describe('noisy_or', () => {
  const db = useTestDatabase({ rollsBack: true });
  const noisyOr = async (confidences: number[], more = '') =>
    (await db.sql('C', `select entities.noisy_or($1${more}) as combined`, [confidences]))[0].combined;

  it('combines confidences to 1 - Π(1 - c), at most 0.99', async () => {
    expect(await noisyOr([0.8])).toBe(0.8);
    expect(await noisyOr([0.8, 0.8])).toBe(0.96);
    expect(await noisyOr([0.5, 0.2, 0.4])).toBe(0.76);
    expect(await noisyOr([0.4, 0.5, 0.2])).toBe(0.76);
    expect(await noisyOr([0.9, 0.9, 0.9])).toBe(0.99);
    expect(await noisyOr([0.9, 0.9, 0.9], ', highest => 1')).toBe(0.999);
  });

  it('returns 0 for no confidences and does not fail on many certain ones', async () => {
    expect(await noisyOr([])).toBe(0);
    expect(await noisyOr(Array(50).fill(1))).toBe(0.99);
    expect(await noisyOr(Array(50).fill(1), ', highest => 1')).toBe(1);
  });
});

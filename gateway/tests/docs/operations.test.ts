import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeOperations } from '../../../scripts/generate/operations.ts';

describe('docs/reference/operations.md', () => {
  it('lists every operation as the gateway offers it', () => {
    const page = readFileSync(
      join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'operations.md'),
      'utf8',
    );
    expect(page, 'run `npm run generate`').toBe(describeOperations());
  });
});

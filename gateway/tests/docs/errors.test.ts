// docs/reference/errors.md, the SQL and the gateway must speak of the same errors.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { errorKinds, KnownError, toPublicError } from '../../src/errors.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const logger = pino({ level: 'silent' });

describe('the page of errors', () => {
  const page = readFileSync(join(root, 'docs', 'reference', 'errors.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(L9\w{3})` \| `(\w+)` \| `([^`]+)` \| (\d+) \|/gm)].map(([, ...cells]) => cells);

  it('has a row for each error of the gateway, with its code and status', () => {
    const told = Object.fromEntries(
      rows.map(([sqlstate, code, , status]) => [sqlstate, { code, httpStatus: Number(status) }]),
    );
    expect(told).toStrictEqual(errorKinds);
    for (const [sqlstate, code, mcp] of rows) expect(mcp).toBe(`${code} (${sqlstate}): …`);
  });

  it('knows every error that the database raises', () => {
    const raised = new Set<string>();
    for (const file of globSync('db/schema/**/*.sql', { cwd: root })) {
      for (const [code] of readFileSync(join(root, file), 'utf8').matchAll(/(?<=')L9[A-Z]{3}(?=')/g)) raised.add(code);
    }
    expect(raised.size).toBeGreaterThanOrEqual(6);
    for (const code of raised) expect(code in errorKinds, code).toBe(true);
  });
});

describe('what a caller is told of an error', () => {
  it('is the message and the field of a known one', () => {
    const shown = toPublicError(new KnownError('L9VAL', 'k: from 1 to 100', 'k'), logger);
    expect([shown.code, shown.message, shown.field]).toStrictEqual(['INVALID_INPUT', 'k: from 1 to 100', 'k']);
  });

  it('is an id and nothing else of an unexpected one', () => {
    const cause = Object.assign(new Error('relation "hush" does not exist'), { code: '42P01', detail: 'a memory' });
    const shown = toPublicError(cause, logger);
    expect(shown.code).toBe('INTERNAL');
    expect(JSON.stringify(shown)).not.toMatch(/hush|memory/);
    expect(shown.message).toMatch(new RegExp(shown.errorId!));
  });

  it('never quotes the value that PostgreSQL quotes', () => {
    for (const code of ['22P02', '23505', '23514', '42501', '57014', '22003']) {
      const cause = Object.assign(new Error('invalid input: "my secret"'), { code, detail: 'Key (x)=(my secret)' });
      const shown = toPublicError(cause, logger);
      expect(shown.code).not.toBe('INTERNAL');
      expect(JSON.stringify(shown), code).not.toContain('secret');
    }
  });
});

// docs/reference/errors.md, the SQL and the gateway must speak of the same errors.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { FIRST_OF_KIND } from '../../src/audit/refusals.ts';
import { errorKinds, isCounted, isOutage, KnownError, toPublicError } from '../../src/base/errors.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const logger = pino({ level: 'silent' });

describe('docs/reference/errors.md', () => {
  const page = readFileSync(join(root, 'docs', 'reference', 'errors.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `(L9\w{3})` \| `(\w+)` \| `([^`]+)` \| (\d+) \| ([^|]+) \|/gm)].map(
    ([, ...cells]) => cells,
  );

  it('lists each error of the gateway with its code and status', () => {
    const told = Object.fromEntries(
      rows.map(([sqlstate, code, , status]) => [sqlstate, { code, httpStatus: Number(status) }]),
    );
    expect(told).toStrictEqual(errorKinds);
    for (const [sqlstate, code, mcp] of rows) expect(mcp).toBe(`${code} (${sqlstate}): …`);
  });

  it('says what each leaves in the audit log', () => {
    const kept = (sqlstate: string) => (isOutage(sqlstate) ? 'nothing' : isCounted(sqlstate) ? 'counted' : 'a row');
    for (const [sqlstate, , , , inLog] of rows) expect([sqlstate, inLog]).toStrictEqual([sqlstate, kept(sqlstate!)]);
    expect(page).toContain(`up to ${FIRST_OF_KIND} a minute`);
  });

  it('lists every error that the database raises', () => {
    const raised = new Set<string>();
    for (const file of globSync('db/schema/**/*.sql', { cwd: root })) {
      for (const [code] of readFileSync(join(root, file), 'utf8').matchAll(/(?<=')L9[A-Z]{3}(?=')/g)) raised.add(code);
    }
    expect(raised.size).toBeGreaterThanOrEqual(6);
    for (const code of raised) expect(code in errorKinds, code).toBe(true);
  });
});

describe('an error answer', () => {
  it('contains the message and field of a documented error', () => {
    const shown = toPublicError(new KnownError('L9VAL', 'k: from 1 to 100', 'k'), logger);
    expect([shown.code, shown.message, shown.field]).toStrictEqual(['INVALID_INPUT', 'k: from 1 to 100', 'k']);
  });

  it('contains nothing but an id for an unexpected error', () => {
    const cause = Object.assign(new Error('relation "hush" does not exist'), { code: '42P01', detail: 'a memory' });
    const shown = toPublicError(cause, logger);
    expect(shown.code).toBe('INTERNAL');
    expect(JSON.stringify(shown)).not.toMatch(/hush|memory/);
    expect(shown.message).toMatch(new RegExp(shown.errorId!));
  });

  it('leaves out values that PostgreSQL quotes', () => {
    for (const code of ['22P02', '23505', '23514', '42501', '57014', '22003']) {
      const cause = Object.assign(new Error('invalid input: "my secret"'), { code, detail: 'Key (x)=(my secret)' });
      const shown = toPublicError(cause, logger);
      expect(shown.code).not.toBe('INTERNAL');
      expect(JSON.stringify(shown), code).not.toContain('secret');
    }
  });
});

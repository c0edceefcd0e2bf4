// Exports and imports through the two functions of the database, as l9-memory export and import do.
import { createHash } from 'node:crypto';
import type { Claims, Sessions } from '../support/sessions.ts';

export interface Exported {
  // biome-ignore lint/suspicious/noExplicitAny: tests name the fields they expect
  header: any;
  lines: string[];
}

/** All that a caller exports, in pages of this size. */
export async function exportAll(
  db: Sessions,
  caller = 'L',
  claims: Claims = {},
  pageSize = 1000,
  options: string[] = [],
): Promise<Exported> {
  const [{ answer }] = await db.sql(caller, 'select public.export_memories() as answer', [], claims);
  const lines: string[] = [];
  for (const { kind, option } of answer.header.counts) {
    if (option && !options.includes(option)) continue;
    let after: unknown = null;
    do {
      const [{ page }] = await db.sql(
        caller,
        'select public.export_memories($1, $2, $3::jsonb, $4) as page',
        [kind, answer.as_of, after === null ? null : JSON.stringify(after), pageSize],
        claims,
      );
      if (page.count > 0) lines.push(...page.lines.split('\n'));
      after = page.cursor;
    } while (after !== null);
  }
  return { header: answer.header, lines };
}

export const kindOf = (line: string) => /^\{"(\w+)"/.exec(line)![1]!;

/** Imports lines, those of one kind at a time. */
export async function importAll(db: Sessions, lines: string[], caller = 'L', claims: Claims = {}) {
  const sum = { stored: 0, present: 0, left_out: 0 };
  for (let start = 0; start < lines.length; ) {
    let end = start + 1;
    while (end < lines.length && kindOf(lines[end]!) === kindOf(lines[start]!)) end += 1;
    const batch = lines.slice(start, end).join('\n');
    const [{ answer }] = await db.sql(
      caller,
      'select public.import_memories($1, $2) as answer',
      [batch, start + 1],
      claims,
    );
    for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += answer[key];
    start = end;
  }
  return sum;
}

/** Lines as the file that `l9-memory export` writes, with an end that fits them. */
export function withSeal(lines: string[]): string {
  const text = lines.map((line) => `${line}\n`).join('');
  const sha256 = createHash('sha256').update(text).digest('hex');
  return `${text}${JSON.stringify({ end: { lines: lines.length, sha256 } })}\n`;
}

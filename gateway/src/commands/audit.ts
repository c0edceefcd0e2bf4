// `l9-memory audit verify` and `l9-memory audit export`, through the running server, as an admin.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { readTime } from '../input/times.ts';
import { type Client, type ClientOptions, connect, Refused, told } from './support/client.ts';
import { startProgress } from './support/progress.ts';

const ROWS_A_REQUEST = 50_000;
const PAGE_SIZE = 1_000;

export interface AuditOptions extends ClientOptions {
  from?: string;
  to?: string;
}

interface Verification {
  ok: boolean;
  seals: string;
  rows: string;
  unsealed: string | null;
  archived: string | null;
  brokenSeal: string | null;
  brokenRow: string | null;
  reason: string | null;
  head: string | null;
  lastSeal: string | null;
  isComplete: boolean;
}

const VERIFY = `query ($from: Datetime, $to: Datetime, $head: String, $afterSeal: BigInt, $maxRows: BigInt) {
  admin {
    verifyAudit(from: $from, to: $to, head: $head, afterSeal: $afterSeal, maxRows: $maxRows) {
      ok seals rows unsealed archived brokenSeal brokenRow reason head lastSeal isComplete
    }
  }
}`;

/** Checks the audit log against its seals in steps. Prints the head, to be stored elsewhere. Returns 1 if it is broken. */
export async function verify(env: NodeJS.ProcessEnv, options: AuditOptions & { head?: string }): Promise<number> {
  return told(async () => {
    const { from, to, head } = period(options);
    const client = await connect(env, options);
    const progress = startProgress('verifying', null);
    let [seals, rows, archived] = [0, 0, 0];
    let last: Verification;
    let afterSeal: string | null = null;
    do {
      const variables = { from, to, head, afterSeal, maxRows: String(ROWS_A_REQUEST) };
      last = (await client.request<{ admin: { verifyAudit: Verification } }>(VERIFY, variables)).admin.verifyAudit;
      seals += Number(last.seals);
      rows += Number(last.rows);
      archived += Number(last.archived ?? 0);
      afterSeal = last.lastSeal;
      progress.update(seals, `${seals} seals, ${rows} rows`);
    } while (last.ok && !last.isComplete);
    progress.stop();

    const unsealed = last.unsealed === null ? '' : `, ${last.unsealed} not sealed yet`;
    const kept = archived > 0 ? `, ${archived} archived` : '';
    process.stdout.write(`${last.ok ? 'ok' : 'BROKEN'}: ${seals} seals, ${rows} rows${kept}${unsealed}\n`);
    if (!last.ok) {
      const where = [
        last.brokenSeal && `seal ${last.brokenSeal}`,
        last.brokenRow && `row ${last.brokenRow}`,
        last.reason,
      ];
      process.stdout.write(`${where.filter(Boolean).join(', ')}\n`);
    }
    process.stdout.write(`head: ${last.head ?? 'nothing is sealed yet'}\n`);
    return last.ok ? 0 : 1;
  });
}

const EXPORT = `mutation ($from: Datetime, $to: Datetime, $after: String, $pageSize: Int) {
  admin { exportAudit(from: $from, to: $to, after: $after, pageSize: $pageSize) { rows cursor to } }
}`;

interface Page {
  rows: unknown;
  cursor: string | null;
  to: string;
}

/** Writes the audit log as JSON lines, a page at a time, to a file or to stdout. */
export async function exportLines(env: NodeJS.ProcessEnv, options: AuditOptions & { output?: string }) {
  return told(async () => {
    const { from, to } = period(options);
    const client = await connect(env, options);
    // Only the owner may read what the database shows only to admins.
    const out = options.output ? createWriteStream(options.output, { mode: 0o600 }) : process.stdout;
    if (options.output) await once(out, 'open');
    const progress = startProgress('exporting', null);
    let count = 0;
    for await (const rows of pages(client, from, to)) {
      count += rows.length;
      const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
      if (!out.write(text)) await once(out, 'drain');
      progress.update(count, `${count} rows`);
    }
    progress.stop();
    if (options.output) {
      out.end();
      await finished(out);
      process.stderr.write(`${count} rows\n`);
    }
    return 0;
  });
}

async function* pages(client: Client, from: string | null, to: string | null): AsyncGenerator<unknown[]> {
  let after: string | null = null;
  let until = to;
  do {
    const variables = { from, to: until, after, pageSize: PAGE_SIZE };
    const { admin } = await client.request<{ admin: { exportAudit: Page } }>(EXPORT, variables);
    const page: Page = admin.exportAudit;
    yield (typeof page.rows === 'string' ? JSON.parse(page.rows) : page.rows) as unknown[];
    after = page.cursor;
    // Rows written during the export, such as its own audit rows, belong to the next export.
    until = page.to;
  } while (after);
}

const period = ({ from, to, ...rest }: AuditOptions & { head?: string }) => {
  for (const [option, value] of Object.entries({ from, to })) {
    if (value !== undefined && !readTime(value))
      throw new Refused(`--${option}: a time such as 2026-11-01 or 2026-11-01T12:00:00Z`);
  }
  const time = (value: string | undefined) => (value === undefined ? null : readTime(value)!.time);
  return { from: time(from), to: time(to), head: rest.head ?? null };
};

// `l9-memory scan`: looks for secrets in what is already stored, through the running server, as an admin.
import { type ClientOptions, connect, told } from './support/client.ts';
import { startProgress } from './support/progress.ts';

const ROWS_A_STEP = 500;

const SCAN = `query ($after: String, $maxRows: Int) {
  admin {
    scanForSecrets(after: $after, maxRows: $maxRows) {
      rowsScanned tableName cursor findings { tableName rowId field pattern }
    }
  }
}`;

interface Step {
  rowsScanned: number;
  tableName: string;
  cursor: string | null;
  findings: { tableName: string; rowId: string; field: string; pattern: string }[];
}

/** Prints the ids of rows with secrets, and the names of the patterns, never a text. Returns 1 if there are any. */
export async function scan(env: NodeJS.ProcessEnv, options: ClientOptions): Promise<number> {
  return told(async () => {
    const client = await connect(env, options);
    const progress = startProgress('scanning', null);
    let [rows, secrets] = [0, 0];
    let after: string | null = null;
    do {
      const variables = { after, maxRows: ROWS_A_STEP };
      const { admin } = await client.request<{ admin: { scanForSecrets: Step } }>(SCAN, variables);
      const step: Step = admin.scanForSecrets;
      for (const { tableName, rowId, field, pattern } of step.findings)
        process.stdout.write(`${tableName} ${rowId} ${field} ${pattern}\n`);
      rows += step.rowsScanned;
      secrets += step.findings.length;
      after = step.cursor;
      progress.update(rows, `${rows} rows, ${secrets} secrets, in ${step.tableName}`);
    } while (after !== null);
    progress.stop();
    process.stdout.write(`${secrets === 0 ? 'ok: no secrets' : `FOUND: ${secrets} secrets`} in ${rows} rows\n`);
    return secrets === 0 ? 0 : 1;
  });
}

// `npm run bench:hook`: how long an editor waits for the hook of a prompt, from the start of its process to its end, while a server runs that
// holds 10,000 memories that the editor can read, on the server of TEST_DATABASE_URL (superuser). `--keep` keeps the loaded database.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startTestGateway } from '../gateway/tests/support/gateway.ts';
import { figure } from './support/bench.ts';
import { openBenchDatabase } from './support/database.ts';
import { quantile, timed } from './support/load.ts';
import { table } from './support/results.ts';
import { tenantsFor } from './support/tenants.ts';
import { queryText } from './support/texts.ts';

const PROMPTS = 100;
const WARM_UP = 5;
const GOAL_MS = 300;
/** The hook itself says nothing after 300 ms. What it would have taken is measured, so it has more time here. */
const WITHIN_MS = 10_000;
const bin = join(import.meta.dirname, '..', 'bin', 'l9-memory.cjs');

const { values: options } = parseArgs({
  options: { memories: { type: 'string', default: '10000' }, keep: { type: 'boolean', default: false } },
});
const url = process.env.TEST_DATABASE_URL;
if (!url) throw new Error('TEST_DATABASE_URL: must be a URL of a superuser of a PostgreSQL 18 server');
// One of the tenants can read sixty percent of the rows.
const rows = Math.ceil(Number(options.memories) / 0.6);

const database = await openBenchDatabase(url, rows, (line) => process.stderr.write(`${line}\n`));
const gateway = await startTestGateway({ home: { ...database.home, drop: async () => {} } });
const { home } = gateway.home;
const tenant = tenantsFor(rows).find(({ name }) => name === 'sixty percent')!;

/** As an editor runs it. Each prompt is that of another session, so that nothing counts as given before. */
async function prompt(n: number): Promise<void> {
  const args = [
    bin,
    'hook',
    'claude-code',
    'UserPromptSubmit',
    '--home',
    home,
    '--within',
    String(WITHIN_MS),
    '--project',
    'project-0',
  ];
  const hook = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'], cwd: home });
  hook.stdin.end(
    JSON.stringify({
      session_id: `bench-${process.pid}-${n}`,
      cwd: home,
      hook_event_name: 'UserPromptSubmit',
      prompt: queryText(n, n),
    }),
  );
  const [code] = await once(hook, 'close');
  if (code !== 0) throw new Error(`the hook ended with ${code}`);
}

const times: number[] = [];
try {
  const [made] = (
    (await database.superuser.query(
      "set role l9_owner; select api_key from public.create_api_key('bench', 'C', tenant_id => $1)".replace(
        '$1',
        `'${tenant.id}'`,
      ),
    )) as unknown as { rows: { api_key: string }[] }[]
  ).at(-1)!.rows;
  writeFileSync(
    join(home, 'editors.json'),
    JSON.stringify({ 'claude-code': { caller: 'C', apiKey: made!.api_key, files: {} } }),
    { mode: 0o600 },
  );
  const { url: at, id } = gateway.instance;
  writeFileSync(
    join(home, 'server.json'),
    JSON.stringify({ pid: process.pid, url: at, instance: id, startedAt: new Date().toISOString(), onDemand: false }),
  );
  for (let n = 0; n < WARM_UP + PROMPTS; n += 1) {
    const ms = await timed(() => prompt(n));
    if (n >= WARM_UP) times.push(ms);
  }
} finally {
  await gateway.close();
  await database.superuser.query('reset role');
  await database.close(options.keep);
}
const what = `the hook of a prompt, ${tenant.visible.toLocaleString('en')} memories`;
process.stdout.write(
  `${table([
    figure({ what: `${what}: p50`, ours: quantile(times, 0.5), unit: 'ms' }),
    figure({ what: `${what}: p95`, ours: quantile(times, 0.95), unit: 'ms', goal: { atMost: GOAL_MS } }),
  ])}\n`,
);
process.exit(quantile(times, 0.95) <= GOAL_MS ? 0 : 1);

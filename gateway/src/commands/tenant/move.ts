// `l9-memory tenant move TENANT --to URL`: from this database to another one, while the tenant is served but for a moment. At each step one
// database alone owns the tenant: this one until its row in tenant_moves says `moved`, the other one from then on. A killed command
// can be run again: before that step it starts over, and after it, it finishes.
import { randomUUID } from 'node:crypto';
import { loadConfig } from '../../config/config.ts';
import { told } from '../support/client.ts';
import { styled } from '../support/output.ts';
import { stopSignal } from '../support/stop-signal.ts';
import { carryAccesses } from './accesses.ts';
import {
  beginArrival,
  endArrival,
  needsOf,
  removeArrived,
  removeLogs,
  removeMoved,
  replaceTombstone,
  requireFree,
  requireNeeds,
} from './arrival.ts';
import { carrySealed, chainOf, sealRows } from './audit.ts';
import { type Arrived, carryAll, carryDifference, inSnapshot } from './carry.ts';
import {
  type CellDatabase,
  lockTenant,
  type Move,
  moveOf,
  openCell,
  requireSameMigrations,
  requireTenant,
  type Tenant,
} from './database.ts';
import { checkDirectory, reload, switchDirectory } from './directory.ts';
import { type SourceOptions, sourceUrl } from './options.ts';
import { TenantProblem } from './problem.ts';
import { handOver, resume, serve, stop } from './stop.ts';
import { type TenantTable, tablesOf } from './tables.ts';

export interface MoveOptions extends SourceOptions {
  to?: string;
  directory?: string;
  cell?: string;
  reload?: string;
  cancel?: boolean;
}

// While the tenant is served, differences are carried until that is short, is hardly shorter than before, or was done so often.
const SHORT_ROUND_MS = 500;
const STILL_FASTER = 0.8;
const MOST_ROUNDS = 10;

type Say = (line: string) => void;

export const moveTenant = (env: NodeJS.ProcessEnv, given: string, options: MoveOptions): Promise<number> =>
  told(async () => {
    const config = loadConfig(env);
    const say = (line: string) => process.stderr.write(`${styled('green', '✓', process.stderr)} ${line}\n`);
    const to = options.to ?? config.targetDatabaseUrl;
    if (!to && !options.cancel)
      throw new TenantProblem('--to, TARGET_DATABASE_URL or TARGET_DATABASE_URL_FILE: one of them is required');
    checkOptions(options);
    const source = await openCell(...sourceUrl(config, options));
    const target = to ? await openCell(to, options.to ? '--to' : 'TARGET_DATABASE_URL').catch(closing(source)) : null;
    try {
      if (target && target.identity === source.identity)
        throw new TenantProblem(`--to: ${target.name} is the database that the tenant is in`);
      if (target) requireSameMigrations(source.migrations, target.migrations, [source.name, target.name]);
      const tenant = await requireTenant(source, given);
      if (options.directory !== undefined && tenant.route === null)
        throw new TenantProblem(
          `${tenant.name} has no route, by which the directory could name it: set_tenant_route() gives it one`,
        );
      await lockTenant(source, tenant);
      if (target) await lockTenant(target, tenant);
      if (options.cancel) return await cancel(source, target, tenant, say);
      if ((await moveOf(source, tenant))?.state !== 'moved') await carry(source, target!, tenant, options, say);
      await finish(source, target!, tenant, options, say);
      return 0;
    } finally {
      await source.client.end();
      await target?.client.end();
    }
  });

const closing = (source: CellDatabase) => async (error: unknown) => {
  await source.client.end();
  throw error;
};

function checkOptions({ directory, cell, reload: command, cancel: cancels }: MoveOptions): void {
  if ((directory === undefined) !== (cell === undefined) && !cancels)
    throw new TenantProblem('--directory, --cell: give both, or none of them');
  if (command !== undefined && directory === undefined) throw new TenantProblem('--reload: needs --directory');
  if (directory !== undefined && cell !== undefined) checkDirectory(directory, cell);
}

async function cancel(source: CellDatabase, target: CellDatabase | null, tenant: Tenant, say: Say): Promise<number> {
  const here = await moveOf(source, tenant);
  if (here?.state === 'moved')
    throw new TenantProblem(`${tenant.name} has moved from ${source.name} already: move it back from where it is`);
  if (here?.state === 'arriving')
    throw new TenantProblem(
      `${tenant.name} is arriving in ${source.name}: cancel the move in the database that it comes from`,
    );
  say(
    (await resume(source, tenant))
      ? `${source.name} serves ${tenant.name} again`
      : `${source.name} serves ${tenant.name}`,
  );
  if (target && (await moveOf(target, tenant))?.state === 'arriving') {
    await removeArrived(target, await tablesOf(target.query, tenant.tenant_id), tenant);
    say(`what had arrived in ${target.name} is removed`);
  }
  return 0;
}

/** Up to the step from which on the other database owns the tenant. If anything fails before, it is served here again. */
async function carry(
  source: CellDatabase,
  target: CellDatabase,
  tenant: Tenant,
  { cell }: MoveOptions,
  say: Say,
): Promise<void> {
  const { returning, moveId } = await prepare(source, target, tenant, say);
  for (const line of await requireNeeds(target, await needsOf(source, tenant)))
    process.stderr.write(`see to it: ${line}\n`);
  const chains = [await chainOf(source.query), await chainOf(target.query)].filter((chain) => chain !== null);
  const tables = await tablesOf(source.query, tenant.tenant_id, chains);
  const { signal, forget } = stopSignal({ exitCode: 130, onLimit: () => {} });
  let mayHaveMoved = false;
  try {
    const began = performance.now();
    let arrived: Arrived = new Map();
    let last = await inSnapshot(source, async (snapshot) => {
      await beginArrival(target);
      if (returning) await replaceTombstone(target, tables, tenant);
      arrived = await carryAll(source, target, tables, signal);
      const rows = [...arrived.values()].reduce((sum, each) => sum + each, 0);
      const logged = await carryAccesses(source, target, tables, null, false);
      const sealed = await carrySealed(source, target, tables, tenant.tenant_id);
      say(`${rows + logged + sealed} rows are in ${target.name} as they are here, after ${seconds(began)} s`);
      return snapshot;
    });
    const round = (isLast: boolean) =>
      inSnapshot(source, async (snapshot) => {
        const rows = await carryDifference(source, target, tables, arrived, last.since, signal);
        const logged = await carryAccesses(source, target, tables, last.countedTo, isLast);
        last = snapshot;
        return rows + logged + (await carrySealed(source, target, tables, tenant.tenant_id));
      });
    for (let n = 1, former = Infinity; n <= MOST_ROUNDS; n++) {
      const start = performance.now();
      const rows = await round(false);
      const took = performance.now() - start;
      if (took < SHORT_ROUND_MS || rows === 0 || took > former * STILL_FASTER) break;
      former = took;
    }

    const step = timer();
    await stop(source, tenant, moveId);
    step('until what had begun was over');
    const rows = await round(true);
    step('for the last changes');
    await endArrival(target, tenant, last.countedTo, moveId);
    step('to commit there');
    signal.throwIfAborted();
    mayHaveMoved = true;
    await handOver(source, tenant, moveId, cell ?? null);
    await serve(target, tenant, moveId);
    step('to hand over');
    say(`${rows} rows that had changed came after; ${tenant.name} was stopped for ${step.told()}`);
  } catch (error) {
    if (!mayHaveMoved) await giveBack(source, target, tables, tenant);
    throw mayHaveMoved || !signal.aborted ? error : new TenantProblem(`stopped: ${source.name} serves ${tenant.name}`);
  } finally {
    forget();
  }
}

/** How long the steps of the stop take, in whole milliseconds. */
function timer() {
  const began = performance.now();
  const steps: string[] = [];
  let last = began;
  const ms = (since: number) => `${Math.round(performance.now() - since)} ms`;
  const step = (what: string) => {
    steps.push(`${ms(last)} ${what}`);
    last = performance.now();
  };
  return Object.assign(step, { told: () => `${ms(began)} (${steps.join(', ')})` });
}

const seconds = (since: number) => ((performance.now() - since) / 1_000).toFixed(1);

/** Removes what a killed command left, and refuses where the other database has the tenant. */
async function prepare(source: CellDatabase, target: CellDatabase, tenant: Tenant, say: Say) {
  const here = await moveOf(source, tenant);
  if (here?.state === 'arriving')
    throw new TenantProblem(
      `${tenant.name} is arriving in ${source.name}, which does not own it: run the move that brings it here again`,
    );
  if (await resume(source, tenant)) say(`${source.name} serves ${tenant.name} again, until the move has got as far`);
  const there = await moveOf(target, tenant);
  if (there?.state === 'stopped')
    throw new TenantProblem(`${target.name} is moving ${tenant.name} elsewhere: cancel that first`);
  if (there?.state === 'arriving') {
    await removeArrived(target, await tablesOf(target.query, tenant.tenant_id), tenant);
    say(`what an earlier move had brought to ${target.name} is removed`);
  }
  const returning = there?.state === 'moved';
  await requireFree(target, tenant, returning);
  if (returning) await removeLogs(target, tenant);
  return { returning, moveId: randomUUID() };
}

async function giveBack(
  source: CellDatabase,
  target: CellDatabase,
  tables: TenantTable[],
  tenant: Tenant,
): Promise<void> {
  try {
    await source.query('rollback');
    await resume(source, tenant);
  } catch {
    process.stderr.write(`${tenant.name} may be stopped in ${source.name}: run this command again, or with --cancel\n`);
  }
  try {
    await target.query('rollback');
    if ((await moveOf(target, tenant))?.state === 'arriving') await removeArrived(target, tables, tenant);
  } catch {
    // Whatever is left there is never served, and the next move removes it.
  }
}

/** Once the other database owns the tenant: it serves, the directory names it, and the rows here go. Can be repeated. */
async function finish(
  source: CellDatabase,
  target: CellDatabase,
  tenant: Tenant,
  options: MoveOptions,
  say: Say,
): Promise<void> {
  const here = (await moveOf(source, tenant)) as Move;
  const there = await moveOf(target, tenant);
  if (there?.arrival_id !== here.move_id)
    throw new TenantProblem(`--to: ${target.name} is not where ${tenant.name} has moved to`);
  if (there.state === 'moved') throw new TenantProblem(`${tenant.name} has moved on from ${target.name}`);
  if (there.state === 'arriving') await serve(target, tenant, here.move_id);
  say(`${target.name} serves ${tenant.name}`);
  const { directory, reload: command } = options;
  const cell = options.cell ?? here.cell;
  if (directory !== undefined && cell !== null) {
    await switchDirectory(directory, tenant.route!, cell);
    say(`${directory} leads ${tenant.route} to ${cell}`);
    if (command !== undefined) await reload(command);
  }
  const tables = await tablesOf(source.query, tenant.tenant_id);
  await carryRestOfAudit(source, target, tables, tenant, say);
  const rows = await removeMoved(source, tables, tenant);
  say(`${rows} rows are removed from ${source.name}, which tells callers of ${tenant.name} that it has moved`);
}

/** The end of the audit log, which nobody can change where it is, and which could not be sealed while the tenant was served there. */
async function carryRestOfAudit(
  source: CellDatabase,
  target: CellDatabase,
  tables: TenantTable[],
  tenant: Tenant,
  say: Say,
): Promise<void> {
  await sealRows(source, tenant.tenant_id);
  const rows = await inSnapshot(source, async () => {
    await beginArrival(target);
    const carried = await carrySealed(source, target, tables, tenant.tenant_id);
    await target.query('commit');
    return carried;
  });
  const { rows: checked } = await target.query<{ problem: string | null }>(
    'select transfer.carried_audit_problem($1) as problem',
    [tenant.tenant_id],
  );
  if (checked[0]!.problem !== null) throw new TenantProblem(`the audit log that came along: ${checked[0]!.problem}`);
  say(`the end of the audit log, ${rows} rows, has followed; it is what its seals say`);
}

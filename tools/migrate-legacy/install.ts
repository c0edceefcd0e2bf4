// Installs the SQL of an import when a run begins, and drops it when the run ends: no other database has it.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { SQLSTATE, sqlstateOf } from '../../gateway/src/base/errors.ts';
import { packageRoot } from '../../gateway/src/base/paths.ts';
import { LegacyProblem, type Query } from './source.ts';

const folder = join(packageRoot, 'tools', 'migrate-legacy', 'sql');
/** The list of old ids stays after an import, because later runs and readers need it. */
const LIST = '010-legacy-ids.sql';
const BUSY_FOR_MS = 60_000;

export async function install(query: Query): Promise<void> {
  const [{ has_list }] = await query("select pg_catalog.to_regclass('legacy.legacy_ids') is not null as has_list");
  const files = readdirSync(folder).filter((file) => file !== LIST || !has_list);
  await change(
    query,
    files
      .sort()
      .map((file) => readFileSync(join(folder, file), 'utf8'))
      .join('\n'),
  );
}

export const uninstall = (query: Query): Promise<void> =>
  change(
    query,
    `drop schema legacy_import cascade;
    do $$
    begin
      if not exists (select from legacy.legacy_ids) then
        drop schema legacy cascade;
      end if;
    end
    $$`,
  );

const change = (query: Query, sql: string): Promise<void> =>
  withLock(async () => {
    await query('begin read write');
    try {
      await query("set local lock_timeout = '1s'; lock table public.packet_store in access exclusive mode");
      await query(sql);
      await query('commit');
    } catch (error) {
      await query('rollback').catch(() => {});
      throw error;
    }
  });

/** Does work that locks the table of memories, again while others hold it for long: who comes after them waits for that lock, too. */
export async function withLock<T>(work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + BUSY_FOR_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (sqlstateOf(error) !== SQLSTATE.lockNotAvailable) throw error;
      if (Date.now() > deadline)
        throw new LegacyProblem('packet_store is in use by a long transaction: run it again when that has ended');
    }
    await setTimeout(250);
  }
}

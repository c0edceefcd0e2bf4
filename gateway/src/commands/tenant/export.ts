// `l9-memory tenant export TENANT --out FILE`: all rows of one tenant, as they were at one moment, while the tenant is served.
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { version } from '../../base/version.ts';
import { loadConfig } from '../../config/config.ts';
import { type EncryptionOptions, encryption } from '../backup/encryption.ts';
import { totalOf } from '../backup/facts.ts';
import { exists, writeFileOf } from '../backup/file.ts';
import { told } from '../support/client.ts';
import { stopSignal } from '../support/stop-signal.ts';
import { accessParts } from './accesses.ts';
import { needsOf } from './arrival.ts';
import { chainOf, sealedSelects } from './audit.ts';
import { inSnapshot } from './carry.ts';
import { count } from './copy.ts';
import { type CellDatabase, moveOf, openCell, requireTenant, type Tenant } from './database.ts';
import { type Section, TENANT_FILE, type TenantManifest, writeSections } from './file.ts';
import { type SourceOptions, sourceUrl } from './options.ts';
import { TenantProblem } from './problem.ts';
import { ACCESS_LOG, rowsOf, tablesOf } from './tables.ts';

export interface ExportOptions extends EncryptionOptions, SourceOptions {
  out: string;
}

export const exportTenant = (env: NodeJS.ProcessEnv, given: string, options: ExportOptions): Promise<number> =>
  told(async () => {
    const config = loadConfig(env);
    const path = resolve(options.out);
    if (existsSync(path)) throw exists(path);
    const encrypt = await encryption(config, options);
    const source = await openCell(...sourceUrl(config, options));
    const { signal, forget } = stopSignal({ exitCode: 130, onLimit: () => {} });
    try {
      const tenant = await requireTenant(source, given);
      if ((await moveOf(source, tenant))?.state === 'moved')
        throw new TenantProblem(`${tenant.name} has moved from ${source.name} to another database: export it there`);
      // What is not sealed yet is not in the file.
      await source.query('select audit.seal_audit(100000)');
      const manifest = await inSnapshot(source, async ({ countedTo }) => {
        const [facts, sections] = await describe(source, tenant);
        const created_at = new Date().toISOString();
        const manifest: TenantManifest = { version, created_at, ...facts, counted_to: countedTo };
        await writeFileOf(TENANT_FILE, path, {
          manifest,
          database: writeSections(source, sections, signal),
          encrypt,
          signal,
        });
        return manifest;
      });
      process.stdout.write(
        `${path}: tenant ${tenant.name} of ${source.name}, ${manifest.counts['public.packet_store']} memories, ${totalOf(manifest.counts)} rows, ${(statSync(path).size / 1e6).toFixed(1)} MB, ${encrypt ? 'encrypted' : 'not encrypted'}\n`,
      );
      return 0;
    } catch (error) {
      if (signal.aborted) throw new TenantProblem('stopped: nothing was written');
      throw error;
    } finally {
      forget();
      await source.client.end();
    }
  });

/** What is written, with the number of rows of each section. */
async function describe(
  source: CellDatabase,
  { tenant_id, name, route }: Tenant,
): Promise<[Omit<TenantManifest, 'version' | 'created_at' | 'counted_to'>, Section[]]> {
  const tables = await tablesOf(source.query, tenant_id);
  const chain = await chainOf(source.query);
  const sections: Section[] = [
    ...tables
      .filter(({ name }) => name !== ACCESS_LOG)
      .map((table) => ({ name: table.name, table: table.name, columns: table.columns, select: rowsOf(table) })),
    ...accessParts(tables, null, true),
    ...(chain === null ? [] : sealedSelects(tables, tenant_id, '0', null)).map((part) => ({
      name: `${part.name} of ${chain}`,
      table: part.name,
      columns: part.columns,
      select: part.select,
    })),
  ];
  const counts: Record<string, number> = {};
  for (const section of sections)
    counts[section.name] = await count(source.query, `select count(*) from (${section.select}) as t`);
  const needs = await needsOf(source, { tenant_id, name, route });
  return [{ tenant: { tenant_id, name, route }, migrations: source.migrations, counts, chain, needs }, sections];
}

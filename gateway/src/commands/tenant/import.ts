// `l9-memory tenant import FILE`: an exported tenant into a database that does not have it, in one transaction.
import { pipeline } from 'node:stream/promises';
import { loadConfig } from '../../config/config.ts';
import { decryption, type EncryptionOptions } from '../backup/encryption.ts';
import { totalOf } from '../backup/facts.ts';
import { readFileOf } from '../backup/file.ts';
import { told } from '../support/client.ts';
import { accessParts } from './accesses.ts';
import { beginArrival, endArrival, requireFree, requireNeeds } from './arrival.ts';
import { sealedSelects } from './audit.ts';
import { digestOf, writeRows } from './copy.ts';
import { lockTenant, openCell, requireSameMigrations } from './database.ts';
import { readSections, TENANT_FILE } from './file.ts';
import { type SourceOptions, sourceUrl } from './options.ts';
import { TenantProblem } from './problem.ts';
import { copiedRowsOf, tablesOf } from './tables.ts';

export interface ImportOptions extends SourceOptions, Pick<EncryptionOptions, 'key'> {}

export const importTenant = (env: NodeJS.ProcessEnv, file: string, options: ImportOptions): Promise<number> =>
  told(async () => {
    const config = loadConfig(env);
    const { manifest, database } = await readFileOf(TENANT_FILE, file, () => decryption(config, options));
    const { tenant, counts, chain } = manifest;
    const target = await openCell(...sourceUrl(config, options));
    try {
      requireSameMigrations(manifest.migrations, target.migrations, [file, target.name]);
      await lockTenant(target, tenant);
      await requireFree(target, tenant, false);
      const warnings = await requireNeeds(target, manifest.needs);
      const tables = await tablesOf(target.query, tenant.tenant_id, chain === null ? [] : [chain]);
      const sealed = chain === null ? [] : sealedSelects(tables, tenant.tenant_id, '0', null);
      const seen = new Set<string>();
      await beginArrival(target);
      try {
        await readSections(
          database(),
          async ({ name, table, columns }, rows) => {
            const known = tables.find((one) => one.name === table);
            if (!known || columns.some((column) => !known.columns.includes(column)))
              throw new TenantProblem(`${file}: ${target.name} has no table ${table} with these columns`);
            seen.add(name);
            await pipeline(rows, writeRows(target.client, table, columns));
          },
          async ({ name, table }, written) => {
            const part = sealed.find((one) => `${one.name} of ${chain}` === name);
            const accesses = accessParts(tables, null, true).find((one) => one.name === name);
            const arrived = await digestOf(
              target.client,
              part?.arrived(chain!) ?? accesses?.arrived ?? copiedRowsOf(tables.find((one) => one.name === table)!),
            );
            if (written.rows !== counts[name] || arrived.rows !== written.rows || arrived.sha256 !== written.sha256)
              throw new TenantProblem(
                `${name}: ${counts[name]} rows were exported, and ${arrived.rows} arrived, or others: nothing was imported`,
              );
          },
        );
        const missing = Object.keys(counts).find((name) => !seen.has(name));
        if (missing !== undefined) throw new TenantProblem(`${file}: ${missing} is not in it: nothing was imported`);
        await endArrival(target, tenant, manifest.counted_to);
      } catch (error) {
        await target.query('rollback').catch(() => {});
        throw error;
      }
      process.stdout.write(
        `tenant ${tenant.name} is in ${target.name}: ${counts['public.packet_store']} memories, ${totalOf(counts)} rows, as exported on ${manifest.created_at}\n`,
      );
      for (const line of warnings) process.stdout.write(`see to it: ${line}\n`);
      return 0;
    } finally {
      await target.client.end();
    }
  });

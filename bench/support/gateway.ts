import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signToken } from '../../gateway/src/auth/jwt.ts';
import { loadConfig } from '../../gateway/src/config/config.ts';
import { loadCredentials } from '../../gateway/src/home/credentials.ts';
import { type ServerProcess, startServerProcess } from './child.ts';
import type { BenchDatabase } from './database.ts';
import { type HttpClient, httpClient } from './http.ts';

export interface Gateway extends ServerProcess {
  client: HttpClient;
  /** A token of the coding agent of a tenant. */
  tokenOf(tenantId: string): Promise<string>;
}

export const environmentOf = (database: BenchDatabase) => ({ ...database.home.env, CLEANUP_INTERVAL_SECONDS: '0' });

/** Signs tokens that the gateway and the peers of the bench accept. */
export async function tokenOf(database: BenchDatabase, tenantId: string): Promise<string> {
  const config = loadConfig(environmentOf(database));
  return signToken(config, loadCredentials(config), { caller: 'C', tenantId, expires: '12h' });
}

/** `more`: of the environment of the gateway. */
export async function startBenchGateway(database: BenchDatabase, more: Record<string, string> = {}): Promise<Gateway> {
  const { rows } = await database.superuser.query('select distinct on (query) query, vector::text from bench.queries');
  const file = join(database.home.home, 'queries.json');
  // The padding is removed, because the gateway adds it.
  const known = rows.map(({ query, vector }) => [query, (JSON.parse(vector) as number[]).slice(0, 384)]);
  writeFileSync(file, JSON.stringify(known));
  const server = await startServerProcess(join(import.meta.dirname, 'gateway-process.ts'), {
    ...environmentOf(database),
    ...more,
    BENCH_QUERIES: file,
  });
  const client = httpClient(server.url);
  return {
    ...server,
    client,
    tokenOf: (tenantId) => tokenOf(database, tenantId),
    async close() {
      client.close();
      await server.close();
    },
  };
}

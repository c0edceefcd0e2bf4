// Which database the commands for tenants work on.
import type { Config } from '../../config/config.ts';
import { TenantProblem } from './problem.ts';

export interface SourceOptions {
  rootUrl?: string | undefined;
  database: string;
}

/** The URL of a superuser on the database of a cell, and what messages call it. */
export function sourceUrl({ rootDatabaseUrl }: Config, { rootUrl, database }: SourceOptions): [string, string] {
  const given = rootUrl ?? rootDatabaseUrl;
  const option = rootUrl === undefined ? 'ROOT_DATABASE_URL' : '--root-url';
  if (!given)
    throw new TenantProblem('--root-url, ROOT_DATABASE_URL or ROOT_DATABASE_URL_FILE: one of them is required');
  if (!URL.canParse(given)) return [given, option];
  return [Object.assign(new URL(given), { pathname: `/${database}` }).href, option];
}

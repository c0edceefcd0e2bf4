// The committed migrations against db/schema, which is the state that they lead to.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { committedFiles, committedFolder, currentSql, sourceSql } from '../../scripts/generate/migration.ts';
import { differencesOf, type SchemaObject, schemaOf } from '../../scripts/migrations/catalogue.ts';
import { schemaInMemory, schemaMadeBy } from '../../scripts/migrations/engine.ts';
import { createBareDatabase } from './support/databases.ts';
import { useTestDatabase } from './support/test-database.ts';

/** The schema that a text makes, on the engine of this run. */
async function schemaOfText(text: string): Promise<Map<string, SchemaObject>> {
  const files = await createBareDatabase();
  if (!files) return schemaInMemory([text]);
  const client = new pg.Client({ connectionString: files.ownerUrl });
  await client.connect();
  try {
    return await schemaMadeBy([text], client, (statements) => client.query(statements));
  } finally {
    await client.end();
    await files.drop();
  }
}

/** A change of each kind of object, by the name under which it is told. */
const CHANGES: Record<string, string> = {
  'schema sabotage is new': 'create schema sabotage authorization l9_owner',
  'table public.sabotage is new': 'create table public.sabotage (a integer)',
  'table public.idempotency_keys is gone': 'drop table public.idempotency_keys cascade',
  'settings of table public.tasks': 'alter table public.tasks no force row level security',
  'settings of table public.orgs': 'alter table public.orgs set (fillfactor = 50)',
  'settings of table public.users': 'alter table public.users replica identity full',
  'column public.tasks.sabotage is new': 'alter table public.tasks add column sabotage integer',
  'column public.orgs.name': 'alter table public.orgs alter column name drop not null',
  'column public.users.name': "alter table public.users alter column name set default 'x'",
  'view public.sabotage_view is new': 'create view public.sabotage_view as select 1 as name',
  'settings of column public.orgs.name': 'alter table public.orgs alter column name set statistics 7',
  'settings of column public.users.name': 'alter table public.users alter column name set storage plain',
  'type administration.administrator': 'alter type administration.administrator add attribute sabotage text',
  'constraint sabotage on public.tasks is new': 'alter table public.tasks add constraint sabotage check (true)',
  'constraint tenants_pkey on public.tenants is gone':
    'alter table public.tenants drop constraint tenants_pkey cascade',
  'index public.packet_store_newest_idx is gone': 'drop index public.packet_store_newest_idx',
  'view cortex.adr_decision': 'alter view cortex.adr_decision set (security_invoker = false)',
  'materialized view views.mv_entity_graph is gone': 'drop materialized view views.mv_entity_graph cascade',
  'function administration.is_owner() is another':
    "create or replace function administration.is_owner() returns boolean language sql stable set search_path = '' return true",
  'function public.who_am_i() is another': 'alter function public.who_am_i cost 7',
  'trigger _100_normalise on public.packet_store is another':
    'alter table public.packet_store enable always trigger _100_normalise',
  'trigger _100_apply_kind on public.packet_store is gone': 'drop trigger _100_apply_kind on public.packet_store',
  'policy tenant_isolation on public.tasks is another': 'alter policy tenant_isolation on public.tasks using (true)',
  'policy tenant_isolation on public.orgs is gone': 'drop policy tenant_isolation on public.orgs',
  'policy tenant_isolation on public.users is another': 'alter policy tenant_isolation on public.users to public',
  'owner of routine public.who_am_i()': 'alter function public.who_am_i owner to postgres',
  'grants on routine public.save_memory(': 'grant execute on function public.save_memory to public',
  'grants on routine public.delete_memory(': 'revoke execute on function public.delete_memory from l9_agent',
  'grants on table public.tasks to l9_gateway is new': 'grant select on public.tasks to l9_gateway',
  'grants on table public.tasks to l9_agent is another': 'grant update (status) on public.tasks to l9_agent',
  'grants on schema search to l9_gateway is new': 'grant usage on schema search to l9_gateway',
  'default privileges of l9_owner': 'alter default privileges for role l9_owner grant select on tables to l9_agent',
  'comment on table public.tasks': "comment on table public.tasks is 'x'",
  'comment on column public.tasks.status is gone': 'comment on column public.tasks.status is null',
  'comment on policy tenant_isolation on public.actors': "comment on policy tenant_isolation on public.actors is 'x'",
  'comment on function public.save_memory(': "comment on function public.save_memory is 'x'",
  'comment on trigger _100_normalise on public.packet_store is new':
    "comment on trigger _100_normalise on public.packet_store is 'x'",
  'row of public.actors: ': "delete from public.actors where caller = 'C'",
  'row of public.secret_patterns: ': "update public.secret_patterns set severity = 'strict'",
};

describe('the folder of migrations', () => {
  const db = useTestDatabase();
  const committed = () => db.inSuperuserSession(schemaOf);

  it('makes the same schema, migration by migration, as db/schema does at once, apart from the order of columns', async () => {
    const differences = differencesOf(await committed(), await schemaOfText(await sourceSql()));
    expect(differences).toStrictEqual([]);
  });

  it('tells any object that differs by its name', async () => {
    const whole = await committed();
    const changed = await db.inSuperuserSession(async (client) => {
      await client.query(`begin; ${Object.values(CHANGES).join('; ')}`);
      return schemaOf(client);
    });
    const found = differencesOf(whole, changed);
    const unnoticed = Object.keys(CHANGES).filter((name) => !found.some((line) => line.startsWith(`-- ${name}`)));
    expect(unnoticed).toStrictEqual([]);
  });

  it('has all migrations in db/migrations/committed, and none in db/migrations/current', async () => {
    expect(await currentSql()).toBe('');
  });

  it('runs each migration in one transaction, so that an interrupted one leaves nothing', () => {
    const outside = committedFiles().filter((file) =>
      /^--! ?no-transaction/m.test(readFileSync(join(committedFolder, file), 'utf8')),
    );
    expect(outside).toStrictEqual([]);
  });
});

-- Makes a table one of rows derived from memories. Migrations call derive_from_packets() right after they create such
-- a table. It adds columns, policies, grants, comments and triggers, in this order.
create procedure derived.derive_from_packets(
  derived regclass, key_column text, source_column text default 'source_packet', follows boolean default true,
  takes_from_source boolean default true, trace_column text default 'trace_id', evidence_table text default 'packet_store',
  evidence_column text default 'packet_id')
language plpgsql set search_path = '' as $$
declare
  name text := (select c.relname from pg_class c where c.oid = derived);
  described record;
begin
  execute format('alter table %s add column correlation_id text, add column session_id text, add column %I text,
    add column source text', derived, trace_column);
  -- As for packets, their statistics would survive erasure.
  execute format('alter table %s alter column correlation_id set statistics 0, alter column session_id set statistics 0,
    alter column %I set statistics 0', derived, trace_column);
  call identity.protect_like_memories(derived);
  execute format('create policy worker_access on %s for select to l9_worker using (true)', derived);
  execute format('comment on policy worker_access on %s is %L', derived, 'Background jobs read all rows.');
  execute format($sql$
    create policy definer_functions on %s to l9_owner
    using ((select identity.current_role_name()) not in ('l9_agent', 'l9_admin') or %s
      or (select derived.is_deleting_memories()))$sql$, derived, identity.definer_condition());
  execute format('comment on policy definer_functions on %s is %L', derived,
    'Functions of the owner see and write, for an agent or an admin, rows within its claims, expired or not; for jobs and '
    'operators, and while memories are deleted that rest on others, all rows.');
  execute format('grant select on %s to l9_agent, l9_admin, l9_platform_admin, l9_worker', derived);
  execute format('grant maintain on %s to l9_worker', derived);

  for described in
    select * from (values
      ('tenant_id', 'The tenant of the source memory.'),
      ('org_id', 'The org of the source memory.'),
      ('user_id', 'The user of the source memory.'),
      ('project_id', 'The project of the source memory.'),
      ('scope', 'The scope of the source memory; it decides who may read the row.'),
      ('ttl', 'The expiry of the source memory; after it nobody can read the row.'),
      ('correlation_id', 'The correlation id of the source memory.'),
      ('session_id', 'The session of the source memory.'),
      (trace_column, 'The trace of the source memory.'),
      ('creator', 'Who derived the row: the creator name of the caller, or job.'),
      ('source', 'The source of who derived the row; of a row that a job derived, the source of the memory.'),
      ('created_at', 'When the row was first derived.'),
      ('updated_at', 'When the row last changed, or moved with its source memory.')
    ) as c (name, description)
  loop
    execute format('comment on column %s.%I is %L', derived, described.name, described.description);
  end loop;

  if takes_from_source then
    execute format('create trigger _300_take_from_source before insert on %s for each row
      execute function derived.tg__take_from_source(%L, %L)', derived, source_column, trace_column);
  else
    execute format('create trigger _310_take_references before insert on %s for each row
      execute function derived.tg__take_references(%L, %L, %L, %L)',
      derived, source_column, trace_column, evidence_table, evidence_column);
  end if;
  execute format('create trigger _310_take_references_again before update of %1$I on %2$s for each row
    when (new.%1$I is distinct from old.%1$I) execute function derived.tg__take_references(%1$L, %3$L, %4$L, %5$L)',
    source_column, derived, trace_column, evidence_table, evidence_column);
  call derived.list_table(name, source_column, trace_column, has_own_way => not follows);
  execute format('create trigger _500_audit_insert after insert on %s referencing new table as new_rows for each statement
    execute function derived.tg__audit_derived(%L, %L, %L)', derived, source_column, key_column, trace_column);
  execute format('create trigger _500_audit_update after update on %s
    referencing old table as old_rows new table as new_rows for each statement
    execute function derived.tg__audit_derived(%L, %L, %L)', derived, source_column, key_column, trace_column);
  execute format('create trigger _500_audit_delete after delete on %s referencing old table as old_rows for each statement
    execute function derived.tg__audit_derived(%L, %L, %L)', derived, source_column, key_column, trace_column);
end $$;
comment on procedure derived.derive_from_packets is 'Makes a table one of rows derived from memories. It creates the policies '
  'and read grants that all such tables have, comments, and columns for the references of the source (trace_column, '
  'correlation_id, session_id), triggers that copy owner, project, scope, expiry and references from the source (unless '
  'takes_from_source is false and the table has a trigger of its own), audit each write, and (follows) keep rows in step with '
  'their source. A row that is computed from several memories takes the references of its next source from evidence_table, where '
  'evidence_column names the memory: who removes a source need not see the next one. The table needs source_column (not null, '
  'references packet_store on delete cascade), tenant_id, org_id, user_id, project_id, scope, ttl, creator, created_at, '
  'updated_at and a uuid key.';

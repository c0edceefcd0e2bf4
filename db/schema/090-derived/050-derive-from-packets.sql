create procedure derived.derive_from_packets(
  derived regclass,
  key_column text,
  source_column text default 'source_packet',
  follows boolean default true
)
language plpgsql
set search_path = ''
as $$
declare
  name text := (select c.relname from pg_class c where c.oid = derived);
  described record;
begin
  call identity.protect_like_memories(derived);
  execute format('create policy worker_access on %s for select to l9_worker using (true)', derived);
  execute format('comment on policy worker_access on %s is %L', derived, 'Background jobs read all rows.');
  execute format($sql$
    create policy definer_functions on %s to l9_owner
    using ((select identity.current_role_name()) not in ('l9_agent', 'l9_admin') or %s)$sql$, derived, identity.definer_condition());
  execute format('comment on policy definer_functions on %s is %L', derived,
    'Functions of the owner see and write, for an agent or an admin, rows within its claims, expired or not; for jobs and operators, all rows.');
  execute format('grant select on %s to l9_agent, l9_admin, l9_platform_admin, l9_worker', derived);
  execute format('grant maintain on %s to l9_worker', derived);

  for described in
    select * from (values
      ('tenant_id', 'As of the memory it comes from.'),
      ('org_id', 'As of the memory it comes from.'),
      ('user_id', 'As of the memory it comes from.'),
      ('project_id', 'As of the memory it comes from.'),
      ('scope', 'As of the memory it comes from: what decides who sees it.'),
      ('ttl', 'As of the memory it comes from: from then on nobody reads it.'),
      ('creator', 'Who derived it: the creator name of the caller, or job.'),
      ('created_at', 'When it was first derived.'),
      ('updated_at', 'When it last changed, or moved with the memory it comes from.')
    ) as c (name, description)
  loop
    execute format('comment on column %s.%I is %L', derived, described.name, described.description);
  end loop;

  execute format('create trigger _300_take_from_source before insert on %s for each row
    execute function derived.tg__take_from_source(%L)', derived, source_column);
  execute format('create trigger _500_audit_insert after insert on %s referencing new table as new_rows for each statement
    execute function derived.tg__audit_derived(%L, %L)', derived, source_column, key_column);
  execute format('create trigger _500_audit_update after update on %s referencing old table as old_rows new table as new_rows for each statement
    execute function derived.tg__audit_derived(%L, %L)', derived, source_column, key_column);
  execute format('create trigger _500_audit_delete after delete on %s referencing old table as old_rows for each statement
    execute function derived.tg__audit_derived(%L, %L)', derived, source_column, key_column);
  if follows then
    call derived.follow_packets('_620_' || name || '_follow', 'derived.tg_packet_store__derived_follow', name, source_column);
  end if;
end
$$;

comment on procedure derived.derive_from_packets(regclass, text, text, boolean) is
  'Makes a table one of rows derived from memories: row-level security with the policies of all such tables, grants to read, comments, and triggers that take owner, project, scope and expiry from the source, put each write on the record, and (follows) keep rows with their source. The table has source_column (not null, references packet_store on delete cascade), tenant_id, org_id, user_id, project_id, scope, ttl, creator, created_at, updated_at and a uuid key. Run by migrations only.';

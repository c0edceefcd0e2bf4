-- What an administrator stated from a memory of an agent stands: the agent can't take the memory away under it. keep_statements() gives
-- the rule to a table of statements.

create function derived.tg_packet_store__keep_statements() returns trigger
language plpgsql security definer set search_path = ''
as $$
declare
  speaker text;
begin
  if identity.current_role_name() = 'l9_agent' then
    execute format('select d.agent from public.%I d where d.%I = $1 and d.is_from_admin and d.agent <> $2 limit 1', tg_argv[0], tg_argv[1])
    into speaker using old.packet_id, identity.current_creator();
    if speaker is not null then
      perform identity.raise_error('L9OWN',
        format('packet_id: a statement of %s rests on memory %s; its text, kind, place and life are no longer yours to change', speaker, old.packet_id),
        'packet_id', 'Save a memory of your own beside it.');
    end if;
  end if;
  return case tg_op when 'DELETE' then old else new end;
end
$$;

comment on function derived.tg_packet_store__keep_statements is
  'Raises L9OWN where an agent would delete a memory, or change its text, kind or readers or shorten its life, from which an administrator stated something: everyone who sees the memory sees the statement. Arguments: the table of statements and its column that names the source. Definer: reads all statements.';

create procedure derived.keep_statements(name text, source_column text)
language plpgsql set search_path = ''
as $$
begin
  execute format('create trigger %I before update on public.packet_store for each row
    when (new.content_hash is distinct from old.content_hash or new.packet_type <> old.packet_type
      or (new.tenant_id, new.scope) is distinct from (old.tenant_id, old.scope) or new.project_id is distinct from old.project_id
      or new.org_id is distinct from old.org_id or new.user_id is distinct from old.user_id
      or new.ttl < coalesce(old.ttl, ''infinity''))
    execute function derived.tg_packet_store__keep_statements(%L, %L)', '_410_keep_' || name, name, source_column);
  -- Cleanup deletes what has expired.
  execute format('create trigger %I before delete on public.packet_store for each row
    when (old.ttl is null or old.ttl > now())
    execute function derived.tg_packet_store__keep_statements(%L, %L)', '_210_keep_' || name, name, source_column);
end
$$;

comment on procedure derived.keep_statements is
  'Protects the memories from which administrators stated the rows of a table, which has the columns agent and is_from_admin. Run by migrations only.';

-- Creates the triggers of packet_store by which derived rows follow their memory. derive_from_packets() calls both
-- procedures, as do chapters whose rows follow a memory in a way of their own.

create procedure derived.follow_packets(trigger_name text, function_name text, variadic arguments text[] default '{}')
language plpgsql set search_path = ''
as $$
begin
  execute format($sql$
    create trigger %I after update on public.packet_store for each row
    when (
      (new.tenant_id, new.scope) is distinct from (old.tenant_id, old.scope)
      or new.org_id is distinct from old.org_id
      or new.user_id is distinct from old.user_id
      or new.project_id is distinct from old.project_id
      or new.ttl is distinct from old.ttl)
    execute function %s(%s)$sql$,
    trigger_name, function_name,
    (select string_agg(quote_literal(a.argument), ', ' order by a.place) from unnest(arguments) with ordinality as a (argument, place)));
end
$$;

comment on procedure derived.follow_packets is
  'Creates a trigger that runs a trigger function (named with its schema) for each memory whose readers or expiry '
  'change. Run by migrations only.';

create procedure derived.follow_references(name text, source_column text, trace_column text default 'trace_id')
language plpgsql set search_path = ''
as $$
begin
  execute format($sql$
    create trigger %I after update of correlation_id, session_id, trace_id on public.packet_store for each row
    when ((new.correlation_id, new.session_id, new.trace_id) is distinct from (old.correlation_id, old.session_id, old.trace_id))
    execute function derived.tg_packet_store__references_follow(%L, %L, %L)$sql$,
    '_625_' || name || '_references', name, source_column, trace_column);
end
$$;

comment on procedure derived.follow_references is
  'Creates a trigger that copies changed references of a memory to its rows in a table. Run by migrations only.';

-- The job that stores vectors copies the references, too.
call derived.follow_references('memory_embeddings', 'packet_id');

-- Lets a new row replace an expired one that its unique index would refuse it for. Migrations call replace_expired()
-- for such a table.
create function derived.tg__replace_expired() returns trigger language plpgsql security definer set search_path = '' as $$
declare
  field constant text := case when tg_op = 'UPDATE' and new.scope is not distinct from old.scope then 'project_id'
    else 'scope' end;
  same_packet uuid;
  is_expired boolean;
begin
  execute format($sql$
    select d.%1$I, d.ttl <= now() from public.%2$I d
    where %3$s and d.tenant_id = ($1).tenant_id and d.scope = ($1).scope and d.project_id is not distinct from ($1).project_id
      and d.org_id is not distinct from ($1).org_id and d.user_id is not distinct from ($1).user_id and d.%1$I <> ($1).%1$I$sql$,
    tg_argv[0], tg_table_name,
    (select string_agg(format('d.%1$I = ($1).%1$I', a.name), ' and ' order by a.place)
     from unnest(tg_argv[2:]) with ordinality as a (name, place)))
  into same_packet, is_expired
  using new;
  if is_expired then
    delete from public.packet_store p where p.packet_id = same_packet;
  elsif same_packet is not null and tg_op = 'UPDATE' then
    perform identity.raise_error('L9VAL', format('%s: %s', field, tg_argv[1]));
  end if;
  return new;
end $$;
comment on function derived.tg__replace_expired is 'Deletes the memory of an expired row that would collide with a new or moved '
  'one, as cleanup would have done, and refuses to move a row onto one that has not expired (L9VAL). Arguments: the column that '
  'names the source, what the error says, and the columns that make rows the same besides owner, project and scope. Definer: '
  'callers cannot see expired rows. It concerns only rows of the owner, project and scope that the caller writes to.';

create procedure derived.replace_expired(derived regclass, source_column text, message text, variadic key_columns text[])
language plpgsql set search_path = '' as $$
begin
  execute format($sql$
    create trigger _450_replace_expired before insert or update of %s, tenant_id, org_id, user_id, project_id, scope on %s
    for each row execute function derived.tg__replace_expired(%s)$sql$,
    (select string_agg(quote_ident(k.name), ', ' order by k.place) from unnest(key_columns) with ordinality as k (name, place)),
      derived,
    (select string_agg(quote_literal(a.argument), ', ' order by a.place)
     from unnest(array[source_column, message] || key_columns) with ordinality as a (argument, place)));
end $$;
comment on procedure derived.replace_expired is 'Creates a trigger that deletes what has expired where a unique index over '
  'owner, project, scope and key_columns would refuse a row because of it. message: the error where a memory is moved onto a row '
  'that has not expired.';

-- Whether an alias counts for a reader. Chapters whose rows name entities register their tables here, and names_of() and its kin
-- ask.
create table entities.tables_with_names (
  table_name text primary key,
  key_column text not null,
  evidence_table text not null,
  name_columns text[] not null
);
call identity.describe('entities.tables_with_names', 'Tables that state something of entities: their columns with normalised
    names, and the tables of evidence that say which agents state it.
  table_name: The table, in the schema public.
  key_column: Its key, which the evidence has too.
  evidence_table: The table of its evidence, with the column agent.
  name_columns: The columns that hold names.');

call identity.keep_private('entities.tables_with_names',
  functions => 'Migrations register tables, and functions of the owner ask whether an alias counts.');

create function entities.registered_tables() returns setof entities.tables_with_names
language sql stable security definer set search_path = '' rows 2
begin atomic
  select t.* from entities.tables_with_names t order by t.table_name;
end;
comment on function entities.registered_tables is 'Tables that state something of entities. Definer: callers have no grant.';

create function entities.is_disputed(alias public.entity_aliases) returns boolean
language plpgsql stable set search_path = '' set enable_seqscan = off as $$
declare
  source entities.tables_with_names;
  name_column text;
  found_one boolean;
begin
  for source in select t.* from entities.registered_tables() t loop
    foreach name_column in array source.name_columns loop
      execute format($sql$
        select exists (
          select from public.%I n
          where n.tenant_id = $1 and n.%I in ($2, $3) and (n.ttl is null or n.ttl > now())
            and exists (select from public.%I e where e.%I = n.%I and e.agent <> $4))$sql$,
        source.table_name, name_column, source.evidence_table, source.key_column, source.key_column)
      into found_one using alias.tenant_id, alias.alias_normalized, alias.entity_normalized, alias.agent;
      if found_one then
        return true;
      end if;
    end loop;
  end loop;
  return false;
end $$;
comment on function entities.is_disputed is 'True if the caller reads another agent''s statement on one of an alias''s names.';

create function entities.counts_for_caller(alias public.entity_aliases) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return alias.is_from_admin or alias.agent = identity.current_creator() or not entities.is_disputed(alias);
end $$;
comment on function entities.counts_for_caller is 'True if an alias applies: an administrator''s, one''s own, an undisputed one.';
grant execute on function entities.registered_tables, entities.is_disputed, entities.counts_for_caller to l9_agent, l9_admin,
  l9_platform_admin, l9_worker;

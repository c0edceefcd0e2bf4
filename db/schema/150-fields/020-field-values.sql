-- The values of the indexed fields of memories. Triggers of packet_store write them, and searches with a where find
-- memories by them.

create table public.field_values (
  value_id uuid primary key default uuidv7(),
  packet_id uuid not null references public.packet_store on delete cascade,
  field text not null,
  text_value text,
  number_value double precision,
  time_value timestamptz,
  has_more boolean not null default false,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  updated_at timestamptz not null default now()
);

-- Statistics are off because the planner would keep samples of contents.
alter table public.field_values
  alter column text_value set statistics 0, alter column number_value set statistics 0, alter column time_value set statistics 0;

create index field_values_packet_idx on public.field_values (packet_id);
create index field_values_text_idx on public.field_values (tenant_id, field, text_value, packet_id);
create index field_values_number_idx on public.field_values (tenant_id, field, number_value, packet_id)
where number_value is not null;
create index field_values_time_idx on public.field_values (tenant_id, field, time_value, packet_id) where time_value is not null;
create index field_values_more_idx on public.field_values (tenant_id, field, packet_id) where has_more;
comment on table public.field_values is 'Values of the indexed fields of memories, by which searches find them. A row is visible '
  'like its memory.';
comment on column public.field_values.value_id is 'UUID version 7.';
comment on column public.field_values.packet_id is 'The memory.';
comment on column public.field_values.field is 'The field, as in field_indexes.';
comment on column public.field_values.text_value is 'The first 200 characters of a text, number, true or false. A list has a row '
  'for each element.';
comment on column public.field_values.number_value is 'A number, rounded to a double; null for other values.';
comment on column public.field_values.time_value is 'The time that a text is, if it is one in ISO 8601; otherwise null.';
comment on column public.field_values.has_more is 'True if the field is a list of more elements than are indexed, so that the '
  'memory may match any value.';
comment on column public.field_values.tenant_id is 'Tenant of the memory.';
comment on column public.field_values.org_id is 'Org of the memory.';
comment on column public.field_values.user_id is 'User of the memory.';
comment on column public.field_values.project_id is 'Project of the memory.';
comment on column public.field_values.scope is 'Scope of the memory; it decides who may read the row.';
comment on column public.field_values.ttl is 'Expiry of the memory; after it nobody can read the row.';
comment on column public.field_values.updated_at is 'When the row was written, or moved with its memory.';

call identity.protect_like_memories('public.field_values', noun => 'field value');

create policy definer_functions on public.field_values to l9_owner using (true);
comment on policy definer_functions on public.field_values is 'Triggers of memories write the values, and register_field_index() '
  'those of memories that are there.';
grant select on public.field_values to l9_agent, l9_admin, l9_platform_admin;
-- Callers have no write privilege: values follow from the memories.

-- The values move with their memory. They hold no references.
call derived.list_table('field_values', 'packet_id', trace_column => null, has_own_way => false);

create function fields.values_at(envelope jsonb, field text)
returns table (text_value text, number_value double precision, time_value timestamptz, has_more boolean)
language sql stable parallel safe set search_path = ''
begin atomic
  with found as materialized (
    select p.value, pg_catalog.row_number() over () as place
    from pg_catalog.jsonb_path_query(envelope, (packets.field_path(field) || '[*]')::jsonpath, silent => true) as p (value)
    where pg_catalog.jsonb_typeof(p.value) in ('string', 'number', 'boolean')
    -- One more than are kept, to tell whether there are more.
    limit 101
  )
  select pg_catalog.left(f.value #>> '{}', 200),
    case when pg_catalog.jsonb_typeof(f.value) = 'number' and pg_catalog.pg_input_is_valid(f.value::text, 'double precision')
      then f.value::text::double precision end,
    kinds.field_time(f.value), false
  from found f where f.place <= 100
  union all
  select null, null, null, true from found f where f.place > 100;
end;
comment on function fields.values_at is 'The values of a field of an envelope as field_values holds them: the first 100, and a '
  'row that says so if there are more.';

create function fields.lock_indexes(tenant_id uuid, is_exclusive boolean) returns void
language plpgsql volatile set search_path = '' as $$
declare
  key constant bigint := hashtextextended('l9 field indexes ' || tenant_id, 0);
begin
  if is_exclusive then
    perform pg_advisory_xact_lock(key);
  else
    perform pg_advisory_xact_lock_shared(key);
  end if;
end $$;
comment on function fields.lock_indexes is 'Makes saves of memories with fields and the registration of an index wait for each '
  'other, so that no memory is left out of an index.';

create function fields.tg_packet_store__index_fields() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform fields.lock_indexes(new.tenant_id, is_exclusive => false);
  if tg_op = 'UPDATE' then
    delete from public.field_values v where v.packet_id = new.packet_id;
  end if;
  insert into public.field_values (
    packet_id, field, text_value, number_value, time_value, has_more, tenant_id, org_id, user_id, project_id, scope, ttl)
  select new.packet_id, i.field, v.text_value, v.number_value, v.time_value, v.has_more,
    new.tenant_id, new.org_id, new.user_id, new.project_id, new.scope, new.ttl
  from public.field_indexes i
  cross join lateral fields.values_at(new.envelope, i.field) v
  where i.tenant_id = new.tenant_id;
  return null;
end $$;
comment on function fields.tg_packet_store__index_fields is 'Writes the values of the indexed fields of a memory. Definer: '
  'callers can''t write field_values.';

-- Most memories have a content and nothing else, and pay for one comparison.
create trigger _610_index_fields after insert on public.packet_store
  for each row when (new.withheld_creator is null and new.envelope - 'content' <> '{}')
  execute function fields.tg_packet_store__index_fields();
create trigger _610_index_fields_again after update of envelope, review_state on public.packet_store for each row
  when (new.withheld_creator is null
    and (new.envelope - 'content' <> old.envelope - 'content' or old.withheld_creator is not null))
  execute function fields.tg_packet_store__index_fields();

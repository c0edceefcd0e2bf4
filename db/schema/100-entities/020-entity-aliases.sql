create table public.entity_aliases (
  alias_id uuid primary key default uuidv7(),
  alias text not null,
  entity text not null,
  alias_normalized text not null,
  entity_normalized text not null,
  source_packet uuid not null references public.packet_store on delete cascade,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  project_id text,
  scope text not null,
  ttl timestamptz,
  creator text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (tenant_id, scope) references public.scopes (tenant_id, scope),
  constraint alias_of_another_name check (alias_normalized <> entity_normalized)
);

alter table public.entity_aliases
  alter column alias set statistics 0, alter column entity set statistics 0,
  alter column alias_normalized set statistics 0, alter column entity_normalized set statistics 0;

comment on table public.entity_aliases is
  'Other names of entities, a row for each memory that says so. They are looked up, one step far, when facts and relations are read; nothing is rewritten by them. add_alias() writes it.';
comment on column public.entity_aliases.alias_id is 'UUID version 7.';
comment on column public.entity_aliases.alias is 'The other name.';
comment on column public.entity_aliases.entity is 'The entity that it is a name of.';
comment on column public.entity_aliases.alias_normalized is 'alias as it is compared: Unicode NFKC, in lower case, white space collapsed.';
comment on column public.entity_aliases.entity_normalized is 'entity as it is compared: Unicode NFKC, in lower case, white space collapsed.';
comment on column public.entity_aliases.source_packet is 'The memory that says so.';

call derived.derive_from_packets('public.entity_aliases', 'alias_id');

create unique index alias_unique_of_packet on public.entity_aliases (source_packet, alias_normalized);
create index entity_aliases_alias_idx on public.entity_aliases (tenant_id, alias_normalized, scope);
create index entity_aliases_entity_idx on public.entity_aliases (tenant_id, entity_normalized, scope);
create index entity_aliases_readers_idx on public.entity_aliases (tenant_id, scope, alias_id);

comment on index public.alias_unique_of_packet is 'One memory gives a name one meaning.';

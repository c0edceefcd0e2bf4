-- Other names of entities. add_alias() and confirm_alias() write them, and the functions that find facts and
-- relationships by name resolve them.

create table public.entity_aliases (
  alias_id uuid primary key default uuidv7(),
  alias text not null,
  entity text not null,
  alias_normalized text not null,
  entity_normalized text not null,
  source_packet uuid not null references public.packet_store on delete cascade,
  agent text not null,
  is_from_admin boolean not null,
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
comment on table public.entity_aliases is 'Other names of entities: one row for each memory that states an alias. Readers of '
  'facts and relationships resolve aliases one step far at query time; stored names are never rewritten. add_alias() writes this '
  'table.';
comment on column public.entity_aliases.alias_id is 'UUID version 7.';
comment on column public.entity_aliases.alias is 'The other name, as the memory spells it.';
comment on column public.entity_aliases.entity is 'The entity that the alias names, as the memory spells it.';
comment on column public.entity_aliases.alias_normalized is 'The alias in the form in which names are compared: Unicode NFKC, '
  'lower case, white space collapsed.';
comment on column public.entity_aliases.entity_normalized is 'The entity in the form in which names are compared: Unicode NFKC, '
  'lower case, white space collapsed.';
comment on column public.entity_aliases.source_packet is 'The memory that states the alias.';
comment on column public.entity_aliases.agent is 'The creator name of the agent whose word the alias is: who stated it or, once '
  'an administrator has confirmed it, the administrator.';
comment on column public.entity_aliases.is_from_admin is 'True if an administrator stated or confirmed the alias. Otherwise it '
  'counts only for its agent where others have stated something of the two names.';

call derived.derive_from_packets('public.entity_aliases', 'alias_id');
create trigger _320_stamp_statement before insert on public.entity_aliases
  for each row execute function derived.tg__stamp_statement('source_packet');
-- An alias is found by its normalised text, so it is refused rather than redacted.
call secrets.guard_table('public.entity_aliases', array['correlation_id', 'session_id', 'trace_id', 'agent'], redacts => false);

create unique index alias_unique_of_packet on public.entity_aliases (source_packet, alias_normalized);
create index entity_aliases_alias_idx on public.entity_aliases (tenant_id, alias_normalized, scope);
create index entity_aliases_entity_idx on public.entity_aliases (tenant_id, entity_normalized, scope);
create index entity_aliases_readers_idx on public.entity_aliases (tenant_id, scope, alias_id);

comment on index public.alias_unique_of_packet is 'A memory gives a name at most one meaning.';

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
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid, project_id text, scope text not null,
  ttl timestamptz, creator text not null, created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (tenant_id, scope) references public.scopes (tenant_id, scope),
  constraint alias_of_another_name check (alias_normalized <> entity_normalized)
);

alter table public.entity_aliases
  alter column alias set statistics 0, alter column entity set statistics 0,
  alter column alias_normalized set statistics 0, alter column entity_normalized set statistics 0;
call identity.describe('public.entity_aliases', 'Other names of entities: one row for each memory that states an alias. Readers of
    facts and relationships resolve aliases one step far at query time; stored names are never rewritten. add_alias() writes this
    table.
  alias_id: UUID version 7.
  alias: The other name, as the memory spells it.
  entity: The entity that the alias names, as the memory spells it.
  alias_normalized: The alias in the form in which names are compared: Unicode NFKC, lower case, white space collapsed.
  entity_normalized: The entity in the form in which names are compared: Unicode NFKC, lower case, white space collapsed.
  source_packet: The memory that states the alias.
  agent: The creator name of the agent whose word the alias is: who stated it or, once an administrator has confirmed it, the
    administrator.
  is_from_admin: True if an administrator stated or confirmed the alias. Otherwise it counts only for its agent where others have
    stated something of the two names.');

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

-- Which parts of a session a tenant archives. Administrators set it over GraphQL and psql; prepare_session_archive() reads it.
create table public.archive_settings (
  tenant_id uuid primary key references public.tenants,
  archive_fields text[] not null default '{}',
  updated_at timestamptz not null default now(),
  constraint archive_fields_known check (archive_fields <@ '{messages,tool_calls}'::text[])
);
call identity.describe('public.archive_settings', 'What a tenant archives of its sessions. Only a tenant that changed the default
    has a row. set_archive_settings() writes it.
  tenant_id: The tenant.
  archive_fields: What is stored beside session_id, timestamp, ended_at, tool_name, success, summary and tags: messages (role and
    text of each), tool_calls (those in the messages), or nothing, the default.
  updated_at: Time when the settings were last changed.');
call identity.protect_tenant_rows('public.archive_settings',
  readers => 'Every caller may read what is stored of a session that it archives.',
  writers => 'Functions read the settings; set_archive_settings() writes them.');
grant select on public.archive_settings to l9_agent, l9_admin, l9_platform_admin;
-- Nobody has an insert, update or delete privilege: set_archive_settings() checks the values, and a trigger audits them.

create trigger _500_audit after insert or update on public.archive_settings
  for each row execute function administration.tg__audit_identity('', 'archive_fields');

create function public.set_archive_settings(archive_fields text[], tenant_id uuid default null) returns public.archive_settings
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(set_archive_settings.tenant_id);
  saved public.archive_settings;
begin
  if (set_archive_settings.archive_fields <@ '{messages,tool_calls}'::text[]) is not true then
    perform identity.raise_error('L9VAL', 'archive_fields: a list of messages and tool_calls, or an empty one');
  elsif 'tool_calls' = any (set_archive_settings.archive_fields) and 'messages' <> all (set_archive_settings.archive_fields) then
    perform identity.raise_error('L9VAL', 'archive_fields: tool_calls stand in the messages, so name messages too');
  end if;
  insert into public.archive_settings as s (tenant_id, archive_fields)
  values (admin.target_tenant_id, set_archive_settings.archive_fields)
  on conflict on constraint archive_settings_pkey do update set archive_fields = excluded.archive_fields,
    updated_at = clock_timestamp()
  returning s.* into saved;
  return saved;
end $$;
comment on function public.set_archive_settings is 'Sets what is stored of archived sessions beside session_id, timestamp, '
  'ended_at, tool_name, success, summary and tags. For admins with a whole token. Audited. Errors: L9VAL, L9SCP, L9AUT. Definer: '
  'only this function writes the settings.';
grant execute on function public.set_archive_settings to l9_admin, l9_platform_admin;

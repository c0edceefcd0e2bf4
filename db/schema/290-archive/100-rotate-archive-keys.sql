-- Steps through archives, to wrap their keys with another master key or to verify them. The operations
-- rotate_archive_keys and verify_archives call these functions; the gateway wraps the keys.
create function archive.keys_to_rotate(current_key_id text, after uuid, at_most integer)
returns table (archive_id uuid, tenant_id uuid, key_id text, wrapped_key bytea)
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(null);
begin
  return query
    select a.archive_id, a.tenant_id, a.key_id, w.wrapped_key
    from public.session_archives a
    join archive.wrapped_keys w on w.archive_id = a.archive_id
    where a.key_id <> current_key_id and (after is null or a.archive_id > after) order by a.archive_id limit least(at_most, 1000);
end $$;
comment on function archive.keys_to_rotate is 'The next wrapped keys of archives, in the order of their ids, that another master '
  'key than this one wraps: of the tenant for an admin, of all tenants for an operator. With a whole token. Definer: callers '
  'have no access to keys.';

create function archive.replace_key(archive_id uuid, former_key_id text, key_id text, wrapped_key bytea) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_unlimited(null);
  replaced public.session_archives;
begin
  if (key_id ~ '^[A-Za-z0-9._-]{1,64}$') is not true or octet_length(wrapped_key) is distinct from 60 then
    perform identity.raise_error('L9VAL', 'key_id: must be 1 to 64 letters, digits or ._-');
  end if;
  update public.session_archives a set key_id = replace_key.key_id
  where a.archive_id = replace_key.archive_id and a.key_id = replace_key.former_key_id returning a.* into replaced;
  if not found then
    return false;
  end if;
  update archive.wrapped_keys w set wrapped_key = replace_key.wrapped_key where w.archive_id = replace_key.archive_id;
  perform audit.write_audit_of_tenant(replaced.tenant_id, 'UPDATE', 'session_archives', replaced.archive_id, replaced.project_id,
    replaced.scope, jsonb_build_object('key_id', replace_key.key_id, 'was_key_id', replace_key.former_key_id));
  return true;
end $$;
comment on function archive.replace_key is 'Replaces the wrapped key of an archive by the same key under another master key; '
  'false if another call did so meanwhile. With an audit row. For admins and operators with a whole token. Definer: callers have '
  'no access to keys.';

create function archive.keys_in_use(out key_id text, out archives bigint) returns setof record
language plpgsql stable security definer set search_path = '' as $$
begin
  perform administration.require_unlimited(null);
  return query select a.key_id, count(*) from public.session_archives a where a.key_id <> '' group by a.key_id order by a.key_id;
end $$;
comment on function archive.keys_in_use is 'The master keys that archives need, and how many: those of the tenant for an admin, '
  'of all tenants for an operator. With a whole token. Definer: expired archives need their keys too.';

create function archive.archives_to_verify(after uuid, at_most integer) returns table (archive_id uuid, pointer text)
language plpgsql volatile set search_path = '' as $$
begin
  return query
    select a.archive_id, a.pointer from public.session_archives a
    where (archives_to_verify.after is null or a.archive_id > archives_to_verify.after) order by a.archive_id
    limit least(at_most, 100);
  if not found then
    perform audit.audit_read('READ', jsonb_build_object('function', 'verify_archives', 'ids', '[]'::jsonb));
  end if;
end $$;
comment on function archive.archives_to_verify is 'The next readable archives by id. Opening each one is audited.';
grant execute on function archive.keys_to_rotate, archive.replace_key, archive.keys_in_use to l9_admin, l9_platform_admin;
grant execute on function archive.archives_to_verify to l9_agent, l9_admin, l9_platform_admin;

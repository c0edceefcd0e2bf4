create function forgetting.erase_user(tenant_id uuid, user_id uuid)
returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
#variable_conflict use_column
declare
  erased integer;
begin
  update public.users u
  set name = 'erased-' || u.user_id, is_active = false
  where u.tenant_id = erase_user.tenant_id and u.user_id = erase_user.user_id;
  get diagnostics erased = row_count;
  return jsonb_build_object('names', erased);
end
$$;

comment on function forgetting.erase_user(uuid, uuid) is
  'Takes a user''s name away and deactivates it; its id stays, for the record. Not executable by callers.';

-- The step of an erasure of a subject that removes the name of the user. erase_marked() calls it for erase_subject().
create function forgetting.erase_user(tenant_id uuid, user_id uuid) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
  changed_count integer;
begin
  update public.users u
  set name = 'erased-' || u.user_id, is_active = false
  where u.tenant_id = erase_user.tenant_id and u.user_id = erase_user.user_id;
  get diagnostics changed_count = row_count;
  return jsonb_build_object('names', changed_count);
end $$;
comment on function forgetting.erase_user is 'Replaces the name of a user, who is deactivated. Audit rows refer to the user_id.';

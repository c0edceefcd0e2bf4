-- The step of an erasure that deletes feedback, whose reasons are words of agents. erase_marked() calls it.
create policy definer_functions on public.memory_feedback for select to l9_owner
  using (tenant_id = any ((select forgetting.administered_tenants())::uuid[]));
create policy definer_erasure on public.memory_feedback for delete to l9_owner
  using (tenant_id = any ((select forgetting.administered_tenants())::uuid[]));
comment on policy definer_functions on public.memory_feedback is 'Erasure reads feedback in tenants that the caller administers.';
comment on policy definer_erasure on public.memory_feedback is 'Erasure deletes feedback in tenants that the caller administers.';

create function forgetting.erase_feedback(erasure_id uuid, tenant_id uuid default null, user_id uuid default null) returns jsonb
language plpgsql volatile set search_path = '' as $$
declare
  deleted_count integer;
begin
  delete from public.memory_feedback f
  where f.packet_id in (select t.packet_id from public.memory_tombstones t where t.erasure_id = erase_feedback.erasure_id)
    or f.tenant_id = erase_feedback.tenant_id and f.user_id = erase_feedback.user_id;
  get diagnostics deleted_count = row_count;
  return jsonb_build_object('feedback', deleted_count);
end $$;
comment on function forgetting.erase_feedback is 'Deletes feedback about erased memories, and all for an erased subject.';

create table public.memory_feedback (
  -- One vote for one access: a second opinion takes the place of the first.
  access_id uuid primary key,
  packet_id uuid not null references public.packet_store on delete cascade,
  agent_id text not null,
  was_useful boolean not null,
  reason text,
  given_at timestamptz not null,
  xid xid8 not null,
  tenant_id uuid not null references public.tenants,
  org_id uuid,
  user_id uuid,
  constraint feedback_reason_at_most_1000_bytes check (octet_length(reason) <= 1000)
);

create index memory_feedback_packet_idx on public.memory_feedback (packet_id);
create index memory_feedback_xid_idx on public.memory_feedback (xid);
create index memory_feedback_user_idx on public.memory_feedback (tenant_id, user_id) where user_id is not null;

-- What is erased must not stay in the planner's statistics.
alter table public.memory_feedback alter column reason set statistics 0;

comment on table public.memory_feedback is
  'Whether a memory was of use to the agent that it was shown to: one row for an access at most. Beside the access log, not in it, so that the log is never changed, and what was said can be erased.';
comment on column public.memory_feedback.access_id is 'The access, in memory_access_log.';
comment on column public.memory_feedback.packet_id is 'The memory: what was said about it goes with it.';
comment on column public.memory_feedback.agent_id is 'The caller that made the access.';
comment on column public.memory_feedback.was_useful is 'Whether it helped.';
comment on column public.memory_feedback.reason is 'Why, in the words of the caller: 1000 bytes at most.';
comment on column public.memory_feedback.given_at is 'When it was last said.';
comment on column public.memory_feedback.xid is 'The transaction that said it last: votes are rolled up in this order.';
comment on column public.memory_feedback.tenant_id is 'Tenant of the memory, and of the caller.';
comment on column public.memory_feedback.org_id is 'The org the caller acted for.';
comment on column public.memory_feedback.user_id is 'The user the caller acted for.';

alter table public.memory_feedback enable row level security;
alter table public.memory_feedback force row level security;

create policy tenant_isolation on public.memory_feedback as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy org_isolation on public.memory_feedback as restrictive to l9_agent
  using (org_id is not distinct from (select identity.current_org_id()));
create policy user_visibility on public.memory_feedback as restrictive to l9_agent
  using (user_id is not distinct from (select identity.current_user_id()));
-- Under the caller's own policies: of a memory that is not there for it, it can say nothing, nor see what it said.
create policy packet_visibility on public.memory_feedback as restrictive to l9_agent, l9_admin, l9_platform_admin
  using (exists (
    select from public.packet_store p where p.packet_id = memory_feedback.packet_id and p.tenant_id = memory_feedback.tenant_id));
create policy own_access on public.memory_feedback as restrictive for insert to l9_agent, l9_admin
  with check (
    agent_id = (select identity.current_caller())
    and exists (
      select from importance.memory_access_log a
      where a.access_id = memory_feedback.access_id and a.accessed_at = uuid_extract_timestamp(memory_feedback.access_id)
        and a.target_id = memory_feedback.packet_id and a.tenant_id = memory_feedback.tenant_id
        and a.agent_id = memory_feedback.agent_id
        and a.org_id is not distinct from memory_feedback.org_id and a.user_id is not distinct from memory_feedback.user_id));
create policy own_feedback on public.memory_feedback as restrictive for update to l9_agent, l9_admin
  using (
    agent_id = (select identity.current_caller())
    and org_id is not distinct from (select identity.current_org_id())
    and user_id is not distinct from (select identity.current_user_id()));
create policy scope_access on public.memory_feedback to l9_agent
  using (agent_id = (select identity.current_caller()));
create policy admin_override on public.memory_feedback to l9_admin using (true);
create policy platform_override on public.memory_feedback for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('memory_feedback')));
create policy worker_access on public.memory_feedback for select to l9_worker using (true);

comment on policy tenant_isolation on public.memory_feedback is 'Nothing crosses tenants.';
comment on policy org_isolation on public.memory_feedback is 'What an agent said for one org is not shown to it while it acts for another, or for none.';
comment on policy user_visibility on public.memory_feedback is 'What an agent said for one user is not shown to it while it acts for another, or for none.';
comment on policy packet_visibility on public.memory_feedback is 'About memories that the caller may read at present, and no others.';
comment on policy own_access on public.memory_feedback is 'Only about an access that the caller made itself, for the same org and user.';
comment on policy own_feedback on public.memory_feedback is 'Only what the caller said itself can it take back.';
comment on policy scope_access on public.memory_feedback is 'Agents see what they said themselves.';
comment on policy admin_override on public.memory_feedback is 'L sees what its tenant''s agents said about memories that it may read.';
comment on policy platform_override on public.memory_feedback is 'Operators read across tenants, each look on the record.';
comment on policy worker_access on public.memory_feedback is 'The job that rolls it up reads it.';

grant select on public.memory_feedback to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (access_id, packet_id, was_useful, reason) on public.memory_feedback to l9_agent, l9_admin;
grant update (was_useful, reason) on public.memory_feedback to l9_agent, l9_admin;
-- Whose it is and when is stamped. No delete: what was said goes with its memory, or is erased.

create function importance.tg_memory_feedback__stamp()
returns trigger
language plpgsql
set search_path = ''
as $$
declare
  me identity.identity := identity.require_identity();
begin
  perform identity.check_bytes(new.reason, 1000, 'reason');
  new.agent_id := me.caller;
  new.tenant_id := me.tenant_id;
  new.org_id := me.org_id;
  new.user_id := me.user_id;
  new.given_at := clock_timestamp();
  new.xid := pg_current_xact_id();
  return new;
end
$$;

comment on function importance.tg_memory_feedback__stamp() is 'Says who gives the feedback, and when: what the client sent for that never counts.';

create trigger _300_stamp before insert or update on public.memory_feedback
  for each row execute function importance.tg_memory_feedback__stamp();

create function importance.tg_memory_feedback__audit()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
  select tg_op, tg_table_name, n.access_id, n.tenant_id, a.project_id, a.scope,
    jsonb_build_object('packet_id', n.packet_id, 'was_useful', n.was_useful) || audit.audit_actor()
  from new_rows n
  join importance.memory_access_log a on a.access_id = n.access_id and a.accessed_at = uuid_extract_timestamp(n.access_id);
  return null;
end
$$;

comment on function importance.tg_memory_feedback__audit() is
  'One audit row for each vote, without its reason. Definer: callers can''t insert into audit_log.';

create trigger _500_audit_insert after insert on public.memory_feedback
  referencing new table as new_rows
  for each statement execute function importance.tg_memory_feedback__audit();
create trigger _500_audit_update after update on public.memory_feedback
  referencing new table as new_rows
  for each statement execute function importance.tg_memory_feedback__audit();

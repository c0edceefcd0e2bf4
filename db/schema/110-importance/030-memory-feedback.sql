-- The votes of agents on memories that they were shown. record_feedback() writes them with the rights of the caller,
-- and the roll-up job counts them.
create function importance.max_reason_bytes() returns integer language sql immutable parallel safe return 1000;
comment on function importance.max_reason_bytes is 'The maximum size of the reason of feedback.';
grant execute on function importance.max_reason_bytes to l9_agent, l9_admin;

create function importance.tg_memory_feedback__stamp() returns trigger language plpgsql set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
begin
  perform identity.check_bytes(new.reason, importance.max_reason_bytes(), 'reason');
  new.agent_id := me.caller;
  new.tenant_id := me.tenant_id;
  new.org_id := me.org_id;
  new.user_id := me.user_id;
  new.given_at := clock_timestamp();
  new.xid := pg_current_xact_id();
  return new;
end $$;

create function importance.tg_memory_feedback__stamp_text() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  new.content_hash := importance.text_hash_at(new.packet_id, uuid_extract_timestamp(new.access_id));
  return new;
end $$;
comment on function importance.tg_memory_feedback__stamp_text is 'Records which text the vote is for: the one that the memory '
  'had when it was shown. Definer: callers don''t see all versions.';

create function importance.tg_memory_feedback__audit() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into public.audit_log (operation, table_name, row_id, tenant_id, project_id, scope, details)
  select tg_op, tg_table_name, n.access_id, n.tenant_id, a.project_id, a.scope,
    jsonb_build_object('packet_id', n.packet_id, 'was_useful', n.was_useful) || audit.audit_actor()
  from new_rows n
  join importance.memory_access_log a on a.access_id = n.access_id and a.accessed_at = uuid_extract_timestamp(n.access_id);
  return null;
end $$;
comment on function importance.tg_memory_feedback__stamp is 'Writes who votes and when, replacing what the client sent.';
comment on function importance.tg_memory_feedback__audit is 'Writes one audit row for each vote, without its reason. Definer: '
  'callers can''t insert into audit_log.';

create table public.memory_feedback (
  -- One vote for each access: a second vote replaces the first.
  access_id uuid primary key,
  packet_id uuid not null references public.packet_store on delete cascade,
  agent_id text not null,
  was_useful boolean not null,
  reason text,
  content_hash bytea,
  given_at timestamptz not null,
  xid xid8 not null,
  tenant_id uuid not null references public.tenants, org_id uuid, user_id uuid,
  constraint feedback_reason_at_most_1000_bytes check (octet_length(reason) <= importance.max_reason_bytes())
);

create index memory_feedback_packet_idx on public.memory_feedback (packet_id);
create index memory_feedback_xid_idx on public.memory_feedback (xid);
create index memory_feedback_user_idx on public.memory_feedback (tenant_id, user_id) where user_id is not null;

-- Erased reasons must not stay in the planner's statistics.
alter table public.memory_feedback alter column reason set statistics 0, alter column content_hash set statistics 0;
call identity.describe('public.memory_feedback', 'Whether a memory was useful to the agent that it was shown to: at most one row
    for each access. Feedback is kept beside the access log so that the log is never changed and feedback can be erased.
  access_id: The access, in memory_access_log.
  packet_id: The memory. Feedback on it is deleted with it.
  agent_id: The caller that made the access.
  was_useful: True if the memory helped.
  reason: Why the memory helped or did not, in the caller''s words: at most 1000 bytes.
  content_hash: The hash of the text that the memory had when it was shown. Feedback on another text than the present one does not
    count.
  given_at: When the feedback was last given.
  xid: The transaction that last gave the feedback. Votes are rolled up in this order.
  tenant_id: The tenant of the memory and of the caller.
  org_id: The org that the caller acted for.
  user_id: The user that the caller acted for.');

alter table public.memory_feedback enable row level security, force row level security;

create policy tenant_isolation on public.memory_feedback as restrictive to l9_agent, l9_admin
  using (tenant_id = (select identity.current_tenant_id()));
create policy org_isolation on public.memory_feedback as restrictive to l9_agent
  using (org_id is not distinct from (select identity.current_org_id()));
create policy user_visibility on public.memory_feedback as restrictive to l9_agent
  using (user_id is not distinct from (select identity.current_user_id()));
-- Evaluated under the caller's own policies: it can neither give nor see feedback on a memory that it can't see.
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
create policy scope_access on public.memory_feedback to l9_agent using (agent_id = (select identity.current_caller()));
create policy admin_override on public.memory_feedback to l9_admin using (true);
create policy platform_override on public.memory_feedback for select to l9_platform_admin
  using ((select identity.allow_and_audit_operator_read('memory_feedback')));
create policy worker_access on public.memory_feedback for select to l9_worker using (true);

comment on policy tenant_isolation on public.memory_feedback is 'Nothing is shared between tenants.';
comment on policy org_isolation on public.memory_feedback is 'Feedback that an agent gave for one org is hidden from it while it '
  'acts for another, or for none.';
comment on policy user_visibility on public.memory_feedback is 'Feedback that an agent gave for one user is hidden from it while '
  'it acts for another, or for none.';
comment on policy packet_visibility on public.memory_feedback is 'Feedback is visible only on memories that the caller may read '
  'at present.';
comment on policy own_access on public.memory_feedback is 'A caller may give feedback only on an access that it made itself, for '
  'the same org and user.';
comment on policy own_feedback on public.memory_feedback is 'A caller may change only its own feedback.';
comment on policy scope_access on public.memory_feedback is 'Agents see their own feedback.';
comment on policy admin_override on public.memory_feedback is 'Admins see the feedback of their tenant''s agents on memories '
  'that the admin may read.';
comment on policy platform_override on public.memory_feedback is 'Operators read across tenants, and each read is audited.';
comment on policy worker_access on public.memory_feedback is 'The roll-up job reads feedback.';
grant select on public.memory_feedback to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant insert (access_id, packet_id, was_useful, reason) on public.memory_feedback to l9_agent, l9_admin;
grant update (was_useful, reason) on public.memory_feedback to l9_agent, l9_admin;
-- Triggers stamp the caller and the time. Nobody may delete: feedback is deleted or erased with its memory.

create trigger _300_stamp before insert or update on public.memory_feedback
  for each row execute function importance.tg_memory_feedback__stamp();

create trigger _310_stamp_text before insert or update on public.memory_feedback
  for each row execute function importance.tg_memory_feedback__stamp_text();

call secrets.guard_table('public.memory_feedback', array['agent_id']);

create trigger _500_audit_insert after insert on public.memory_feedback referencing new table as new_rows
  for each statement execute function importance.tg_memory_feedback__audit();
create trigger _500_audit_update after update on public.memory_feedback referencing new table as new_rows
  for each statement execute function importance.tg_memory_feedback__audit();

-- Whose statement something is: what an agent states counts once, and an administrator's word outranks an agent's.

-- A row stands here while a memory that was approved states what waited with it, or one that was moved states in its new
-- place what it stated in the old one. No other transaction ever sees one.
create table derived.memories_being_restated (
  packet_id uuid primary key references public.packet_store on delete cascade
);
call identity.describe('derived.memories_being_restated', 'The memories that were approved or moved in this transaction: what they
    state is the word of their writers, not of the administrator who approved or moved them.
  packet_id: The memory.');
call identity.keep_private('derived.memories_being_restated',
  functions => 'The triggers of an approval and of a move write and delete rows, and functions that state something read them.');

create function derived.is_being_restated(packet_id uuid) returns boolean
language sql stable parallel safe security definer set search_path = ''
return exists (select from derived.memories_being_restated a where a.packet_id = is_being_restated.packet_id);
comment on function derived.is_being_restated is 'True while a memory that was approved or moved states what it says for its '
  'writer. Definer: callers have no grant on the table.';
grant execute on function derived.is_being_restated to l9_agent, l9_admin, l9_worker;

create function derived.agent_for(source public.packet_store) returns text language sql stable parallel safe set search_path = ''
return coalesce(
  case when derived.is_being_restated((source).packet_id) then (source).metadata ->> 'creator' end,
  identity.current_creator(), packets.text_writer(source));
comment on function derived.agent_for is 'The creator name of who states what is derived: the caller, or a memory''s writer; its '
  'creator when it was approved.';

create function derived.is_from_admin(source public.packet_store) returns boolean
language sql stable parallel safe set search_path = ''
return identity.is_admin_creator((source).tenant_id, derived.agent_for(source));
comment on function derived.is_from_admin is 'True if agent_for() this memory is an administrator.';

create function derived.tg__stamp_statement() returns trigger language plpgsql security definer set search_path = '' as $$
declare
  source public.packet_store;
begin
  select p.* into source from public.packet_store p where p.packet_id = (to_jsonb(new) ->> tg_argv[0])::uuid;
  new.agent := derived.agent_for(source);
  new.is_from_admin := derived.is_from_admin(source);
  return new;
end $$;
comment on function derived.tg__stamp_statement is 'Records whose statement a derived row is, and whether an administrator made '
  'it. The argument is the column that names the source. Definer: agents see no row of actors but their own.';

create function derived.bounded_confidence(source public.packet_store, confidence double precision) returns double precision
language sql stable parallel safe set search_path = ''
return least(confidence, (identity.bounds_of((source).tenant_id, derived.agent_for(source))).max_confidence);
comment on function derived.bounded_confidence is 'The bound of confidence of agent_for() this memory.';

create function derived.may_speak_for_caller(memory public.packet_store) returns boolean
language sql stable parallel safe security definer set search_path = ''
return identity.current_role_name() <> 'l9_admin' or identity.is_admin_creator((memory).tenant_id, packets.text_writer(memory));
comment on function derived.may_speak_for_caller is 'False for an administrator and words of an agent, which the agent may '
  'change later: what the administrator says must not stand for nothing but those. Definer: agents see no row of actors but '
  'their own.';
grant execute on function derived.may_speak_for_caller to l9_agent, l9_admin;

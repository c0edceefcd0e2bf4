-- The memory that a statement is derived from. Callers of assert_fact(), apply_world_update() and the like name one, or one is
-- saved.

create function derived.packet_for(
  kind text, content text, scope text, project_id text, source_packet uuid, envelope jsonb default '{}') returns uuid
language plpgsql volatile set search_path = '' as $$
declare
  saved public.save_result;
begin
  if source_packet is not null then
    perform derived.refuse_withheld_source(source_packet);
    return source_packet;
  end if;
  saved := public.save_memory(
    content => content, scope => scope, project_id => project_id, branch => '*', kind => kind, envelope => envelope);
  perform derived.refuse_withheld(saved.memory);
  return (saved.memory).packet_id;
end $$;
comment on function derived.packet_for is 'The memory that something is to be derived from: source_packet or, if it is null, a '
  'new memory of this kind and content, of every branch: what is derived has no branch. Runs with the rights of the caller.';
grant execute on function derived.packet_for to l9_agent, l9_admin;

create function derived.keep_alive(packet_id uuid) returns void
language sql volatile set search_path = ''
begin atomic
  update public.packet_store p set ttl = null where p.packet_id = keep_alive.packet_id and p.ttl is not null;
end;
comment on function derived.keep_alive is 'Removes the expiry of a memory that says already what is stated without an expiry, if '
  'the policies let the caller change it: an agent must not limit what an administrator states in the same words.';
grant execute on function derived.keep_alive to l9_agent, l9_admin;

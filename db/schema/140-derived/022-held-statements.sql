-- What a memory that waits for a review is to state once it is approved: the function and its arguments, in the key on_approval
-- of its envelope, so that a reviewer reads and may change it. Functions that save a memory to state something from call these.

create function derived.on_approval(kind text, scope text, project_id text, statement text, arguments jsonb) returns jsonb
language sql stable set search_path = ''
return (
  select case when packets.needs_review((me).tenant_id, (me).caller, scope, project_id, kind, (me).source)
    then jsonb_build_object('on_approval', jsonb_build_object('statement', statement, 'arguments', jsonb_strip_nulls(arguments)))
    else '{}' end
  from identity.current_identity() as me);
comment on function derived.on_approval is 'What to put into the envelope of a memory that the caller is about to save, to state '
  'something from it: nothing, if the memory counts at once.';

create function derived.refuse_withheld(memory public.packet_store) returns void
language plpgsql stable set search_path = '' as $$
begin
  if packets.is_withheld((memory).review_state) then
    perform identity.raise_error('L9IMM', format(
      'scope: what you save there as %s needs a review, and this can''t wait for one; save a memory instead, or name one '
      'that was approved', (memory).packet_type));
  end if;
end $$;
comment on function derived.refuse_withheld is 'Raises L9IMM for a memory that waits for a review, where what is to be '
  'derived from it can''t be kept until it is approved.';

-- Runs as the caller, who knows of its own memories that they wait. Functions of the owner do not find them.
create function derived.refuse_withheld_source(packet_id uuid) returns void
language plpgsql stable set search_path = '' as $$
begin
  if exists (
    select from public.packet_store p
    where p.packet_id = refuse_withheld_source.packet_id and p.withheld_creator is not null) then
    perform identity.raise_error('L9IMM', format(
      'source_packet: memory %s waits for a review, or was rejected, so nothing can be derived from it', packet_id));
  end if;
end $$;
comment on function derived.refuse_withheld_source is 'Raises L9IMM for a memory that the caller sees and that does not count.';
grant execute on function derived.on_approval, derived.refuse_withheld, derived.refuse_withheld_source to l9_agent, l9_admin;

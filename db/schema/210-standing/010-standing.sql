-- What an answer says of each memory that it shows, besides its contents. Hits have a column of this type.
create type public.standing as (creator text, source text, text_creator text, superseded_by uuid, is_partly_superseded boolean,
  review_state text, is_own boolean);
call identity.describe('public.standing', 'Whose word a memory is, and whether it still holds.
  creator: The agent that saved it.
  source: The source of that agent.
  text_creator: The administrator whose text it is by now; null: it is the text of its creator.
  superseded_by: The memory that superseded it, directly, as far as the caller can read that one; otherwise null.
  is_partly_superseded: True if it also states facts that nothing superseded; null if nothing superseded it.
  review_state: approved: an administrator approved it. pending, rejected: it does not count, and only its creator and
    administrators see it. Null: it needed no review.
  is_own: True if the caller saved it.');

create function standing.own_standing(memory public.packet_store, own_creator text) returns public.standing
language sql immutable parallel safe
return row(
  (memory).metadata ->> 'creator', (memory).metadata ->> 'source', (memory).text_creator, null, null, (memory).review_state,
  coalesce((memory).metadata ->> 'creator' = own_creator, false))::public.standing;
comment on function standing.own_standing is 'The standing of a memory, apart from what superseded it. own_creator: the name '
  'of the caller as a creator.';
grant execute on function standing.own_standing to l9_agent, l9_admin, l9_platform_admin;

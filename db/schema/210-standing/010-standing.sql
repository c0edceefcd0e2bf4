-- What an answer says of each memory that it shows, besides its contents. Hits have a column of this type.
create type public.standing as (creator text, source text, text_creator text, superseded_by uuid, is_partly_superseded boolean,
  review_state text, is_own boolean);
comment on type public.standing is 'Whose word a memory is, and whether it still holds.';
comment on column public.standing.creator is 'The agent that saved it.';
comment on column public.standing.source is 'The source of that agent.';
comment on column public.standing.text_creator is 'The administrator whose text it is by now; null: it is the text of its '
  'creator.';
comment on column public.standing.superseded_by is 'The memory that superseded it, directly, as far as the caller can read that '
  'one; otherwise null.';
comment on column public.standing.is_partly_superseded is 'True if it also states facts that nothing superseded; null if nothing '
  'superseded it.';
comment on column public.standing.review_state is 'approved: an administrator approved it. pending, rejected: it does not count, '
  'and only its creator and administrators see it. Null: it needed no review.';
comment on column public.standing.is_own is 'True if the caller saved it.';

create function standing.standing_of(memory public.packet_store, superseded_by uuid, is_partly_superseded boolean)
returns public.standing
language sql stable parallel safe
return row(
  (memory).metadata ->> 'creator', (memory).metadata ->> 'source', (memory).text_creator, superseded_by,
  case when superseded_by is not null then is_partly_superseded end,
  (memory).review_state, coalesce((memory).metadata ->> 'creator' = identity.current_creator(), false))::public.standing;
comment on function standing.standing_of is 'The standing of a memory, given what superseded it.';
grant execute on function standing.standing_of to l9_agent, l9_admin, l9_platform_admin;

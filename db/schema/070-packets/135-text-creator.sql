-- Whose word the present text of a memory is. Inside the rule that agents change only what they created, a text or field that an
-- administrator has written, or saved a second time, is the administrator's. Policies, triggers and functions of later chapters
-- ask here.

-- Without a search_path it is inlined.
create function packets.text_writer(memory public.packet_store) returns text language sql immutable parallel safe
return coalesce((memory).text_creator, (memory).metadata ->> 'creator');
comment on function packets.text_writer is 'The creator name of who wrote, or stands by, the present text of a memory.';

create function packets.has_other_writer(memory public.packet_store, me identity.identity) returns boolean
language sql stable parallel safe set search_path = '' return packets.text_writer(memory) <> (me).creator;
comment on function packets.has_other_writer is 'True if another''s text stands now; null for no memory or no caller.';

create function packets.may_rewrite(memory public.packet_store, me identity.identity) returns boolean
language sql stable parallel safe set search_path = ''
return (memory).scope = any ((me).writable_scopes)
  and ((me).role = 'l9_admin' or (memory).metadata ->> 'creator' = (me).creator and (memory).text_creator is null);
comment on function packets.may_rewrite is 'True if the policies creator_updates and writable_updates let the caller change it.';

create function packets.text_creator_of(memory public.packet_store, former public.packet_store, me identity.identity) returns text
language sql stable parallel safe set search_path = ''
return case
  -- Kind, tags, importance, ttl, place and references are labels, which say nothing themselves.
  when ((memory).envelope, (memory)."timestamp", (memory).provenance, (memory).metadata - 'updated_by')
      is distinct from ((former).envelope, (former)."timestamp", (former).provenance, (former).metadata - 'updated_by')
    or (memory).text_creator is distinct from (former).text_creator and (memory).text_creator is not null
    then nullif((me).creator, (memory).metadata ->> 'creator')
  else (memory).text_creator end;
comment on function packets.text_creator_of is 'The column text_creator after a change: the caller where it changes text, '
  'fields, metadata, event time or provenance, or claims them; null where it is the creator. An administrator may also set the '
  'column to null, which gives the text back.';

create function packets.claim_text(packet_id uuid, until timestamptz default null) returns void
language plpgsql volatile set search_path = '' as $$
declare
  my_creator text;
begin
  if identity.current_role_name() = 'l9_admin' then
    my_creator := (identity.require_identity()).creator;
    update public.packet_store p set
      text_creator = coalesce(p.text_creator, my_creator), ttl = case when p.ttl < until then until else p.ttl end
    where p.packet_id = claim_text.packet_id and p.metadata ->> 'creator' <> my_creator
      and (p.text_creator is null or p.ttl < until)
      and not identity.is_admin_creator(p.tenant_id, p.metadata ->> 'creator');
  end if;
end $$;
comment on function packets.claim_text is 'Makes an administrator stand by the text of an agent''s memory, because it saved the '
  'same text or derives something from it: the agent can no longer change it. until: the memory expires no earlier; null leaves '
  'the expiry. Does nothing for agents.';

create function packets.raise_if_held(packet_id uuid) returns void language plpgsql stable set search_path = '' as $$
declare
  holder text;
  review_state text;
begin
  select p.text_creator, p.review_state into holder, review_state from public.packet_store p
  where p.packet_id = raise_if_held.packet_id and p.metadata ->> 'creator' = (select identity.current_creator());
  if raise_if_held.packet_id is not null and review_state = 'rejected' then
    perform identity.raise_error('L9IMM', format(
      'memory %s: a reviewer rejected it; it expires by itself, and only an administrator may delete it before', packet_id),
      'packet_id');
  elsif holder is not null then
    perform identity.raise_error('L9OWN', format(
      'memory %s: its text and fields are now those of %s, so only an administrator may change, supersede or delete it; '
      'save a memory of your own beside it', packet_id, holder), 'packet_id');
  end if;
end $$;
comment on function packets.raise_if_held is 'Raises L9OWN if the caller''s memory has an administrator''s text by now, and '
  'L9IMM if it was rejected.';

create function packets.find_same(draft public.packet_store, hash bytea, is_withheld boolean default false)
returns setof public.packet_store
language sql stable set search_path = ''
begin atomic
  select p.*
  from public.packet_store p
  -- `is not distinct from` keeps the planner on the hash column; with `=` it may choose the (tenant, scope) index and
  -- scan all of it.
  where p.identity_hash = find_same.hash
    and p.tenant_id is not distinct from (select identity.current_tenant_id())
    and p.scope is not distinct from (find_same.draft).scope
    and p.project_id is not distinct from (find_same.draft).project_id
    and p.branch is not distinct from (find_same.draft).branch
    and p.packet_type = (find_same.draft).packet_type
    and p.org_id is not distinct from (select identity.current_org_id())
    and p.user_id is not distinct from (select identity.current_user_id())
    -- One that is withheld is the same only as what its creator has to save for a review.
    and (p.withheld_creator is null and not find_same.is_withheld
      or packets.is_withheld((find_same.draft).review_state) and p.withheld_creator = (select identity.current_creator()))
  order by p.withheld_creator nulls first;
end;
comment on function packets.find_same is 'The memory that the unique index would not let the caller save again. For a draft that '
  'is pending, one that counts comes first, then its own pending or rejected one, which alone is asked for by is_withheld.';

create function packets.is_held_by_other(draft public.packet_store) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
  same_id uuid := (select s.packet_id from packets.find_same(draft, draft.identity_hash) s);
begin
  -- Under row-level security FOR UPDATE finds only rows that the caller may change.
  perform from public.packet_store p where p.packet_id = same_id for no key update;
  return same_id is not null and not found;
end $$;
comment on function packets.is_held_by_other is 'True if another memory has this identity and the caller may not change it.';
grant execute on function packets.has_other_writer, packets.may_rewrite, packets.text_creator_of, packets.claim_text,
  packets.raise_if_held, packets.find_same, packets.is_held_by_other to l9_agent, l9_admin;
grant execute on function packets.text_writer to l9_agent, l9_admin, l9_platform_admin, l9_worker;
grant execute on function packets.raise_if_held to l9_platform_admin;
grant execute on function identity.is_admin_creator to l9_admin;

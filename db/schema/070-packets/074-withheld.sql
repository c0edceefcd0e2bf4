-- Who is shown what is withheld, which is pending or rejected: its creator and administrators, unless the function that reads
-- hides it. The policy review_visibility of packet_store calls these, once per query.

-- Searches and what else answers with memories that count say `set l9.withheld = 'hidden'`. Whoever sets it in a session hides
-- or shows only what the caller may read.
create function packets.shows_withheld() returns boolean language sql stable parallel safe
return coalesce(pg_catalog.current_setting('l9.withheld', true), '') <> 'hidden';
comment on function packets.shows_withheld is 'False in functions that leave out what is pending or rejected, such as searches.';

create function packets.shown_withheld_creator() returns text language sql stable parallel safe
return case when packets.shows_withheld() and identity.current_role_name() = 'l9_agent' then identity.current_creator() end;
comment on function packets.shown_withheld_creator is 'The creator whose pending and rejected memories are shown to an agent: its '
  'own. Null: no one''s.';

create function packets.shows_all_withheld() returns boolean language sql stable parallel safe
return packets.shows_withheld() and identity.current_role_name() in ('l9_admin', 'l9_platform_admin');
comment on function packets.shows_all_withheld is 'True if everything pending and rejected that the caller could read otherwise is '
  'shown: to administrators, who review, and to operators.';

create function packets.is_withheld(review_state text) returns boolean language sql immutable parallel safe
return coalesce(review_state in ('pending', 'rejected'), false);
comment on function packets.is_withheld is 'True for the review_state of a memory that does not count.';
grant execute on function packets.shows_withheld, packets.shown_withheld_creator, packets.shows_all_withheld, packets.is_withheld
  to l9_agent, l9_admin, l9_platform_admin, l9_worker, l9_searcher;

-- Who is shown what is withheld, which is pending or rejected: its creator and administrators, unless the function that reads
-- leaves it out. packet_store and packet_versions call review_visibility().

create function packets.is_withheld(review_state text) returns boolean language sql immutable parallel safe
return coalesce(review_state in ('pending', 'rejected'), false);
comment on function packets.is_withheld is 'True for the review_state of a memory that does not count.';
grant execute on function packets.is_withheld to l9_agent, l9_admin, l9_platform_admin, l9_worker, l9_searcher;

-- A plain expression, which explain_access() can evaluate for another caller.
create function packets.shown_condition() returns text language sql immutable parallel safe set search_path = ''
return $sql$review_state = any ((select string_to_array(
        coalesce(nullif(current_setting('l9.withheld', true), ''), 'pending,rejected'), ','))::text[])$sql$;
comment on function packets.shown_condition is 'The text of a policy condition: the states of what is withheld that are '
  'shown, as far as the caller may see them. Functions that answer with what counts say `set l9.withheld = none`, and set it '
  'to pending where they are asked to include that. A session that sets it shows or hides only what its caller may read. Used '
  'by migrations only.';

create procedure packets.review_visibility(target regclass)
language plpgsql set search_path = '' as $$
declare
  policy record;
begin
  for policy in
    select * from (values
      ('review_visibility', 'l9_agent',
        'withheld_creator = (select identity.current_creator()) and ' || packets.shown_condition(),
        'What is pending or rejected exists for the agent that saved it, and for no other.'),
      ('review_override', 'l9_admin, l9_platform_admin', packets.shown_condition(),
        'Administrators see what is pending or rejected within their claims, because they review it; so do operators.')
    ) as p (name, role, condition, description)
  loop
    execute format('create policy %I on %s as restrictive to %s using (withheld_creator is null or %s)',
      policy.name, target, policy.role, policy.condition);
    execute format('comment on policy %I on %s is %L', policy.name, target, policy.description);
  end loop;
end $$;
comment on procedure packets.review_visibility is 'Creates the policies that decide who sees what is withheld, on a table '
  'with the columns review_state and withheld_creator. Used by migrations only.';

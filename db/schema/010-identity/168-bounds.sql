-- Each actor has upper bounds for the importance, confidence and priority of its own text. The bounds of an agent equal the
-- defaults of a call without these arguments, so that an agent can't raise its text above an unmarked one of an administrator.
create type identity.bounds as (
  max_importance real, max_confidence double precision, max_lesson_confidence double precision, max_priority text);
comment on type identity.bounds is 'The upper bounds of the values that an actor gives to its own text.';

-- Without a search_path it is inlined.
create function identity.bounds_of_actor(actor public.actors) returns identity.bounds language sql immutable parallel safe
return row(
  coalesce((actor).max_importance, case (actor).role when 'l9_agent' then 0.5 else 1 end),
  coalesce((actor).max_confidence, case (actor).role when 'l9_agent' then 0.8 else 1 end),
  coalesce((actor).max_lesson_confidence, case (actor).role when 'l9_agent' then 0.7 else 1 end),
  coalesce((actor).max_priority, case (actor).role when 'l9_agent' then 'medium' else 'critical' end))::identity.bounds;
comment on function identity.bounds_of_actor is 'The bounds of an actor, as its row says or by default; the greatest for null. '
  'Not executable by callers: functions of the owner call it.';

create function identity.bounds_of(tenant_id uuid, creator text) returns identity.bounds
language sql stable parallel safe security definer set search_path = ''
return coalesce(
  (select identity.bounds_of_actor(a) from public.actors a
   where a.tenant_id = bounds_of.tenant_id and a.creator = bounds_of.creator),
  identity.bounds_of_actor(null));
comment on function identity.bounds_of is 'The bounds of the actor that writes under this creator name. A name without an actor, '
  'such as job, has the greatest bounds. Definer: agents read no row of actors but their own.';

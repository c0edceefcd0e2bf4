-- Declares that a fact was never true; the fact that it superseded then holds again. Agents and administrators reach
-- retract_fact() over GraphQL and psql.
create function public.retract_fact(fact_id uuid, reason text default null) returns public.knowledge_facts
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  fact public.knowledge_facts;
  key facts.fact_key;
  is_single boolean;
begin
  perform identity.check_bytes(reason, 1000, 'reason');
  for attempt in 1..2 loop
    -- The policies of the owner return only facts that the caller can read.
    select f.* into fact from public.knowledge_facts f
    where f.fact_id = retract_fact.fact_id and (f.ttl is null or f.ttl > now());
    if not found then
      perform identity.raise_error('L9OWN', format('fact %s does not exist, or is not yours', retract_fact.fact_id), 'fact_id');
    end if;
    exit when attempt = 2;
    key := (fact.tenant_id, fact.audience_id, fact.subject_normalized, fact.predicate, fact.object_normalized);
    perform facts.lock_facts(key);
    is_single := facts.is_single_valued(key.tenant_id, key.predicate);
  end loop;
  if fact.audience_id <> key.audience_id then
    raise exception using errcode = '40001', message = 'retract_fact: the fact was moved concurrently; try again';
  end if;

  perform packets.check_scope(fact.scope, fact.project_id);
  if me.role = 'l9_agent' and exists (
    -- An agent may retract only facts that nobody else asserted.
    select from public.fact_evidence e where e.fact_id = fact.fact_id and e.creator <> me.creator) then
    perform identity.raise_error('L9OWN', format('fact %s does not exist, or is not yours', retract_fact.fact_id), 'fact_id');
  elsif fact.retracted_at is not null then
    perform identity.raise_error('L9VAL', 'fact_id: the fact is already retracted');
  end if;

  update public.knowledge_facts f
  set retracted_at = clock_timestamp(), retraction_reason = nullif(btrim(retract_fact.reason), ''), updated_at = clock_timestamp()
  where f.fact_id = fact.fact_id;
  perform facts.recompute_facts(key, is_single, fact.fact_id);
  select f.* into fact from public.knowledge_facts f where f.fact_id = fact.fact_id;
  return fact;
end $$;
comment on function public.retract_fact is 'Retracts a fact: it is not true and never was. reason: at most 1000 bytes. The row '
  'stays as history, and the fact that it superseded holds again. Agents can retract facts that only they asserted, admins all '
  'facts within their claims; otherwise, and for a fact that does not exist, L9OWN. Errors: L9OWN, L9SCP, L9VAL, L9LIM, L9AUT. '
  'Definer: callers can''t write the table; ownership is checked here.';
grant execute on function public.retract_fact to l9_agent, l9_admin;

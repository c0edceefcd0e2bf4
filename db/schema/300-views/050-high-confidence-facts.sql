-- The facts that are most certain: the view, and the function by which callers read it over GraphQL and psql.
create function views.is_high_confidence(fact public.knowledge_facts) returns boolean language sql immutable parallel safe
return (fact).confidence >= 0.6 and (fact).contradiction_count < 3 and (fact).valid_to is null and (fact).retracted_at is null;
comment on function views.is_high_confidence is 'True for a current fact of confidence 0.6 that fewer than 3 agents contradict.';

create materialized view views.mv_high_confidence_facts as
select f.fact_id, f.confidence, f.supporting_packet_count, f.agent_count, f.contradiction_count, f.access_count,
  views.combined_score_of_fact(f.confidence, f.agent_count) as combined_score,
  f.valid_from, f.tenant_id, f.org_id, f.user_id, f.project_id, f.scope, f.ttl
from public.knowledge_facts f where views.is_high_confidence(f) and (f.ttl is null or f.ttl > now());
create unique index mv_high_confidence_facts_key on views.mv_high_confidence_facts (fact_id);
create index mv_high_confidence_facts_readers_idx on views.mv_high_confidence_facts (tenant_id, scope, combined_score desc);
call identity.describe('views.mv_high_confidence_facts', 'Current facts with a confidence of at least 0.6 that fewer than 3 agents
    contradict: ids and numbers. high_confidence_facts() reads it.
  access_count: How often the fact had been found at the last refresh.
  combined_score: Confidence and support together, from 0 to 1: views.combined_score_of_fact().');
revoke all on views.mv_high_confidence_facts from public;

create type public.high_confidence_fact as (access_count bigint, combined_score real, fact public.knowledge_facts);
call identity.describe('public.high_confidence_fact', 'A fact of high confidence.
  access_count: How often the fact had been found at the last refresh.
  combined_score: At the last refresh, from 0 to 1: 0.7 × confidence + 0.3 × support (1 - 1 / n for n agents).
  fact: The fact in its current state.');

-- The view proposes ids; each is joined to its fact as it is now, which must still meet the conditions of the view
-- and be readable for the caller.
create function public.high_confidence_facts(
  subject text default null, predicate text default null, project_id text default null, k integer default 100)
returns setof public.high_confidence_fact
language plpgsql volatile security definer set search_path = '' as $$
declare
  me identity.identity := identity.require_identity();
  subjects text[] := entities.names_of(high_confidence_facts.subject);
  shown public.high_confidence_fact;
  ids uuid[] := '{}';
begin
  perform views.check_page(high_confidence_facts.k);
  project_id := nullif(high_confidence_facts.project_id, '');
  for shown in
    select v.access_count, v.combined_score, f
    from views.mv_high_confidence_facts v
    -- The policies of this table apply to the caller, and the fact must still meet the conditions of the view.
    join public.knowledge_facts f on f.fact_id = v.fact_id and (f.ttl is null or f.ttl > now())
      and views.is_high_confidence(f) and f.valid_from <= now()
    where v.tenant_id = me.tenant_id and v.scope = any (me.readable_scopes)
      and (high_confidence_facts.subject is null or f.subject_normalized = any (subjects))
      and (high_confidence_facts.predicate is null or f.predicate = entities.normalise_name(high_confidence_facts.predicate))
      and (high_confidence_facts.project_id is null or f.project_id is null or f.project_id = high_confidence_facts.project_id)
    order by v.combined_score desc, v.fact_id desc limit high_confidence_facts.k
  loop
    ids := ids || (shown.fact).fact_id;
    return next shown;
  end loop;
  perform views.audit_read_of_view('high_confidence_facts', 'knowledge_facts', high_confidence_facts.project_id,
    cardinality(ids), ids);
end $$;
comment on function public.high_confidence_facts is 'Facts that the caller may read and that were true at the last refresh and '
  'still are, with a confidence of at least 0.6 and fewer than 3 contradictions, highest combined_score first. k: from 1 to 500. '
  'Writes a READ audit row. Errors: L9LIM, L9AUT. Definer: reads a materialized view, which has no policies; those of '
  'knowledge_facts apply.';
grant execute on function public.high_confidence_facts to l9_agent, l9_admin;

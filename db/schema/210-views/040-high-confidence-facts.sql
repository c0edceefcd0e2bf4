create materialized view views.mv_high_confidence_facts as
select f.fact_id, f.confidence, f.supporting_packet_count, f.contradiction_count, f.access_count, f.valid_from, f.tenant_id, f.org_id,
  f.user_id, f.project_id, f.scope, f.ttl
from public.knowledge_facts f
where f.confidence >= 0.6 and f.contradiction_count < 3 and f.valid_to is null and f.retracted_at is null
  and (f.ttl is null or f.ttl > now());

create unique index mv_high_confidence_facts_key on views.mv_high_confidence_facts (fact_id);
create index mv_high_confidence_facts_readers_idx on views.mv_high_confidence_facts (tenant_id, scope, confidence desc);
comment on materialized view views.mv_high_confidence_facts is
  'Facts that hold, at least 0.6 sure and contradicted less than 3 times: ids and numbers. Read by high_confidence_facts().';
comment on column views.mv_high_confidence_facts.fact_id is 'The fact.';
comment on column views.mv_high_confidence_facts.confidence is 'How sure it was: 0.6 at least.';
comment on column views.mv_high_confidence_facts.supporting_packet_count is 'How many memories said it.';
comment on column views.mv_high_confidence_facts.contradiction_count is 'How often it was contradicted: less than 3 times.';
comment on column views.mv_high_confidence_facts.access_count is 'How often it was found.';
comment on column views.mv_high_confidence_facts.valid_from is 'Since when it is so.';
comment on column views.mv_high_confidence_facts.tenant_id is 'Whose it is.';
comment on column views.mv_high_confidence_facts.org_id is 'Whose it is; null: the whole tenants.';
comment on column views.mv_high_confidence_facts.user_id is 'Whose it is; null: the whole orgs.';
comment on column views.mv_high_confidence_facts.project_id is 'As of the row at the last refresh.';
comment on column views.mv_high_confidence_facts.scope is 'What decided who sees it at the last refresh; that of the row decides.';
comment on column views.mv_high_confidence_facts.ttl is 'From when on nobody reads it, as of the last refresh; that of the row decides.';
revoke all on views.mv_high_confidence_facts from public;

create function public.high_confidence_facts(
  subject text default null, predicate text default null, project_id text default null, k integer default 100)
returns setof public.knowledge_facts
language plpgsql
stable
security definer
set search_path = ''
as $$
#variable_conflict use_column
declare
  me identity.identity := identity.require_identity();
  subjects text[] := entities.names_of(high_confidence_facts.subject);
begin
  perform views.check_page(high_confidence_facts.k);
  return query
  select f.*
  from views.mv_high_confidence_facts v
  -- Its policies show what the caller sees; and it must still be what it was.
  join public.knowledge_facts f on f.fact_id = v.fact_id and (f.ttl is null or f.ttl > now())
    and f.confidence >= 0.6 and f.contradiction_count < 3 and f.valid_to is null and f.retracted_at is null and f.valid_from <= now()
  where v.tenant_id = me.tenant_id and v.scope = any (me.readable_scopes)
    and (high_confidence_facts.subject is null or f.subject_normalized = any (subjects))
    and (high_confidence_facts.predicate is null or f.predicate = entities.normalise_name(high_confidence_facts.predicate))
    and (high_confidence_facts.project_id is null or f.project_id is null or f.project_id = high_confidence_facts.project_id)
  order by v.confidence desc, v.supporting_packet_count desc, v.fact_id desc
  limit high_confidence_facts.k;
end
$$;

comment on function public.high_confidence_facts(text, text, text, integer) is
  'Facts that the caller may read, that held at the last refresh and still do, at least 0.6 sure and contradicted less than 3 times, the surest first. k: 1 to 500 at most. Errors: L9LIM, L9AUT. Definer: reads a materialized view, which knows no policies; those of knowledge_facts apply.';

grant execute on function public.high_confidence_facts(text, text, text, integer) to l9_agent, l9_admin;

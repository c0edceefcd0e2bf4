-- What find_facts() and facts_as_of() share: the limit of rows, and the audit row and access log of what a caller was shown.
create function facts.max_facts_per_read() returns integer language sql immutable parallel safe set search_path = '' return 100;
comment on function facts.max_facts_per_read is 'The number of facts that one read returns at most.';

create function facts.check_k(k integer) returns void language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if k is null or k not between 1 and facts.max_facts_per_read() then
    perform identity.raise_error('L9LIM', format('k: must be from 1 to %s', facts.max_facts_per_read()));
  end if;
end $$;
comment on function facts.check_k is 'Raises L9LIM unless k is from 1 to max_facts_per_read().';

create function facts.log_fact_reads(
  details jsonb, facts public.knowledge_facts[], is_use boolean, project_id text default null, scope text default null)
returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  read_id uuid := uuidv7();
  me constant identity.identity := identity.require_identity();
begin
  -- Each fact may come with the one that it replaced.
  if octet_length(details::text) > 65536 or cardinality(facts) > 2 * facts.max_facts_per_read() then
    perform identity.raise_error(
      'L9LIM', format('details: at most 65536 bytes, facts: at most %s', 2 * facts.max_facts_per_read()));
  end if;
  perform audit.add_audit_row(
    me, read_id, 'READ', 'knowledge_facts', null, left(project_id, 200), left(scope, 63),
    (details - '{org_id,user_id,correlation_id,session_id,trace_id}'::text[])
      || jsonb_build_object('ids', array(select f.fact_id from unnest(facts) f)), null);
  if is_use and cardinality(facts) > 0 then
    perform importance.log_accesses('search', array_agg(f.fact_id), array_agg(f.scope), array_agg(f.project_id),
      audit_id => read_id, target_type => 'fact')
    from unnest(facts) f;
  end if;
end $$;
comment on function facts.log_fact_reads is 'Audits which facts the caller was shown, without their texts, and the project and '
  'scope that it asked for; is_use also counts them as used. A caller can only add rows about itself, within its own scopes; the '
  'roll-up counts a row only if the caller could read the fact. Definer: writes audit_log.';
grant execute on function facts.max_facts_per_read, facts.check_k, facts.log_fact_reads to l9_agent, l9_admin, l9_platform_admin;

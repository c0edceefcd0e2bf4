-- Declares whether a predicate has one value at a time, and recomputes the facts that exist. Administrators reach
-- register_predicate() over GraphQL and psql.
create function public.register_predicate(
  predicate text, is_single_valued boolean default true, description text default null, tenant_id uuid default null)
returns public.fact_predicates
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_administrator(register_predicate.tenant_id);
  name text := entities.check_name(register_predicate.predicate, 'predicate');
  was_single boolean;
  registered public.fact_predicates;
  key facts.fact_key;
begin
  perform administration.require_whole_token(admin);
  if register_predicate.is_single_valued is null then
    perform identity.raise_error('L9VAL', 'is_single_valued: must be true or false');
  end if;
  perform identity.check_bytes(register_predicate.description, 1000, 'description');
  -- Waits for running assertions of this predicate; later ones see the new registration.
  perform pg_advisory_xact_lock(hashtextextended(format('l9-memory predicate %s %s', admin.target_tenant_id, name), 0));
  was_single := facts.is_single_valued(admin.target_tenant_id, name);
  insert into public.fact_predicates as p (tenant_id, predicate, is_single_valued, description)
  values (admin.target_tenant_id, name, register_predicate.is_single_valued, coalesce(register_predicate.description, ''))
  on conflict on constraint fact_predicates_pkey do update set
    is_single_valued = excluded.is_single_valued, description = coalesce(register_predicate.description, p.description),
    updated_at = clock_timestamp()
  returning p.* into registered;
  perform audit.write_audit_of_tenant(admin.target_tenant_id, 'UPDATE', 'fact_predicates', details => jsonb_build_object(
    'predicate', name, 'is_single_valued', registered.is_single_valued, 'was_single_valued', was_single));

  if was_single <> registered.is_single_valued then
    for key in
      select distinct f.tenant_id, f.audience_id, f.subject_normalized, f.predicate,
        case when not registered.is_single_valued then f.object_normalized end
      from public.knowledge_facts f
      where f.tenant_id = admin.target_tenant_id and f.predicate = name
    loop
      perform facts.recompute_facts(key, registered.is_single_valued);
    end loop;
  end if;
  return registered;
end $$;
comment on function public.register_predicate is 'Registers a predicate as single-valued or multi-valued. Existing facts are '
  'recomputed within each scope and project: single-valued, the value that began last holds and ends the others; multi-valued, '
  'all superseded values hold again. For admins of every scope of the tenant. Errors: L9VAL, L9LIM, L9SCP, L9AUT. Definer: '
  'writes tables that callers can''t write.';
grant execute on function public.register_predicate to l9_admin, l9_platform_admin;

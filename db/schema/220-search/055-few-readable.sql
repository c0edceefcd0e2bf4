-- Counts the rows that a caller may read, up to a limit, with plans that PostgreSQL keeps. few_of() calls
-- few_readable() for searches without filters.

-- One statement for each range of the index of readers (see search.reader_ranges), with parameters only, so that PostgreSQL plans
-- it once a session: planning over the indexes of a table takes as long as reading some hundred rows.

do $$
declare
  owners constant jsonb := '{"any": "true", "none": "p.user_id is null and p.org_id is null",
    "user": "p.user_id = me.user_id and p.org_id is null", "org": "p.user_id is null and p.org_id = me.org_id",
    "both": "p.user_id = me.user_id and p.org_id = me.org_id"}';
  projects constant jsonb := '{"any": "true", "none": "p.project_id is null", "some": "p.project_id = any (projects)"}';
  branches constant jsonb := '{"any": "true", "none": "p.branch is null", "one": "p.branch = one_branch"}';
  source record;
begin
  for source in
    select * from (values
      ('packet_store', branches, 'not hides_archived or p.archived_at is null or p.archived_at > now()'),
      ('memory_contexts', branches, 'true'),
      ('reasoning_traces', jsonb_build_object('any', branches -> 'any'), 'true')) as s (table_name, branches, match)
  loop
    execute format($sql$
      create function search.count_range_of_%1$s(
        owner_range text, project_range text, branch_range text, me identity.identity, scopes text[], projects text[],
        one_branch text, hides_archived boolean, at_most integer, out scanned bigint, out matches uuid[])
      language plpgsql stable set search_path = '' set max_parallel_workers_per_gather = 0 set enable_seqscan = off
        set plan_cache_mode = force_generic_plan
      as $body$
      begin
        case concat_ws(' ', owner_range, project_range, branch_range)%2$s
        else
          perform identity.raise_error('L9VAL', 'owner_range, project_range, branch_range: the index has no such range',
            'owner_range');
        end case;
      end
      $body$;
      comment on function search.count_range_of_%1$s is 'The number of readable rows of %1$s in one range of its index of '
        'readers, counted up to at_most, and the memories of those that match. Ranges: of the owner (none, user, org, both: '
        'which of them the row has; any), of the project (none, some, any), of the branch (none, one, any).';
      grant execute on function search.count_range_of_%1$s to l9_agent, l9_admin;$sql$, source.table_name,
      (select string_agg(format($sql$
        when %L then
          select count(*), array_agg(p.packet_id) filter (where p.is_match) into scanned, matches
          from (
            select p.packet_id, %s as is_match from public.%I p
            where p.tenant_id = me.tenant_id and p.scope = any (scopes) and %s and %s and %s limit at_most
          ) p;$sql$, concat_ws(' ', o.key, r.key, b.key), source.match, source.table_name, o.value, r.value, b.value),
          '' order by o.key <> 'none', r.key, b.key)
       from jsonb_each_text(owners) o cross join jsonb_each_text(projects) r cross join jsonb_each_text(source.branches) b));
  end loop;
end $$;

-- Goes through the ranges of this reader one by one, and gives up as soon as one limit is passed: then the search
-- scans a ranked index instead.
create function search.few_readable(table_name text, me identity.identity, scopes text[], project_id text, branch text,
  hides_archived boolean, max_matches integer, max_scanned integer) returns uuid[]
language plpgsql stable set search_path = '' as $$
declare
  owner_ranges constant text[] := case when me.role = 'l9_admin' then '{any}'
    else array['none'] || case when me.org_id is not null then 'org' end || case when me.user_id is not null then 'user' end
      || case when me.org_id is not null and me.user_id is not null then 'both' end end;
  projects constant text[] := case when project_id is not null then array[project_id] when not '*' = any (me.projects)
    then me.projects end;
  project_ranges constant text[] := case when projects is null then '{any}' else '{none,some}' end;
  branch_ranges constant text[] := case when branch is null then '{any}' else '{none,one}' end;
  owner_range text;
  project_range text;
  branch_range text;
  part record;
  scanned bigint := 0;
  matches uuid[] := '{}';
begin
  foreach owner_range in array owner_ranges loop
    continue when owner_range is null;
    foreach project_range in array project_ranges loop
      foreach branch_range in array branch_ranges loop
        case table_name
        when 'packet_store' then
          part := search.count_range_of_packet_store(
            owner_range, project_range, branch_range, me, scopes, projects, branch, hides_archived, max_scanned + 1);
        when 'memory_contexts' then
          part := search.count_range_of_memory_contexts(
            owner_range, project_range, branch_range, me, scopes, projects, branch, hides_archived, max_scanned + 1);
        when 'reasoning_traces' then
          part := search.count_range_of_reasoning_traces(
            owner_range, project_range, branch_range, me, scopes, projects, branch, hides_archived, max_scanned + 1);
        else
          perform identity.raise_error('L9VAL', 'table_name: must be packet_store, memory_contexts or reasoning_traces');
        end case;
        scanned := scanned + part.scanned;
        matches := matches || part.matches;
        if scanned > max_scanned or cardinality(matches) > max_matches then
          return null;
        end if;
      end loop;
    end loop;
  end loop;
  return matches;
end $$;
comment on function search.few_readable is 'The memories of packet_store, memory_contexts or reasoning_traces that an agent or '
  'admin may read in a project and a branch (null: all): what search.few_matches() answers where no filter is asked for, with '
  'plans that PostgreSQL keeps. Null if more than max_matches match, or if more than max_scanned would have to be read.';
grant execute on function search.few_readable to l9_agent, l9_admin, l9_platform_admin;

-- What a search in a project without memories says. close_search() and close_find() call projects_notice().
create function search.max_named_projects() returns integer language sql immutable parallel safe return 10;
comment on function search.max_named_projects is 'Most projects that a notice names.';

-- Goes from one project to the next in the index, so that it reads a row of each and not every memory. Each range holds only
-- what the caller may read, so that the time does not tell of hidden rows.
create function search.readable_projects(me identity.identity, scopes text[], most integer) returns text[]
language plpgsql stable set search_path = '' set enable_seqscan = off as $$
declare
  found_projects text[] := '{}';
  ranges constant text[] := array(
    select r.range from unnest(scopes) as s (scope) cross join lateral unnest(search.reader_ranges(me, 'p', array[s.scope], null))
      as r (range));
  one_range text;
  project text;
begin
  foreach one_range in array ranges loop
    project := '';
    for step in 1 .. most loop
      execute format($sql$
        select p.project_id from public.packet_store p
        where %s and p.project_id > $1 and (p.ttl is null or p.ttl > now()) order by p.project_id limit 1$sql$, one_range)
      into project using project;
      exit when project is null;
      found_projects := found_projects || project;
    end loop;
  end loop;
  return array(select distinct p.name from unnest(found_projects) as p (name) order by p.name limit most);
end $$;
comment on function search.readable_projects is 'The first projects in which the caller may read memories of these scopes.';

create function search.projects_notice(request search.search_request, has_hits boolean) returns text
language plpgsql stable set search_path = '' as $$
declare
  others text[];
begin
  if request.project_id is null or has_hits or request.as_of is not null or (request.caller).role = 'l9_platform_admin'
    or exists (
      select from public.packet_store p
      where p.tenant_id = (request.caller).tenant_id and p.scope = any (request.searched_scopes)
        and p.project_id = request.project_id and (p.ttl is null or p.ttl > now())) then
    return null;
  end if;
  others := search.readable_projects((request.caller), request.searched_scopes, search.max_named_projects() + 1);
  return format('Project %s has no memories that you may read here; ', request.project_id) || case
    when others = '{}' then 'no project has any.'
    else 'there are memories in ' || array_to_string(others[:search.max_named_projects()], ', ')
      || case when cardinality(others) > search.max_named_projects() then ' and others.' else '.' end end;
end $$;
comment on function search.projects_notice is 'Tells a search in a project without memories in which projects there are some, '
  'as far as the caller may read them. has_hits: the search found a memory of its project. Null for an operator and an earlier '
  'time.';
grant execute on function search.max_named_projects, search.readable_projects, search.projects_notice to l9_agent, l9_admin,
  l9_platform_admin;

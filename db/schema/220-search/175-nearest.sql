-- The nearest memories of a search that nothing matched well. close_search(), close_find() and recall_lessons() show them in
-- place of hits.
create function search.max_nearest() returns integer language sql immutable parallel safe return 3;
comment on function search.max_nearest is 'Most memories that are shown where nothing matched well.';

create function search.nearest_notice(nearest public.nearest_memory[]) returns text language sql immutable parallel safe
return case when nearest <> '{}' then 'Nothing matched well; nearest has what comes closest.' end;
comment on function search.nearest_notice is 'Tells a caller that what it is shown may have nothing to do with its query.';

create function search.fit_nearest(nearest public.nearest_memory[], max_tokens integer) returns public.nearest_memory[]
language sql immutable parallel safe set search_path = ''
begin atomic
  -- 100 is for ids, scores and the names of the fields.
  select coalesce(array_agg(n.one order by n.place) filter (where n.tokens <= max_tokens or max_tokens is null), '{}')
  from (
    select row(f.packet_id, f.kind, f.snippet, f.score, f.relevance, f.scope, f.project_id, f.standing)::public.nearest_memory
        as one, f.place, sum(100 + search.token_estimate(f.snippet)) over (order by f.place) as tokens
    from unnest(nearest) with ordinality as f (packet_id, kind, snippet, score, relevance, scope, project_id, standing, place)
  ) n;
end;
comment on function search.fit_nearest is 'As many of the nearest memories as fit into about max_tokens (null: all).';

create function search.to_nearest(hits public.memory_hit[], max_tokens integer) returns public.nearest_memory[]
language sql immutable parallel safe set search_path = ''
begin atomic
  select search.fit_nearest(coalesce(array_agg(row(h.packet_id, h.kind, h.snippet, h.score, h.relevance, h.scope, h.project_id,
    h.standing)::public.nearest_memory order by place), '{}'), max_tokens)
  from generate_subscripts(hits, 1) as place cross join lateral (select (hits[place]).*) as h;
end;
comment on function search.to_nearest is 'What is shown of hits that did not match well.';
grant execute on function search.max_nearest, search.nearest_notice, search.fit_nearest, search.to_nearest to l9_agent, l9_admin,
  l9_platform_admin;

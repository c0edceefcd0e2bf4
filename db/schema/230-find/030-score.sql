-- The ranking of memory_find. These functions are pure: the same arguments give the same score, in any tenant and at any time.
-- They set no search_path, so that they are inlined; their bodies were parsed when they were created.
create function find.proximity(project_id text, branch text, org_id uuid, asked_project text, asked_branch text, own_org uuid)
returns real
language sql immutable parallel safe
return case
  when project_id is null then 0.3
  when project_id = asked_project and branch = asked_branch then 1
  when project_id = asked_project then 0.8
  when org_id is not distinct from own_org then 0.5
  else 0 end;
comment on function find.proximity is 'How near a memory is to the caller, from 0 to 1: 1 on the branch that was asked for, 0.8 '
  'in its project, 0.5 in another project of the caller''s org (or of no org, for a caller without one), 0.3 if it belongs to no '
  'project, else 0.';

create function find.citation_share(agents bigint) returns real
language sql immutable parallel safe return (agents / (agents + 2.0))::real;
comment on function find.citation_share is 'How much rests on a memory: 0.33 for one agent that cites it, 0.5 for two.';

create function find.score(matches real, recency real, proximity real, citations real, weights public.find_settings) returns real
language sql immutable parallel safe
return ((weights.match_weight * matches + weights.recency_weight * recency
    + weights.proximity_weight * proximity + weights.citation_weight * citations)
  / (weights.match_weight + weights.recency_weight + weights.proximity_weight + weights.citation_weight))::real;
comment on function find.score is 'The score of a hit of memory_find, from 0 to 1: by default 0.4 × matches + 0.3 × recency + '
  '0.2 × proximity + 0.1 × citations. matches: the score of words (fast), of words and meaning (hybrid, deep) or of the path '
  '(graph), relative to this search; recency: search.recency() of the event''s age and the half-life of the kind; proximity: '
  'find.proximity(); citations: find.citation_share(). Each is from 0 to 1, and the weights count relative to their sum.';
grant execute on function find.proximity, find.citation_share, find.score to l9_agent, l9_admin, l9_platform_admin;

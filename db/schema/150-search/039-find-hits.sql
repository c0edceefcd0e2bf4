create function search.find_hits(request search.search_request)
returns search.fused
language plpgsql
stable
set search_path = ''
as $$
declare
  looks_at_contexts boolean := request.as_of is null and (request.settings).context_weight > 0
    and request.context_ids is distinct from '{}';
  of_contexts search.search_request := search.of_contexts(request);
  words search.found;
  versions search.found;
  context_words search.found;
  meaning search.found;
  context_meaning search.found;
  reasoning search.found;
begin
  if request.mode = 'recent' then
    words := search.find_recent(request);
  end if;
  if request.mode in ('hybrid', 'lexical') and request.query is not null then
    words := search.find_words(request);
    if request.as_of is not null then
      versions := search.find_version_words(request);
      words.ids := words.ids || versions.ids;
      words.scores := words.scores || versions.scores;
    elsif looks_at_contexts then
      context_words := search.find_context_words(of_contexts);
    end if;
  end if;
  if request.mode in ('hybrid', 'semantic') then
    meaning := search.find_meaning(request, 'content');
    if looks_at_contexts then
      context_meaning := search.find_meaning(of_contexts, 'context');
    end if;
    if request.as_of is null and request.reasoning_ids is distinct from '{}' then
      reasoning := search.find_meaning(request, 'reasoning');
    end if;
  end if;
  return search.fuse(request, words, context_words, meaning, context_meaning, reasoning);
end
$$;

comment on function search.find_hits(search.search_request) is
  'What a search finds, once it is narrowed: the legs that its mode has, fused.';

grant execute on function search.find_hits(search.search_request) to l9_agent, l9_admin, l9_platform_admin;

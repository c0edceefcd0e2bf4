create function search.token_estimate(text text)
returns integer
language sql
immutable
parallel safe
set search_path = ''
return pg_catalog.ceil(pg_catalog.octet_length(text) / 3.0)::integer;

comment on function search.token_estimate(text) is
  'How many tokens a text takes at most, as models count them in prose, code and most scripts: a third of its bytes.';

create function search.fit_hits(hits public.memory_hit[], max_tokens integer, out fitted public.memory_hit[], out cut jsonb)
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
  -- What a hit takes besides its text: ids, scores, tags, their names.
  frame constant integer := 150;
  -- With the longest snippet, one hit fits in 500 tokens.
  preview_bytes constant integer := 240;
  hit public.memory_hit;
  used integer := 0;
  whole integer;
  previews integer := 0;
begin
  fitted := '{}';
  if max_tokens is null then
    fitted := hits;
    return;
  end if;
  -- First each as a preview, best first, as many as fit; then, best first, the whole where there is room left.
  foreach hit in array hits loop
    used := used + frame + search.token_estimate(hit.snippet)
      + search.token_estimate(search.within_bytes(hit.content, preview_bytes));
    exit when used > max_tokens;
    fitted := fitted || hit;
  end loop;
  used := 0;
  foreach hit in array fitted loop
    used := used + frame + search.token_estimate(hit.snippet) + search.token_estimate(search.within_bytes(hit.content, preview_bytes));
  end loop;
  for place in 1 .. cardinality(fitted) loop
    hit := fitted[place];
    whole := search.token_estimate(hit.content) - search.token_estimate(search.within_bytes(hit.content, preview_bytes));
    if used + whole <= max_tokens then
      used := used + whole;
    else
      hit.content := search.within_bytes(hit.content, preview_bytes);
      hit.is_truncated := true;
      fitted[place] := hit;
      previews := previews + 1;
    end if;
  end loop;
  cut := jsonb_build_object(
    'max_tokens', max_tokens, 'tokens', used, 'previews', previews, 'left_out', cardinality(hits) - cardinality(fitted));
end
$$;

comment on function search.fit_hits(public.memory_hit[], integer) is
  'Trims hits to about so many tokens: contents become previews, the last ones first, and what has no room even so is left out. Says what was cut; null where no limit was given.';

grant execute on function search.token_estimate(text), search.fit_hits(public.memory_hit[], integer)
  to l9_agent, l9_admin, l9_platform_admin;

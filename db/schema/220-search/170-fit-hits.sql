-- Trims the hits of a search to the tokens that its caller has room for. close_search() calls fit_hits(); memory_find
-- and summaries estimate tokens by token_estimate().
create function search.token_estimate(text text) returns integer
language sql immutable parallel safe set search_path = '' return pg_catalog.ceil(pg_catalog.octet_length(text) / 3.0)::integer;
comment on function search.token_estimate is 'Upper estimate of the tokens of a text: a third of its bytes.';

-- Counts in two passes, so that more hits with previews are preferred to fewer hits with whole texts.
create function search.fit_hits(hits public.memory_hit[], max_tokens integer, out fitted public.memory_hit[], out cut jsonb)
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  -- Tokens of a hit besides its text: ids, scores, tags and the names of the fields.
  frame_tokens constant integer := 150;
  -- With this size and the longest snippet, one hit fits in 500 tokens.
  preview_bytes constant integer := 240;
  hit public.memory_hit;
  used integer := 0;
  tokens integer;
  previews integer := 0;
begin
  fitted := '{}';
  if max_tokens is null then
    fitted := hits;
    return;
  end if;
  -- First as many previews as fit are taken, best first. Then, best first, previews become whole contents while there is room.
  foreach hit in array hits loop
    tokens := frame_tokens + search.token_estimate(hit.snippet)
      + search.token_estimate(search.truncate_to_bytes(hit.content, preview_bytes));
    exit when used + tokens > max_tokens;
    used := used + tokens;
    fitted := fitted || hit;
  end loop;
  for place in 1 .. cardinality(fitted) loop
    hit := fitted[place];
    tokens := search.token_estimate(hit.content)
      - search.token_estimate(search.truncate_to_bytes(hit.content, preview_bytes));
    if used + tokens <= max_tokens then
      used := used + tokens;
    else
      hit.content := search.truncate_to_bytes(hit.content, preview_bytes);
      hit.is_truncated := true;
      fitted[place] := hit;
      previews := previews + 1;
    end if;
  end loop;
  cut := jsonb_build_object(
    'max_tokens', max_tokens, 'tokens', used, 'previews', previews, 'left_out', cardinality(hits) - cardinality(fitted));
end $$;
comment on function search.fit_hits is 'Trims hits to about max_tokens: previews first, then fewer hits. cut: how many of each.';
grant execute on function search.token_estimate, search.fit_hits to l9_agent, l9_admin, l9_platform_admin;

-- Trims the hits of memory_find to the tokens that its caller has room for. close_find() calls it.
create function find.fit_hits(hits public.found_memory[], max_tokens integer, out fitted public.found_memory[], out cut jsonb)
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  -- Tokens of a hit besides its snippet and fields: ids, scores and the names of the properties.
  frame_tokens constant integer := 130;
  hit public.found_memory;
  used integer := 0;
  tokens integer;
  without_fields integer := 0;
begin
  fitted := hits;
  if max_tokens is null then
    return;
  end if;
  fitted := '{}';
  -- First as many hits without their fields as fit, best first. Then, best first, fields are added while there is room.
  foreach hit in array hits loop
    tokens := frame_tokens + search.token_estimate(hit.snippet) + search.token_estimate(coalesce(hit.explanation::text, ''));
    exit when used + tokens > max_tokens;
    used := used + tokens;
    fitted := fitted || hit;
  end loop;
  for place in 1 .. cardinality(fitted) loop
    hit := fitted[place];
    tokens := search.token_estimate(hit.fields::text);
    if hit.fields = '{}' or used + tokens <= max_tokens then
      used := used + case hit.fields when '{}' then 0 else tokens end;
    else
      hit.fields := '{}';
      hit.is_cut := true;
      fitted[place] := hit;
      without_fields := without_fields + 1;
    end if;
  end loop;
  cut := jsonb_build_object(
    'max_tokens', max_tokens, 'tokens', used, 'without_fields', without_fields,
    'left_out', cardinality(hits) - cardinality(fitted));
end $$;
comment on function find.fit_hits is 'Trims hits to about max_tokens: fields of the last hits, then hits. cut: how many of each.';
grant execute on function find.fit_hits to l9_agent, l9_admin, l9_platform_admin;

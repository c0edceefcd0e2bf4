-- Finds or replaces the secrets of one text. The functions for documents, find_secrets() and the audit log call
-- find_in_text() or redact_text().
create function secrets.in_group(expression text) returns text language sql immutable parallel safe set search_path = ''
-- Flags such as (?i) must stay at the beginning.
return coalesce(substring(expression from '^\(\?[a-z]+\)'), '')
  || '(' || pg_catalog.regexp_replace(expression, '^\(\?[a-z]+\)', '') || ')';
comment on function secrets.in_group is 'A regular expression whose first capturing group is the whole match.';

create function secrets.split_at(content text, expression text, flags text default '')
returns table (place bigint, before text, whole text, part text)
language sql stable set search_path = ''
begin atomic
  -- Two passes over the text, however many matches it has.
  select s.place, s.piece, m.groups[1], coalesce(m.groups[2], m.groups[1])
  from pg_catalog.regexp_split_to_table(content, expression, flags) with ordinality as s (piece, place)
  left join pg_catalog.regexp_matches(content, secrets.in_group(expression), flags || 'g') with ordinality as m (groups, place)
    on m.place = s.place;
end;
comment on function secrets.split_at is 'A text cut at the matches of an expression: the text before each, the match, and its '
  'group or else the match. The last row has no match. flags: of regexp_matches().';

create function secrets.offset_in(whole text, part text) returns integer language sql immutable parallel safe
-- The secret ends its match; what stands before it may repeat it.
return pg_catalog.length(whole) - pg_catalog.length(part) + 1
  - pg_catalog.strpos(pg_catalog.reverse(whole), pg_catalog.reverse(part));
comment on function secrets.offset_in is 'How many characters of a match stand before the secret in it.';

create function secrets.line_starts(content text) returns integer[] language sql immutable parallel safe set search_path = ''
return array(
  select (1 + coalesce(
    sum(pg_catalog.length(l.line) + 1) over (order by l.n rows between unbounded preceding and 1 preceding), 0))::integer
  from pg_catalog.string_to_table(content, E'\n') with ordinality as l (line, n) order by l.n);
comment on function secrets.line_starts is 'Where each line of a text begins, in characters from 1.';

create function secrets.is_excepted(tenant_id uuid, pattern text, part text) returns boolean
language sql stable set search_path = ''
return exists (
  select from public.secret_exceptions e
  where e.tenant_id = is_excepted.tenant_id and e.is_active and (e.pattern is null or e.pattern = is_excepted.pattern)
    and part ~ ('^(?:' || e.expression || ')$'));
comment on function secrets.is_excepted is 'True if an administrator of the tenant registered that this text is harmless.';

create function secrets.patterns_for(content text, tenant_id uuid, severities text[]) returns setof public.secret_patterns
language sql stable set search_path = ''
begin atomic
  -- Several patterns share a hint.
  with hints as materialized (
    select h.hint
    from (
      select distinct p.hint from public.secret_patterns p
      where p.hint is not null and (p.tenant_id is null or p.tenant_id = patterns_for.tenant_id) and p.is_active
        and p.severity = any (severities)
    ) h
    where (h.hint <> secrets.long_words() or content ~ '[A-Za-z0-9]{32}') and content ~ h.hint
  )
  select p.*
  from public.secret_patterns p
  where (p.tenant_id is null or p.tenant_id = patterns_for.tenant_id) and p.is_active and p.severity = any (severities)
    and (p.keywords is null or (p.tenant_id is not null or (select content ~ secrets.any_keyword()))
      and exists (select from pg_catalog.unnest(p.keywords) as k where pg_catalog.strpos(content, k) > 0))
    and (p.hint is null or p.hint = any (array(select h.hint from hints h)))
  -- The more exact patterns were added first, so that they give a secret its name.
  order by p.tenant_id nulls first, p.pattern_id;
end;
comment on function secrets.patterns_for is 'The patterns, built-in and the tenant''s, that keywords and hint don''t rule out.';

create function secrets.has_exceptions(tenant_id uuid, pattern text) returns boolean language sql stable set search_path = ''
return exists (
  select from public.secret_exceptions e
  where e.tenant_id = has_exceptions.tenant_id and e.is_active and (e.pattern is null or e.pattern = has_exceptions.pattern));
comment on function secrets.has_exceptions is 'True if the tenant has texts that are harmless in spite of this pattern.';

create function secrets.max_likenesses() returns integer language sql immutable parallel safe return 10000;
comment on function secrets.max_likenesses is 'The most matches of one pattern that are verified for the first secrets.';

create type secrets.findings as (ranges int4range[], rest text);
comment on type secrets.findings is 'Where a pattern''s secrets stand, and the text with control characters for them.';

create function secrets.cut_out(content text, expression text, flags text, wholes text[], parts text[]) returns secrets.findings
language sql stable set search_path = ''
begin atomic
  -- The groups of a match take ten times as long as the match, and are known here.
  with matches as (
    select s.place, s.before, m.whole, m.part, secrets.offset_in(m.whole, m.part) as skipped,
      sum(pg_catalog.length(s.before)) over (order by s.place)
        + coalesce(sum(pg_catalog.length(m.whole)) over (order by s.place rows between unbounded preceding and 1 preceding), 0)
        as start
    from pg_catalog.regexp_split_to_table(content, expression, flags) with ordinality as s (before, place)
    left join unnest(wholes, parts) with ordinality as m (whole, part, place) using (place)
    where s.place <= pg_catalog.cardinality(wholes) + 1
  )
  select
    coalesce(
      pg_catalog.array_agg(
        int4range((start + skipped + 1)::integer, (start + skipped + 1)::integer + pg_catalog.length(part)) order by place)
        filter (where part is not null),
      '{}'),
    -- No pattern has control characters, and no value goes on behind a line break.
    pg_catalog.string_agg(
      before || coalesce(
        overlay(
          whole placing pg_catalog.rpad('', pg_catalog.length(part) - 1, E'\x01\n') || E'\x01'
          from skipped + 1 for pg_catalog.length(part)),
        whole, ''),
      '' order by place)
  from matches;
end;
comment on function secrets.cut_out is 'Cuts secrets out of a text. wholes: the matches of the regular expression, in order; '
  'parts: the secret in each, null in one without.';

-- Each match is verified once, and places are computed only if one passes. If only the first are wanted, the search
-- begins with the first 32 kB and takes more of the text as long as it finds too few.
create function secrets.find_of_pattern(
  content text, expression text, verification text, pattern text, tenant_id uuid, flags text default '',
  most integer default null) returns secrets.findings
language plpgsql stable set search_path = '' as $$
declare
  total constant integer := length(content);
  -- All matches of a text are computed before the first one is seen. So the first secrets are looked for in its beginning.
  size integer := case when most is null then total else least(total, 32768) end;
  beginning text;
  has_exceptions boolean;
  match record;
  seen integer;
  found integer;
  wholes text[];
  parts text[];
  result secrets.findings;
begin
  loop
    beginning := case when size = total then content else left(content, size) end;
    seen := 0;
    found := 0;
    wholes := '{}';
    parts := '{}';
    -- Each match is verified once. Most do not pass, and then the text need not be cut.
    for match in
      select g.place, g.groups[1] as whole, coalesce(g.groups[2], g.groups[1]) as part
      from regexp_matches(beginning, secrets.in_group(expression), flags || 'g') with ordinality as g (groups, place)
    loop
      seen := seen + 1;
      exit when most is not null and seen > secrets.max_likenesses();
      wholes[seen] := match.whole;
      parts[seen] := null;
      continue when match.part = '' or not secrets.passes(verification, match.whole, match.part);
      has_exceptions := coalesce(has_exceptions, secrets.has_exceptions(find_of_pattern.tenant_id, find_of_pattern.pattern));
      continue when has_exceptions and secrets.is_excepted(find_of_pattern.tenant_id, find_of_pattern.pattern, match.part);
      parts[seen] := match.part;
      found := found + 1;
      exit when found = most;
    end loop;
    result := case
      when found = 0 then row('{}', content)::secrets.findings
      else secrets.cut_out(beginning, expression, flags, wholes, parts) end;
    -- A match near the end of the beginning could be another one in the whole text.
    if most is null or size = total and seen <= secrets.max_likenesses()
      or found = most and (size = total or upper(result.ranges[most]) < size - 4096) then
      return result;
    elsif seen > secrets.max_likenesses() or size = 262144 and seen > secrets.max_likenesses() / 2 then
      perform identity.raise_error('L9LIM',
        format('content: at most %s places that look like a secret (pattern %s); cut it into smaller parts',
          secrets.max_likenesses(), pattern));
    end if;
    size := least(total, size * 8);
  end loop;
end $$;
comment on function secrets.find_of_pattern is 'The secrets of one pattern in a text: all, or the first most, where the rest '
  'then ends. flags: of regexp_matches(). Raises L9LIM if first ones are sought among more than max_likenesses() false matches.';

-- The words are decoded and compared as one text, with a separator between them. Findings are then traced back to their words.
create function secrets.find_in_words(content text, tenant_id uuid, severities text[], words text, most integer default null)
returns table (place bigint, range int4range, pattern text)
language plpgsql stable set search_path = '' as $$
declare
  -- Every built-in pattern ends here: they match no control characters but white space, and those that match all but a few
  -- characters stop at a line break or a hyphen.
  separator constant text := E'\n\x01-\x01\n';
  -- All words are looked at together: one by one, a megabyte of short ones takes minutes.
  is_apart constant boolean := words = secrets.words_apart();
  decoded text := secrets.decode_words((
    select string_agg(
      translate(case when is_apart then secrets.join_words(m.groups[1]) else m.groups[1] end, E'\x01', ''), separator
      order by m.place)
    from regexp_matches(find_in_words.content, words, 'g') with ordinality as m (groups, place)));
  candidate public.secret_patterns;
  found secrets.findings;
  starts integer[];
  found_places bigint[] := '{}';
  last_place integer;
  found_patterns text[] := '{}';
begin
  for candidate in select * from secrets.patterns_for(decoded, find_in_words.tenant_id, find_in_words.severities) loop
    -- Any words that are joined look like a token without a known beginning.
    continue when is_apart and (candidate.keywords is null or candidate.tenant_id is not null);
    -- With the flag w each word begins and ends a line, so that ^ and $ match there.
    found := secrets.find_of_pattern(
      decoded, candidate.expression, case when is_apart then 'random token' else candidate.verification end, candidate.name,
      find_in_words.tenant_id, 'w', find_in_words.most);
    continue when found.ranges = '{}';
    starts := coalesce(starts, array(
      select (1 + coalesce(
        sum(length(w.word) + length(separator)) over (order by w.place rows between unbounded preceding and 1 preceding),
        0))::integer
      from unnest(string_to_array(decoded, separator)) with ordinality as w (word, place) order by w.place));
    select found_places || array_agg(n), found_patterns || array_agg(candidate.name)
    into found_places, found_patterns
    from unnest(found.ranges) as p (range)
    cross join lateral generate_series(width_bucket(lower(p.range), starts), width_bucket(upper(p.range) - 1, starts)) as n;
    exit when find_in_words.most = 1;
    decoded := found.rest;
  end loop;
  if found_places <> '{}' and find_in_words.most = 1 then
    -- Cutting the whole text at its words takes a second for a megabyte of them.
    return query
      select f.place,
        int4range(
          regexp_instr(find_in_words.content, words, 1, f.place::integer, 0),
          regexp_instr(find_in_words.content, words, 1, f.place::integer, 1)),
        f.pattern
      from unnest(found_places, found_patterns) as f (place, pattern) order by f.place limit 1;
  elsif found_places <> '{}' then
    last_place := (select max(f.place) from unnest(found_places) as f (place));
    return query
      select distinct on (f.place) f.place, w.range, f.pattern
      from unnest(found_places, found_patterns) with ordinality as f (place, pattern, turn)
      -- Only the words up to the last finding are cut out, unless that might be too many for a search of the first.
      join unnest((secrets.find_of_pattern(find_in_words.content, words, 'none', 'hidden', null,
          most => case when last_place <= secrets.max_likenesses() / 2 then last_place end)).ranges)
        with ordinality as w (range, place) on w.place = f.place
      order by f.place, f.turn;
  end if;
end $$;
comment on function secrets.find_in_words is 'The words of a text that hold a secret once they are decoded, or joined: which of '
  'the matches of encoded_word() or words_apart() it is, from 1, where it stands, in characters from 1, and the first pattern '
  'that finds something in it. most: how many are looked for with each pattern; with 1, the first word alone is returned.';

-- Compares the text, with its look-alikes replaced, with one pattern after the other; then its words in which
-- characters are encoded, or set apart by spaces or line breaks.
create function secrets.find_in_text(content text, tenant_id uuid, severities text[], most integer default null)
returns table (pattern text, "position" integer, length integer)
language plpgsql stable set search_path = '' as $$
declare
  plain text := secrets.fold(find_in_text.content);
  words text;
  candidate public.secret_patterns;
  found secrets.findings;
  covered int4multirange := '{}';
begin
  for candidate in select * from secrets.patterns_for(plain, find_in_text.tenant_id, find_in_text.severities) loop
    found := secrets.find_of_pattern(
      plain, candidate.expression, candidate.verification, candidate.name, find_in_text.tenant_id, most => find_in_text.most);
    -- What a more exact pattern found is not found again by a general one.
    return query
      select candidate.name, lower(p.range), upper(p.range) - lower(p.range)
      from unnest(found.ranges) as p (range)
      where not p.range && covered;
    if find_in_text.most = 1 and found.ranges <> '{}' then
      return;
    end if;
    covered := covered + coalesce((select range_agg(p.range) from unnest(found.ranges) as p (range)), '{}');
    plain := found.rest;
  end loop;
  -- A word in which characters are encoded is a finding as a whole if it holds a secret once it is decoded. So is what is set
  -- apart.
  foreach words in array array[secrets.encoded_word(), secrets.words_apart()] loop
    continue when plain !~ words;
    return query
      select f.pattern, lower(f.range), upper(f.range) - lower(f.range)
      from secrets.find_in_words(plain, find_in_text.tenant_id, find_in_text.severities, words, find_in_text.most) as f
      where not f.range && covered;
  end loop;
end $$;
comment on function secrets.find_in_text is 'The secrets of a text: the pattern, and the position and length of the secret in '
  'characters. Patterns of these severities are compared, those of the tenant too. most: how many are looked for with each '
  'pattern, from the beginning of the text; the search for one ends with the first pattern that finds any.';

create function secrets.max_redactions_of_a_match() returns integer language sql immutable parallel safe return 8;
comment on function secrets.max_redactions_of_a_match is 'How often a pattern is tried again on a text redacted in it.';

-- Each pattern works on what those before it have left, so that a secret is replaced once, under the name of the most
-- exact pattern.
create function secrets.redact_text(content text, tenant_id uuid, severities text[], out redacted text, out replaced integer)
language plpgsql stable set search_path = '' as $$
declare
  candidate public.secret_patterns;
  words text;
  has_exceptions boolean;
  result record;
begin
  redacted := secrets.fold(content);
  replaced := 0;
  for candidate in select * from secrets.patterns_for(redacted, redact_text.tenant_id, redact_text.severities) loop
    -- A match of a command holds one password, and the command may have more.
    for attempt in 1..secrets.max_redactions_of_a_match() loop
      exit when (secrets.find_of_pattern(
        redacted, candidate.expression, candidate.verification, candidate.name, redact_text.tenant_id, most => 1)).ranges = '{}';
      has_exceptions := secrets.has_exceptions(redact_text.tenant_id, candidate.name);
      select string_agg(f.before || coalesce(
          case when f.is_secret then overlay(f.whole placing format('[redacted: %s]', candidate.name)
            from secrets.offset_in(f.whole, f.part) + 1 for length(f.part)) else f.whole end, ''), '' order by f.place) as text,
        count(*) filter (where f.is_secret) as secrets
      into result
      from (
        select s.*, s.whole is not null and secrets.passes(candidate.verification, s.whole, s.part)
          and (not has_exceptions or not secrets.is_excepted(redact_text.tenant_id, candidate.name, s.part)) as is_secret
        from secrets.split_at(redacted, candidate.expression) as s
      ) f;
      exit when result.secrets = 0;
      redacted := result.text;
      replaced := replaced + result.secrets;
    end loop;
  end loop;
  foreach words in array array[secrets.encoded_word(), secrets.words_apart()] loop
    continue when redacted !~ words;
    select string_agg(s.before || coalesce('[redacted: ' || f.pattern || ']', s.whole, ''), '' order by s.place) as text,
      count(f.pattern) as secrets
    into result
    from secrets.split_at(redacted, words) as s
    left join secrets.find_in_words(redacted, redact_text.tenant_id, severities, words) as f on f.place = s.place;
    redacted := result.text;
    replaced := replaced + result.secrets;
  end loop;
  if replaced = 0 then
    redacted := content;
  end if;
end $$;
comment on function secrets.redact_text is 'A text with each secret replaced by [redacted: pattern], and how many were replaced.';

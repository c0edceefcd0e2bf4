-- What a caller may try instead, when little was found. Every word and count comes from rows that the caller may read.
create function find.known_words(request search.search_request) returns text[]
language plpgsql stable set search_path = '' set max_parallel_workers_per_gather = 0 set enable_seqscan = off as $$
declare
  max_memories constant integer := 1000;
  max_texts constant integer := 300;
  max_characters constant integer := 500;
  max_entities constant integer := 2000;
  conditions constant text := search.own_conditions('p', request.searched_scopes, request.project_id, null);
  texts text[];
begin
  execute format($sql$
    select array_agg(concat_ws(' ', n.title, array_to_string(n.tags, ' '), case when n.place <= %s then left(n.content, %s) end))
    from (
      select p.title, p.tags, p.envelope ->> 'content' as content,
        row_number() over (order by p."timestamp" desc, p.packet_id desc) as place
      from public.packet_store p
      where %s order by p."timestamp" desc, p.packet_id desc
      limit %s) n$sql$, max_texts, max_characters, conditions, max_memories)
  into texts;
  texts := texts || array(
    select s.name from (
      (select r.source_normalized as name from public.entity_relationships r
       where r.tenant_id = (request.caller).tenant_id and (r.ttl is null or r.ttl > now())
       order by r.source_normalized, r.relationship_id limit max_entities)
      union all (select r.target_normalized from public.entity_relationships r
       where r.tenant_id = (request.caller).tenant_id and (r.ttl is null or r.ttl > now())
       order by r.target_normalized, r.relationship_id limit max_entities)
    ) s);
  return array(
    select distinct lower(w.word)
    from unnest(texts) as t (text) cross join regexp_split_to_table(t.text, '[^[:alnum:]]+') as w (word)
    where length(w.word) between 4 and 40 and w.word !~ '^[0-9]+$');
end $$;
comment on function find.known_words is 'The words of titles, tags, beginnings and entities that the caller may read.';

create function find.are_neighbours(one text, other text) returns boolean language sql immutable parallel safe
-- The letters around each key of the keyboards that most people write on.
return pg_catalog.strpos((array[
  'qwsz', 'vghn', 'xdfv', 'erfcxs', 'wsdr', 'rtgvcd', 'tyhbvf', 'yujnbg', 'ujko', 'uikmnh', 'iolmj', 'opk', 'njk', 'bhjm', 'iklp',
  'ol', 'wa', 'etdf', 'awedxz', 'ryfg', 'yihj', 'cfgb', 'qeas', 'zsdc', 'tughz', 'asxty'])
  [pg_catalog.ascii(one) - 96], other) > 0;
comment on function find.are_neighbours is 'True if two lower-case letters of English are beside each other on a keyboard.';

-- Skips what both words begin and end with, and looks at the few letters that are left.
create function find.is_one_slip(written text, meant text) returns boolean
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  longer constant integer := length(meant) - length(written);
  before integer := 0;
  after integer := 0;
  shorter constant integer := least(length(written), length(meant));
begin
  if longer not between -1 and 1 or written = meant then
    return false;
  end if;
  while before < shorter and substr(written, before + 1, 1) = substr(meant, before + 1, 1) loop
    before := before + 1;
  end loop;
  while after < shorter - before
    and substr(written, length(written) - after, 1) = substr(meant, length(meant) - after, 1) loop
    after := after + 1;
  end loop;
  if longer <> 0 then
    -- A letter too few or too many. Another first letter, or a last one that makes another form, is more often another word.
    return before + after = shorter and before > 0
      and (after > 0 or length(written) > 4 and (longer > 0 or right(written, 1) ~ '[^a-z]|[bcfghjkpqvwxz]')
        or right(written, 2) ~ '(.)\1');
  elsif before + after = shorter - 2 then
    return substr(written, before + 1, 2) = reverse(substr(meant, before + 1, 2));
  end if;
  return before + after = shorter - 1 and before > 0 and (after > 0 or length(written) > 5)
    and find.are_neighbours(substr(written, before + 1, 1), substr(meant, before + 1, 1));
end $$;
comment on function find.is_one_slip is 'True if two words differ by letters swapped, missing, added or of a neighbouring key.';

create function find.correction_of(word text, known text[]) returns text language sql stable parallel safe set search_path = ''
begin atomic
  select m.candidate
  from (select words.fold(word) as written offset 0) w
  cross join lateral (
    select k.candidate, case when pg_catalog.octet_length(k.candidate) = pg_catalog.length(k.candidate)
      then pg_catalog.lower(k.candidate collate "C") else words.fold(k.candidate) end as plain
    from pg_catalog.unnest(known) as k (candidate)
    where pg_catalog.abs(pg_catalog.length(k.candidate) - pg_catalog.length(word)) <= 4 offset 0
  ) c
  cross join lateral (
    -- A cheap look at the first letters leaves out most candidates: one slip changes them only by swapping the first two.
    select c.candidate, case when pg_catalog.left(c.plain, 1) = pg_catalog.left(w.written, 1)
        or pg_catalog.left(c.plain, 2) = pg_catalog.reverse(pg_catalog.left(w.written, 2))
      then find.is_one_slip(w.written, c.plain) else false end as is_one_slip offset 0
  ) m
  cross join lateral (
    -- A short word resembles many others.
    select case when m.is_one_slip or pg_catalog.length(word) >= 8 then extensions.similarity(c.plain, w.written) end
      as similarity offset 0
  ) s
  where m.is_one_slip or s.similarity >= 0.4
  order by m.is_one_slip desc, s.similarity desc, m.candidate collate "C" limit 1;
end;
comment on function find.correction_of is 'The known word that was meant: is_one_slip() away, or most similar; or null.';

-- Only words that no memory of the search has are replaced, so that a rare word is never corrected to a frequent one.
create function find.corrected(request search.search_request) returns text language plpgsql stable set search_path = '' as $$
declare
  max_words constant integer := 8;
  known text[];
  filter ranking.word_filter;
  word text;
  lexemes text[];
  better text;
  answer text := request.query;
begin
  filter.scopes := request.requested_scopes;
  filter.project_id := request.project_id;
  filter.is_exact_place := false;
  for word in
    select lower(t.token) from regexp_split_to_table(left(request.query, 500), '[^[:alnum:]]+')
    with ordinality as t (token, place)
    where length(t.token) between 4 and 40 and t.token !~ '[0-9]' group by 1 order by min(t.place) limit max_words
  loop
    lexemes := words.of_query_in(word, request.languages);
    -- Stop words, and words that some memory has, are not misspelled.
    continue when lexemes = '{}'
      or (ranking.find_by_words(lexemes, array_fill(1.0::double precision, array[cardinality(lexemes)]), filter, 1)).ids <> '{}';
    known := coalesce(known, find.known_words(request));
    continue when word = any (known);
    better := find.correction_of(word, known);
    if better is not null then
      answer := regexp_replace(answer, '(?<![[:alnum:]])' || word || '(?![[:alnum:]])', better, 'gi');
    end if;
  end loop;
  return nullif(answer, request.query);
end $$;
comment on function find.corrected is 'The query with unknown words replaced by their correction_of(); null if there is none.';

create function find.matches_elsewhere(request search.search_request, max_matches integer) returns uuid[]
language plpgsql stable set search_path = '' as $$
declare
  tests tsquery[];
  scored search.scored_words;
begin
  request.k := max_matches;
  if request.query is null then
    return (search.find_recent(request)).ids;
  end if;
  request.settings.lexical_context_weight := 0;
  request.candidates := request.k;
  request.lexemes := search.query_words(request.query, request.languages);
  request := search.narrow_search(request);
  tests := search.word_tests(request.lexemes, request.query, request.languages);
  scored := search.find_words(request, request.lexemes, null);
  return array(
    select p.packet_id from public.packet_store p
    where p.packet_id = any ((scored.words).ids[:request.k])
      and search.word_share(p.words, tests, scored.weights) >= request.min_relevance);
end $$;
comment on function find.matches_elsewhere is 'At most so many memories that match by words or, without a query, filters.';

-- A memory that fails two of the conditions is left out, because leaving out one of them would not find it.
create function find.count_elsewhere(ids uuid[], filter find.find_filter) returns public.find_suggestion[]
language plpgsql stable set search_path = '' set enable_seqscan = off as $$
declare
  max_suggestions constant integer := 3;
begin
  return array(
    with compared as (
      select p.packet_type, p.branch, coalesce(p.packet_type <> all (filter.kinds), false) as is_other_kind,
        coalesce(p.branch <> filter.branch, false) as is_other_branch,
        filter.hides_archived and coalesce(p.archived_at <= now(), false) as is_archived
      from public.packet_store p
      where p.packet_id = any (ids)
    ), counted as (
      select o.reason, o.value, count(*)::integer as hits,
        row_number() over (partition by o.reason order by count(*) desc, o.value collate "C") as place
      from compared c
      cross join lateral (
        select case when c.is_other_kind then 'kind' when c.is_other_branch then 'branch' else 'archived' end as reason,
          case when c.is_other_kind then c.packet_type when c.is_other_branch then c.branch else '' end as value) o
      -- Where two conditions are not met, leaving out one of them finds nothing.
      where c.is_other_kind::integer + c.is_other_branch::integer + c.is_archived::integer = 1 group by o.reason, o.value
    )
    select row(c.reason, c.value, c.hits)::public.find_suggestion
    from counted c
    where c.place <= max_suggestions order by array_position(array['kind', 'branch', 'archived'], c.reason), c.place);
end $$;
comment on function find.count_elsewhere is 'How many of these are found without one condition: kind, branch, archive.';

-- One search with all conditions left out is enough as long as it finds fewer memories than its limit.
create function find.found_elsewhere(request search.search_request, filter find.find_filter) returns uuid[]
language plpgsql stable set search_path = '' as $$
declare
  max_matches constant integer := 100;
  wider find.find_filter := filter;
  one_wider find.find_filter;
  ids uuid[];
begin
  if filter.kinds is null and filter.branch is null and not filter.hides_archived then
    return '{}';
  end if;
  wider.kinds := null;
  wider.branch := null;
  wider.hides_archived := false;
  ids := coalesce(find.matches_elsewhere(find.narrowed_to(request, wider), max_matches), '{}');
  if cardinality(ids) < max_matches then
    return ids;
  end if;
  -- There can be more than these, so each condition is left out by itself.
  ids := '{}';
  if filter.kinds is not null then
    one_wider := filter;
    one_wider.kinds := null;
    ids := ids || find.matches_elsewhere(find.narrowed_to(request, one_wider), max_matches);
  end if;
  if filter.branch is not null then
    one_wider := filter;
    one_wider.branch := null;
    ids := ids || find.matches_elsewhere(find.narrowed_to(request, one_wider), max_matches);
  end if;
  if filter.hides_archived then
    one_wider := filter;
    one_wider.hides_archived := false;
    ids := ids || find.matches_elsewhere(find.narrowed_to(request, one_wider), max_matches);
  end if;
  return ids;
end $$;
comment on function find.found_elsewhere is 'Memories found without conditions: by one search if below 100, else one for each.';

create function find.suggest(request search.search_request, filter find.find_filter) returns public.find_suggestion[]
language plpgsql stable set search_path = '' as $$
declare
  respelled search.search_request;
  corrected text;
  count integer;
  suggestions public.find_suggestion[] := '{}';
begin
  request.ids := null;
  request.mode := case when request.query is null then 'recent' else 'lexical' end;
  if request.query is not null then
    corrected := find.corrected(request);
  end if;
  if corrected is not null then
    respelled := find.narrowed_to(request, filter);
    respelled.query := corrected;
    count := cardinality(find.matches_elsewhere(respelled, 100));
    if count > 0 then
      suggestions := suggestions || row('spelling', corrected, count)::public.find_suggestion;
    end if;
  end if;
  return suggestions || find.count_elsewhere(find.found_elsewhere(request, filter), filter);
end $$;
comment on function find.suggest is 'What to try instead: a corrected spelling that finds something, and other kinds and '
  'branches, and the archive, in which the query finds something, with how many memories each finds (at most 100).';
grant execute on function find.known_words, find.are_neighbours, find.is_one_slip, find.correction_of, find.corrected,
  find.matches_elsewhere, find.count_elsewhere, find.found_elsewhere, find.suggest to l9_agent, l9_admin, l9_platform_admin;

-- What follows from the fields of a memory by the rules of its kind: content, identity, archiving and expiry. The
-- trigger apply_kind of packet_store and the functions that save call these.
create function kinds.as_text(value jsonb, parts jsonb default null) returns text
language sql immutable parallel safe set search_path = ''
return case pg_catalog.jsonb_typeof(value)
  when 'array' then (
    select pg_catalog.string_agg(case pg_catalog.jsonb_typeof(item.value)
      when 'object' then (
        select pg_catalog.string_agg(part.value, ' ' order by rule.ordinality, part.key)
        from pg_catalog.jsonb_each_text(item.value) as part
        left join pg_catalog.jsonb_array_elements(parts) with ordinality as rule on rule.value ->> 'field' = part.key
        where part.value is not null)
      else '- ' || (item.value #>> '{}') end, E'\n' order by item.ordinality)
    from pg_catalog.jsonb_array_elements(value) with ordinality as item)
  when 'object' then (
    select pg_catalog.string_agg(part.key || ': ' || part.value, E'\n' order by rule.ordinality, part.key)
    from pg_catalog.jsonb_each_text(value) as part
    left join pg_catalog.jsonb_array_elements(parts) with ordinality as rule on rule.value ->> 'field' = part.key
    where part.value is not null)
  else value #>> '{}'
end;
comment on function kinds.as_text is 'The value of a field as text: one item or entry a line, parts in the order of their rule.';

create function kinds.text_of(rules jsonb, fields jsonb) returns text language sql immutable parallel safe set search_path = ''
return (
  select pg_catalog.string_agg(t.text, E'\n\n' order by f.ordinality)
  from pg_catalog.jsonb_array_elements_text(rules -> 'text') with ordinality as f (field)
  cross join lateral (select kinds.as_text(fields -> f.field, rules #> array['fields', f.field, 'parts'])) as t (text)
  where t.text <> '');
comment on function kinds.text_of is 'A memory''s content made from its fields, a paragraph each; null if the writer gives it.';

create function kinds.is_met(condition jsonb, fields jsonb) returns boolean
language sql immutable parallel safe set search_path = ''
return condition is not null and not exists (
  select from pg_catalog.jsonb_each(condition) as c
  where coalesce(fields -> c.key, 'null') = 'null' or pg_catalog.jsonb_typeof(c.value) = 'array'
    and not c.value @> (fields -> c.key));
comment on function kinds.is_met is 'True if the fields meet a condition of memory_kinds: each field that it names has one of '
  'the listed values, or any where it says true. {} is always met, null never.';

create function kinds.identity_of(rules jsonb, fields jsonb, packet_id uuid, text_identity bytea) returns bytea
language sql immutable parallel safe set search_path = ''
return case
  when kinds.is_met(nullif(rules -> 'identity_ends_when', 'null'), fields) then pg_catalog.sha256(pg_catalog.uuid_send(packet_id))
  when pg_catalog.jsonb_array_length(rules -> 'identity') = 0 then text_identity
  else (
    select pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.jsonb_agg(
      case i.alternatives when 'content' then pg_catalog.encode(text_identity, 'hex') else (
        select case when given.value ~ '/' then pg_catalog.btrim(given.value, e' \t\r\n')
          else pg_catalog.lower(pg_catalog.btrim(pg_catalog.regexp_replace(given.value, '\s+', ' ', 'g')))
            || coalesce(' ' || pg_catalog.encode(words.case_hash(given.value), 'hex'), '') end
        from pg_catalog.unnest(pg_catalog.string_to_array(i.alternatives, '|')) with ordinality as a (field)
        cross join lateral (select fields ->> a.field) as given (value)
        where not identity.is_blank(given.value) order by a.ordinality limit 1)
      end order by i.ordinality)::text, 'UTF8'))
    from pg_catalog.jsonb_array_elements_text(rules -> 'identity') with ordinality as i (alternatives))
end;
comment on function kinds.identity_of is 'SHA-256 of what identifies a memory within its owner, scope, project, branch and kind: '
  'its identity fields, else its content. Differences of case and white space are ignored, except where they mean something '
  '(words.case_hash()); in a value that contains a slash, such as a link or a path, case counts. text_identity: that of the '
  'content.';

create function kinds.moment_after(rules jsonb, event text, fields jsonb) returns timestamptz
language sql immutable parallel safe set search_path = ''
return kinds.field_time(fields -> (rules -> event ->> 'from'))
  + pg_catalog.make_interval(secs => (rules -> event ->> 'seconds')::double precision);
comment on function kinds.moment_after is 'When a memory is archived or expires (event) by its kind; null for never.';

create function kinds.with_end(rules jsonb, fields jsonb, old_fields jsonb) returns jsonb
language sql stable parallel safe set search_path = ''
return (
  select case
    when has.ended and coalesce(fields -> field.name, 'null') = 'null'
      then fields || pg_catalog.jsonb_build_object(field.name, pg_catalog.to_char(pg_catalog.timezone('UTC', pg_catalog.now()),
        case field.type when 'date' then 'YYYY-MM-DD' else 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"' end))
    when has.come_back and fields -> field.name = old_fields -> field.name then fields - field.name
    else fields end
  from (select rules #>> '{archived,from}', rules #>> array['fields', rules #>> '{archived,from}', 'type']) as field (name, type)
  cross join lateral (
    select kinds.is_met(rules -> 'identity_ends_when', fields),
      kinds.is_met(rules -> 'identity_ends_when', old_fields)
        and not kinds.is_met(rules -> 'identity_ends_when', fields)) as has (ended, come_back));
comment on function kinds.with_end is 'The fields of a memory that ends and is then archived, such as a todo: with the time of '
  'its end where the writer leaves that out, and without it where the memory is opened again.';
grant execute on function kinds.as_text, kinds.text_of, kinds.is_met, kinds.identity_of, kinds.moment_after, kinds.with_end to
  l9_agent, l9_admin, l9_worker;

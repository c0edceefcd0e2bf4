-- What case and indentation mean in a text: commands, identifiers, paths and code. packets.text_identity() and
-- kinds.identity_of() call it, so that "grep -v" and "grep -V" are two memories while prose is compared in any case.
create function words.telling_case() returns text language sql immutable parallel safe
return
  -- Options of commands, variables, escapes of regular expressions, assignments.
  '^["''(\[|]*--?[A-Za-z]|[$%]\{?[A-Za-z_]|\\[A-Za-z]|[A-Za-z0-9_.-]=[^\s=]'
  -- Paths: from a root, of three parts, or to a file with an ending; file names by the endings of code and data.
  || '|^["''(=:\[]*[.~]{0,2}/[A-Za-z0-9_.~-]|/[^/\s]+/|/[A-Za-z0-9_-]+\.[A-Za-z0-9]|://'
  || '|[A-Za-z0-9_-]\.(?:java|kt|py|rb|go|rs|c|h|cc|cpp|hpp|cs|php|swift|scala|lua|pl|r|ts|tsx|jsx|mjs|cjs|sh|bash|ps1|sql'
  || '|md|txt|json|jsonl|ya?ml|toml|ini|conf|cfg|env|xml|html?|css|scss|csv|tsv|log|lock|proto|gradle|properties|ipynb|tf'
  || '|pem|key|crt|so|dll|exe|jar|zip|gz|tar|pdf|png|svg)(?:[^A-Za-z0-9]|$)'
  -- Words with inner capitals or _, but no plurals of abbreviations (APIs).
  || '|[A-Za-z0-9]_+[A-Za-z0-9]|[a-z][a-z0-9]*[A-Z]|[A-Z][A-Z](?:[a-z][a-z]|[a-rt-z](?:[^A-Za-z]|$))'
  -- Numbers with units that are others in the other case (mW, MW), and metals that are gases in capitals (Co).
  || '|^[^A-Za-z]*[0-9] ?(?:[munpµkKMGTP]?(?:[bB](?:it|ps)?|[wW][hH]?|[vV]|[aA][hH]?|[jJ]|[gG]|[sS]|[hH][zZ]|[pP][aA]'
  || '|[lL]|[nN]))(?:[^A-Za-z0-9]|$)'
  || '|^(?:Co|Hf|Cs|Sc|Sn|Nb|Np|Pb|Cu|Po)(?:[^A-Za-z]|$)';
comment on function words.telling_case is 'A regular expression for what is told by its case between two spaces.';

create function words.may_tell_case() returns text language sql immutable parallel safe
return '[_`$%\\/=]|-[A-Za-z]|\.[a-z]|[a-z0-9][A-Z]|[A-Z][A-Z]'
  || '|[0-9] ?[munpµkKMGTP]?(?:[bB](?:it|ps)?|[wW][hH]?|[vV]|[aA][hH]?|[jJ]|[gG]|[sS]|[hH][zZ]|[pP][aA]|[lL]|[nN])'
  || '(?:[^A-Za-z0-9]|$)|(?:^|[^A-Za-z])(?:Co|Hf|Cs|Sc|Sn|Nb|Np|Pb|Cu|Po)(?:[^A-Za-z]|$)';
comment on function words.may_tell_case is 'A quick expression for texts that may match telling_case(); most prose doesn''t.';

create function words.telling_lines(content text) returns text language sql immutable parallel safe strict set search_path = ''
return (
  with lines as (
    select l.n, l.line, pg_catalog.lag(l.line) over w as before, l.line ~ '^(\s{2}|\t)' as is_indented
    from pg_catalog.regexp_split_to_table(content, '\s*\n(?:[ \t]*\n)*') with ordinality as l (line, n)
    window w as (order by l.n)
  ), blocks as (
    -- Prose is indented too, but not after a line that opens a block.
    select l.n, l.line, l.is_indented and pg_catalog.bool_or(not l.is_indented and l.opens) over (
      order by l.n rows between 1 preceding and 1 preceding) as begins, l.is_indented,
      pg_catalog.sum((not l.is_indented)::integer) over (order by l.n) as part
    from (select l.*, l.line ~ '([:{(\[,=|>\\]|\m(then|do|else|try|begin))$' as opens from lines l) l
  ), parts as (
    select b.*, pg_catalog.bool_or(b.begins) over (partition by b.part) as is_code from blocks b
  ), marked as (
    select p.*, pg_catalog.lag(p.is_code) over (order by p.n) as follows_code from parts p
  )
  select pg_catalog.string_agg(case when m.is_indented then m.line else '.' || m.line end, E'\n' order by m.n)
  from marked m
  where m.is_code or m.follows_code);
comment on function words.telling_lines is 'The lines of indented blocks and those around them, as written; null for none.';

create function words.case_hash(content text) returns bytea
language plpgsql immutable parallel safe strict set search_path = '' as $$
declare
  telling text := '';
begin
  -- Most prose has nothing of this, and every save looks: what telling_case() finds, this finds too.
  if content ~ words.may_tell_case() then
    telling := coalesce((
      select string_agg(m.found[1], E'\n')
      from regexp_matches(content, '\S*[0-9] [A-Za-zµ]{1,4}\M|\S*[-_$%\\/=A-Z.0-9]\S*', 'g') as m (found)
      where m.found[1] ~ words.telling_case()), '');
    if position('`' in content) > 0 then
      telling := telling || coalesce((
        select E'\n\n' || string_agg(m.found[1], E'\n') from regexp_matches(content, '(`+[^`]+`+)', 'g') as m (found)), '');
    end if;
  end if;
  if content ~ '\n(  |\t)' then
    telling := telling || coalesce(E'\n\n' || words.telling_lines(btrim(content, E' \t\r\n')), '');
  end if;
  return case when telling <> '' then sha256(convert_to(telling, 'UTF8')) end;
end $$;
comment on function words.case_hash is 'SHA-256 of what case and indentation mean in a text: words with inner capitals or _, '
  'options, variables, paths, code spans, units, and indented blocks. Null for prose, which says the same in any case.';
grant execute on function words.telling_case, words.may_tell_case, words.telling_lines, words.case_hash to l9_agent,
  l9_admin, l9_worker;

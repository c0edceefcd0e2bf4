-- Refuses changes of what a kind has locked, such as the text of an accepted decision. Triggers of packet_store and
-- store_body() call these functions.
create function kinds.check_locked(kind text, rules jsonb, old_fields jsonb, new_fields jsonb) returns void
language plpgsql stable parallel safe set search_path = '' as $$
declare
  allowed jsonb := rules -> 'allowed_when_locked';
  ends constant jsonb := nullif(rules -> 'identity_ends_when', 'null');
  field text;
begin
  if not kinds.is_met(nullif(rules -> 'locked_when', 'null'), old_fields) then
    return;
  end if;
  -- One that has ended would be the same as others again, which may have taken its place.
  if kinds.is_met(ends, old_fields) and not kinds.is_met(ends, new_fields) then
    allowed := allowed - array(select jsonb_object_keys(ends));
  end if;
  for field in
    select k.field
    from (select jsonb_object_keys(old_fields) union select jsonb_object_keys(new_fields)) as k (field)
    where old_fields -> k.field is distinct from new_fields -> k.field
      and (rules -> 'locked_fields' = 'null' or rules -> 'locked_fields' ? k.field)
      and not (allowed ? k.field and (allowed -> k.field = 'true' or allowed -> k.field @> (new_fields -> k.field)))
    -- The content follows the fields, so those are what the caller is told about.
    order by (k.field = 'content'), k.field
  loop
    -- What follows from a change that is allowed changes the content, too.
    if field = 'content' and jsonb_array_length(rules -> 'text') > 0 then
      continue;
    end if;
    perform kinds.raise_locked(kind, rules, field);
  end loop;
end $$;

create function kinds.raise_locked(kind text, rules jsonb, field text) returns void
language plpgsql stable parallel safe set search_path = '' as $$
begin
  perform identity.raise_error('L9IMM',
    format('%s: is locked in this %s%s', field, kind, coalesce('; ' || (rules ->> 'when_locked'), '')));
end $$;
comment on function kinds.check_locked is 'Raises L9IMM, with what to do instead, for a change that the kind no longer allows.';
comment on function kinds.raise_locked is 'Raises L9IMM for a locked field, with what its kind says can be done instead.';
grant execute on function kinds.check_locked, kinds.raise_locked to l9_agent, l9_admin, l9_worker;

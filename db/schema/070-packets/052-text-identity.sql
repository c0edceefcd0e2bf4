-- What makes two texts the same: the words of a text in any case, and what case and indentation mean in it. All that asks
-- whether a memory says the same as another one calls text_identity(); content_hash() tells only whether the words have changed.
create function packets.identity_of_hash(content_hash bytea, content text) returns bytea
language plpgsql immutable parallel safe strict set search_path = '' as $$
declare
  case_hash constant bytea := words.case_hash(content);
begin
  return case when case_hash is null then content_hash else sha256(content_hash || case_hash) end;
end $$;
comment on function packets.identity_of_hash is 'The text_identity() of a text whose content_hash() is known.';

create function packets.text_identity(content text) returns bytea language sql immutable parallel safe strict set search_path = ''
return packets.identity_of_hash(packets.content_hash(content), content);
comment on function packets.text_identity is 'The content_hash of prose; where case or indentation tells, a hash of both hashes.';
grant execute on function packets.identity_of_hash, packets.text_identity to l9_agent, l9_admin, l9_worker;

-- The hash by which two contents count as the same. Triggers of packet_store store it, and saves look for duplicates by it.
create function packets.content_hash(content text) returns bytea
language plpgsql immutable parallel safe strict set search_path = '' as $$
declare
  -- An accent may be part of its letter or a character of its own. ASCII has none.
  composed text := case when octet_length(content) = length(content) then content else normalize(content) end;
begin
  -- Replace only where there is something to collapse, and not every space.
  if composed ~ '\s\s|[^\S ]' then
    composed := regexp_replace(composed, '\s{2,}|[^\S ]', ' ', 'g');
  end if;
  return sha256(convert_to(lower(btrim(composed)), 'UTF8'));
end $$;
comment on function packets.content_hash is 'SHA-256 of a text in NFC after trimming, collapsing white space and lower-casing '
  'it. Two contents with equal hashes have the same words; text_identity() tells whether they say the same.';
grant execute on function packets.content_hash to l9_agent, l9_admin;

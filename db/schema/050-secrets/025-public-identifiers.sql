-- Public identifiers that look as random as a secret: addresses and transactions of chains, decentralised
-- identifiers, and identifiers of contents and peers. The verification of matches asks is_public_identifier().
create function secrets.decode_base58(
  encoded text, alphabet text default '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz') returns bytea
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  number numeric := 0;
  decoded bytea := '';
  letter text;
begin
  foreach letter in array string_to_array(encoded, null) loop
    number := number * 58 + strpos(alphabet, letter) - 1;
  end loop;
  while number > 0 loop
    decoded := set_byte('\x00'::bytea, 0, (number % 256)::integer) || decoded;
    number := div(number, 256);
  end loop;
  return decode(repeat('00', length(encoded) - length(ltrim(encoded, left(alphabet, 1)))), 'hex') || decoded;
end $$;
comment on function secrets.decode_base58 is 'The bytes of a text in base58, all of whose characters are of that alphabet.';

create function secrets.is_base58_address(value text) returns boolean
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  decoded bytea;
begin
  if value !~ '^[1-9A-HJ-NP-Za-km-z]{25,112}$' then
    return false;
  end if;
  for decoded in
    select secrets.decode_base58(value)
    union all
    -- The chain of XRP has another order.
    select secrets.decode_base58(value, 'rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz') where value like 'r%'
  loop
    -- An address is a hash of 20 bytes behind one to three that say of what. Private keys are longer, and so are extended public
    -- ones.
    if (length(decoded) between 25 and 27 or length(decoded) = 82 and value ~ '^[xyztuv]pub')
      and substr(sha256(sha256(substr(decoded, 1, length(decoded) - 4))), 1, 4) = substr(decoded, length(decoded) - 3) then
      return true;
    end if;
  end loop;
  return false;
end $$;
comment on function secrets.is_base58_address is 'True for a public address or extended public key in base58, by checksum.';

create function secrets.is_bech32_address(value text) returns boolean
language plpgsql immutable parallel safe set search_path = '' as $$
declare
  prefix constant text := substring(value from '^([a-z]{1,20})1[ac-hj-np-z02-9]{20,}$');
  sum bigint := 1;
  part integer;
  top integer;
begin
  -- Secret keys are written so, too.
  if prefix is null or prefix ~ 'sec|sk$|priv|seed' then
    return false;
  end if;
  foreach part in array
    array(select ascii(c) >> 5 from string_to_table(prefix, null) as c) || 0
    || array(select ascii(c) & 31 from string_to_table(prefix, null) as c)
    || array(
      select strpos('qpzry9x8gf2tvdw0s3jn54khce6mua7l', c) - 1 from string_to_table(substr(value, length(prefix) + 2), null) as c)
  loop
    top := (sum >> 25)::integer;
    sum := ((sum & 33554431) << 5) # part;
    sum := sum # case when top & 1 > 0 then 996825010 else 0 end # case when top & 2 > 0 then 642813549 else 0 end
      # case when top & 4 > 0 then 513874426 else 0 end # case when top & 8 > 0 then 1027748829 else 0 end
      # case when top & 16 > 0 then 705979059 else 0 end;
  end loop;
  return sum in (1, 734539939);
end $$;
comment on function secrets.is_bech32_address is 'True for an address or public key in bech32(m), by checksum; no secret key.';

create function secrets.is_content_identifier(value text) returns boolean
language sql immutable parallel safe set search_path = ''
return case
  when value ~ '^(?:Qm[1-9A-HJ-NP-Za-km-z]{44}|12D3KooW[1-9A-HJ-NP-Za-km-z]{44})$' then
    pg_catalog.substr(secrets.decode_base58(value), 1, 2) in ('\x1220', '\x0024')
  -- Version 1, a codec, SHA-256 or BLAKE2b, and 32 bytes; as base32, base36 or base58.
  else value ~ '^(?:baf[ky][a-z2-7]{55}|baguqe[a-z2-7]{55}|bafz[a-z2-7]{55,61}|k[25][a-z0-9]{59,61}|zdj7[1-9A-HJ-NP-Za-km-z]{45}'
    '|zb2rh[1-9A-HJ-NP-Za-km-z]{44})$'
end;
comment on function secrets.is_content_identifier is 'True if a text is an identifier of contents or of a peer of IPFS.';

create function secrets.is_public_identifier(value text) returns boolean language sql immutable parallel safe set search_path = ''
return value ~ '^(?:0[xX](?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})|did:[a-z0-9]+:.*)$'
  or secrets.is_content_identifier(value) or secrets.is_base58_address(value) or secrets.is_bech32_address(value)
  -- Keys of did:key, which stand behind a # again.
  or value ~ '^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$';
comment on function secrets.is_public_identifier is 'True for an address or hash of a chain, a decentralised id, or a CID.';

-- The hash of each API key. create_api_key() writes it, and identity_directory() gives it to the gateway.

-- The hashes have their own table, so that no present or future grant on api_keys reveals one.
create table identity.api_key_hashes (
  key_id uuid primary key references public.api_keys,
  hash bytea not null,
  constraint api_key_hash_unique unique (hash),
  constraint api_key_hash_sha256 check (octet_length(hash) = 32)
);
call identity.describe('identity.api_key_hashes', 'SHA-256 of each API key. A key holds 256 random bits, so its hash can be
    neither guessed nor reversed.
  hash: SHA-256 of the key as it was shown on creation.');

alter table identity.api_key_hashes enable row level security, force row level security;

create policy definer_functions on identity.api_key_hashes for select to l9_owner using (true);
create policy definer_inserts on identity.api_key_hashes for insert to l9_owner with check (true);
comment on policy definer_functions on identity.api_key_hashes is 'identity_directory() passes the hashes to the gateway.';
comment on policy definer_inserts on identity.api_key_hashes is 'create_api_key() inserts.';

-- No role has a grant on this table.

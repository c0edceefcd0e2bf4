--! Previous: sha1:a90d039e4b3609f46869982bf5b51790283b9d69
--! Hash: sha1:1c373b11d60ac2a8c9d4bd9455965709cc809f47
--! Message: limit the description of a scope

--! split: 1-current.sql
-- What the owner had written by hand may be longer. A character has at most four bytes.
update public.scopes set description = left(description, 250) where octet_length(description) > 1000;
alter table public.scopes drop constraint if exists scope_description_short;
alter table public.scopes add constraint scope_description_short check (octet_length(description) <= 1000);
comment on column public.scopes.description is 'Purpose of the scope, in at most 1000 bytes.';

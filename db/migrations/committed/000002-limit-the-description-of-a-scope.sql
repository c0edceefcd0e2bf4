--! Previous: sha1:6bb1be868551492c70cc03f3bd9a49aa069829b9
--! Hash: sha1:dfa602ad2e3b9e90f86b7f7d1f200a656aacff2d
--! Message: limit the description of a scope

--! split: 1-current.sql
-- What the owner had written by hand may be longer. A character has at most four bytes.
update public.scopes set description = left(description, 250) where octet_length(description) > 1000;
alter table public.scopes drop constraint if exists scope_description_short;
alter table public.scopes add constraint scope_description_short check (octet_length(description) <= 1000);
comment on column public.scopes.description is 'Purpose of the scope, in at most 1000 bytes.';

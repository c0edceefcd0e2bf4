-- The limits of documents and their sections. The functions that cut and store a Markdown ask for them.

-- No search_path is set, so that calls are inlined as constants.

create function documents.max_body_bytes() returns integer language sql immutable parallel safe return 4194304;
create function documents.min_section_bytes() returns integer language sql immutable parallel safe return 1024;
create function documents.max_section_bytes() returns integer language sql immutable parallel safe return 3072;
comment on function documents.max_body_bytes is 'The maximum size of the Markdown of a document: 4 MiB.';
comment on function documents.min_section_bytes is 'A section that is shorter is joined with what follows it: 1 KiB.';
comment on function documents.max_section_bytes is 'A text that is longer is cut; trailing white space does not count.';

create function documents.check_body(body_md text) returns void
language plpgsql immutable parallel safe set search_path = '' as $$
begin
  if octet_length(body_md) > documents.max_body_bytes() then
    perform identity.raise_error('L9LIM',
      format('body_md: at most %s bytes (4 MiB), got %s', documents.max_body_bytes(), octet_length(body_md)));
  elsif body_md is null or identity.is_blank(body_md) then
    perform identity.raise_error('L9VAL', 'body_md: must not be blank');
  end if;
end $$;
comment on function documents.check_body is 'Raises L9LIM or L9VAL for a Markdown that is too long or blank.';
grant execute on function documents.max_body_bytes, documents.min_section_bytes, documents.max_section_bytes, documents.check_body
  to l9_agent, l9_admin;

-- The operation get_document: reads a document with the text of all its sections, and writes the audit log and the access log.
create type public.document_read as (memory public.packet_store, body_md text, sections jsonb);
call identity.describe('public.document_read', 'A document with its whole text.
  memory: The memory of kind document.
  body_md: Its Markdown, byte for byte as it was stored; empty if it has no sections.
  sections: Its sections in order: packet_id, heading, level, position.');

-- The id of a section leads to its document, whose text is that of its sections in order.
create function public.get_document(packet_id uuid) returns public.document_read
language plpgsql volatile set search_path = '' as $$
declare
  document public.document_read;
begin
  perform identity.require_identity();
  -- Who has found a section can ask for the document around it.
  select p into document.memory
  from public.packet_store p
  where p.packet_id = coalesce((
      select s.part_of from public.packet_store s where s.packet_id = get_document.packet_id and s.packet_type = 'section'),
        get_document.packet_id);
  if (document.memory).packet_id is null then
    perform memories.raise_not_yours(get_document.packet_id);
  elsif (document.memory).packet_type <> 'document' then
    perform identity.raise_error('L9VAL', 'packet_id: this memory is no document; get_memory reads it');
  end if;
  select coalesce(string_agg(s.envelope ->> 'body_md', '' order by s.place), ''),
    coalesce(jsonb_agg(jsonb_build_object('packet_id', s.packet_id, 'heading', s.envelope -> 'heading',
      'level', s.envelope -> 'level', 'position', s.envelope -> 'position') order by s.place), '[]')
  into document.body_md, document.sections
  from (select p.packet_id, p.envelope, row_number() over () as place
    from documents.sections_of((document.memory).packet_id) p) s;
  perform audit.audit_read(
    'READ', jsonb_build_object('sections', jsonb_array_length(document.sections),
      'ids', jsonb_build_array((document.memory).packet_id) || jsonb_path_query_array(document.sections, '$[*].packet_id')),
    (document.memory).packet_id, (document.memory).project_id, (document.memory).scope);
  perform importance.log_accesses('get', array[(document.memory).packet_id], array[(document.memory).scope],
    array[(document.memory).project_id]);
  return document;
end $$;
comment on function public.get_document is 'Returns a document with its whole Markdown and a list of its sections, by its id or '
  'that of one of its sections. Writes an audit row and an access log row, as get_memory does. L9OWN if it does not exist or is '
  'not visible; the two cases give the same error. L9VAL for a memory of another kind.';
grant execute on function public.get_document to l9_agent, l9_admin, l9_platform_admin;

create function search.more_like_this(request search.search_request, packet_id uuid)
returns search.search_request
language plpgsql
stable
set search_path = ''
as $$
declare
  content text;
begin
  select p.envelope ->> 'content' into content from public.packet_store p where p.packet_id = more_like_this.packet_id;
  if not found then
    perform memories.raise_not_yours(more_like_this.packet_id);
  end if;
  request.like_packet_id := packet_id;
  request.query := (
    select string_agg(w.lexeme, ' ')
    from (
      select w.lexeme from unnest(to_tsvector('pg_catalog.english', left(content, 20000))) as w
      order by cardinality(w.positions) desc, length(w.lexeme) desc, w.lexeme
      limit 25
    ) w);
  select e.vector, e.model into request.vector, request.model
  from public.memory_embeddings e
  join public.embedding_models m on m.model = e.model and m.state = 'serving'
  where e.packet_id = more_like_this.packet_id and e.embedding_type = 'content' and e.chunk_index = 0;
  return request;
end
$$;

comment on function search.more_like_this(search.search_request, uuid) is
  'A search for the 25 most frequent words of a memory, and for its vector. Raises L9OWN if the memory does not exist or is not visible.';

grant execute on function search.more_like_this(search.search_request, uuid) to l9_agent, l9_admin, l9_platform_admin;

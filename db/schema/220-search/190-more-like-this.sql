-- A search for memories similar to a given one: its words and its vector take the place of a query. open_search()
-- calls it where packet_id is given.
create function search.more_like_this(request search.search_request, packet_id uuid) returns search.search_request
language plpgsql stable set search_path = '' as $$
declare
  found_words tsvector;
  dates tsvector;
begin
  select p.words, words.date_words(p."timestamp") into found_words, dates
  from public.packet_store p where p.packet_id = more_like_this.packet_id;
  if not found then
    perform memories.raise_not_yours(more_like_this.packet_id);
  end if;
  request.like_packet_id := packet_id;
  -- Words of the language of the memory, as they are stored: stemmed again they would find something else.
  request.lexemes := array(
    select w.lexeme
    from unnest(found_words) as w
    -- Identifiers and dates have no positions. What happened on the same day is not alike.
    where w.positions is not null or not coalesce(w.lexeme = any (tsvector_to_array(dates)), false)
    order by coalesce(cardinality(w.positions), 1) desc, length(w.lexeme) desc, w.lexeme collate "C" limit 25);
  request.query := nullif(array_to_string(request.lexemes, ' '), '');
  select e.vector, e.model into request.vector, request.model
  from public.memory_embeddings e
  join public.embedding_models m on m.model = e.model and m.state = 'serving'
  where e.packet_id = more_like_this.packet_id and e.embedding_type = 'content' and e.chunk_index = 0;
  return request;
end $$;
comment on function search.more_like_this is 'A search for a memory''s 25 most frequent words and its vector. Raises L9OWN.';
grant execute on function search.more_like_this to l9_agent, l9_admin, l9_platform_admin;

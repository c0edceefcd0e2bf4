-- The trigger _380_words of packet_store, which sets the words by which a memory is found.
create function packets.tg_packet_store__words() returns trigger language plpgsql set search_path = '' as $$
declare
  content constant text := new.envelope ->> 'content';
begin
  -- A trigger of the search settings fires first and chooses among the languages of the tenant.
  new.language := coalesce(new.language, 'english');
  if tg_op = 'INSERT' or content is distinct from old.envelope ->> 'content'
    or (new.packet_type, new."timestamp", new.language) is distinct from (old.packet_type, old."timestamp", old.language) then
    new.words := words.of_memory(content, new.language, new."timestamp", new.packet_type);
    if new.packet_type <> 'message' and new."timestamp" < new.created_at - interval '1 minute' then
      new.words := new.words || words.date_words(new."timestamp");
    end if;
  end if;
  return new;
end $$;
comment on function packets.tg_packet_store__words is 'Writes the words of a memory, replacing what a role that may set the '
  'column sent. They include the date of the event if the memory is a message, or if its writer said when it happened.';

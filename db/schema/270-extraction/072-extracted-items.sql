-- The items of an answer of a chat model. store_extraction() goes through them, at once or after a review.

create function extraction.max_extracted_items() returns integer
language sql immutable parallel safe set search_path = '' return 50;
comment on function extraction.max_extracted_items is 'The most entities, facts and relationships, each, of one answer.';

create function extraction.extracted_items(extraction jsonb, field text, texts text[]) returns table (item jsonb, is_fit boolean)
language sql stable parallel safe set search_path = ''
begin atomic
  select i.item,
    i.place <= extraction.max_extracted_items() and jsonb_typeof(i.item) = 'object'
      and case when jsonb_typeof(i.item -> 'confidence') = 'number'
        then (i.item ->> 'confidence')::numeric between 0 and 1 end is true
      and not exists (
        select from unnest(texts) as t (name)
        where jsonb_typeof(i.item -> t.name) is distinct from 'string'
          or char_length(i.item ->> t.name)
            > case t.name when 'object' then 1000 when 'predicate' then 100 when 'type' then 100 else 200 end
          or entities.normalise_name(i.item ->> t.name) = '')
  from jsonb_array_elements(case jsonb_typeof(extraction -> field) when 'array' then extraction -> field else '[]' end)
    with ordinality as i (item, place);
end;
comment on function extraction.extracted_items is 'Returns the items of one list of an answer. is_fit: the item is among the '
  'first max_extracted_items(), has these texts (at most 200 characters; predicates and types 100, objects 1000) and a '
  'confidence from 0 to 1.';

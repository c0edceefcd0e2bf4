-- Memories by conditions on their fields, for lists. The gateway calls find_where() for the argument where of GraphQL
-- connections.
create type search.where_matches as (packet_ids uuid[], notice text);
comment on type search.where_matches is 'Memories with certain fields. notice: a sentence for the caller if there may be more.';

create function search.find_where("where" jsonb) returns search.where_matches language plpgsql stable set search_path = '' as $$
declare
  request search.search_request;
  source search.search_source;
  answer search.where_matches;
begin
  request.caller := identity.require_identity();
  request.searched_scopes := (request.caller).readable_scopes;
  request.filters := jsonb_build_object('where', "where");
  request.current_condition := concat_ws(' and ',
    search.own_conditions('p', null, null, null), packets.where_conditions('p', packets.compile_where("where")));
  request.current_or_past_condition := request.current_condition;
  source := row('public.packet_store', search.reader_ranges(request.caller, 'p', request.searched_scopes, null),
    request.current_condition)::search.search_source;
  answer.packet_ids := coalesce(
    search.indexed_matches(request, search.max_scanned_rows()),
    search.few_matches(source, search.max_scanned_rows(), search.max_scanned_rows()));
  if answer.packet_ids is null then
    answer.packet_ids := search.newest_matches(request, search.max_scanned_rows());
    answer.notice := search.where_notice();
  end if;
  return answer;
end $$;
comment on function search.find_where is 'Readable memories that satisfy a where, by an index or among the newest 20,000.';
grant execute on function search.find_where to l9_agent, l9_admin, l9_platform_admin;

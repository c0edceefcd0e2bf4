-- The importance that a writer may give. The trigger of packet_store that stamps calls bounded_importance().

create function packets.bounded_importance(importance real) returns real
language sql stable parallel safe security definer set search_path = ''
return (
  select least(importance, (identity.bounds_of((me).tenant_id, (me).creator)).max_importance)
  from identity.current_identity() as me);

comment on function packets.bounded_importance is
  'Lowers an importance above what the caller may give (actors.max_importance), also where it changes the text of a '
  'memory that another made important. Definer: agents see no row of actors but their own.';

grant execute on function packets.bounded_importance to l9_agent, l9_admin;

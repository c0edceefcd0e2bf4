-- The trigger function that lowers an importance to what its writer may give. The table packet_store has its triggers.

create function packets.tg_packet_store__bound_importance() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
  if identity.current_creator() is not null then
    new.importance_score := least(
      new.importance_score, (identity.bounds_of(new.tenant_id, identity.current_creator())).max_importance);
  end if;
  return new;
end
$$;

comment on function packets.tg_packet_store__bound_importance is
  'Lowers an importance above what the writer may give (actors.max_importance), also where it changes the text of a '
  'memory that another made important. Definer: agents see no row of actors but their own.';

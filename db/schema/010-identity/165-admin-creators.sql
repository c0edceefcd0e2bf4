-- Tells whether a text was written with an administrator's authority. Rules about whose word counts for what ask this.
create function identity.is_admin_creator(tenant_id uuid, creator text) returns boolean
language sql stable parallel safe security definer set search_path = ''
return exists (
  select from public.actors a
  where a.tenant_id = is_admin_creator.tenant_id and a.creator = is_admin_creator.creator and a.role = 'l9_admin');
comment on function identity.is_admin_creator is 'True if the actor that writes under this creator name is an administrator of '
  'the tenant, active or not. Definer: agents read no row of actors but their own.';
grant execute on function identity.is_admin_creator to l9_worker;

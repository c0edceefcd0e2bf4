-- What rests on memories in tables that callers have no use for, such as who voted on what. Administrators read it for an
-- export of the tenant. A limited one does not: a voice may come from a memory that it can't read.
do $$
declare
  target record;
begin
  for target in
    select * from (values
      ('importance.memory_voices', 'exists (select from public.packet_store p where p.packet_id = memory_voices.packet_id)'),
      ('reflection.attestations',
        'exists (select from public.reflection_store r where r.reflection_id = attestations.reflection_id)'),
      ('extraction.proposals', 'exists (select from public.packet_store p where p.packet_id = proposals.packet_id)')
    ) as t (name, condition)
  loop
    execute format('create policy scope_access on %s for select to l9_admin
      using ((select identity.has_every_scope() and identity.has_every_project()) and %s)', target.name, target.condition);
    execute format('comment on policy scope_access on %s is %L', target.name,
      'Administrators with a whole token export what belongs to the memories that they read.');
    execute format('grant select on %s to l9_admin', target.name);
  end loop;
end $$;

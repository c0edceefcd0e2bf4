-- The hash of the text that a memory had at a time. Triggers and the roll-up job ask for it, because votes, readings
-- and citations count only for the text that they were given for.
create function importance.text_hash_at(packet_id uuid, at timestamptz) returns bytea
language sql stable security definer set search_path = ''
return coalesce(
  (select packets.content_hash(v.content) from public.packet_versions v
   where v.packet_id = text_hash_at.packet_id and v.valid_until > text_hash_at.at order by v.valid_until, v.version_id limit 1),
  (select p.content_hash from public.packet_store p where p.packet_id = text_hash_at.packet_id));
comment on function importance.text_hash_at is 'The content_hash of a memory at a time. Definer: jobs don''t read versions.';
grant execute on function importance.text_hash_at to l9_worker;

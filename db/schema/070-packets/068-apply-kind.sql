-- Applies the rules of a kind to a memory that is written: its fields and locks, content, title, identity, archiving and expiry.
create function packets.own_identity(identity_hash bytea, creator text) returns bytea language sql immutable parallel safe
return sha256(identity_hash || convert_to(creator, 'UTF8'));
comment on function packets.own_identity is 'The identity of a memory that stands beside another writer''s of the same identity.';

create function packets.identity_hash(kind text, tenant_id uuid, envelope jsonb, packet_id uuid, own_creator text) returns bytea
language sql stable parallel safe set search_path = ''
return (
  select case when own_creator is null then i.hash else packets.own_identity(i.hash, own_creator) end
  from (select kinds.rules_of(kind, tenant_id) as rules) r
  cross join (select packets.text_identity(envelope ->> 'content') as text_identity) h
  cross join lateral (
    select case when r.rules is null then h.text_identity
      else kinds.identity_of(r.rules, envelope, packet_id, h.text_identity) end as hash) i);
comment on function packets.identity_hash is 'Hash of a kind''s identity fields, or of the content: what makes two memories the '
  'same. own_creator: the creator of one that stands beside another writer''s; else null.';

create function packets.typed_fields(rules jsonb, envelope jsonb) returns jsonb
language sql immutable parallel safe set search_path = ''
return (
  select stated.fields || jsonb_strip_nulls(jsonb_build_object('content', coalesce(
    kinds.text_of(rules, stated.fields), stated.fields ->> 'content', stated.fields ->> (rules ->> 'title'))))
  from (select coalesce(jsonb_object_agg(e.key, e.value) filter (where e.value <> 'null'), '{}')
    from jsonb_each(envelope) as e) as stated (fields));
comment on function packets.typed_fields is 'The envelope of a memory as its kind stores it: fields that are null are left out, '
  'and the content is made from the others where the kind says so.';

-- Fires before the other triggers of the row, so that they see fields, content and title as the kind stores them.
create function packets.tg_packet_store__apply_kind() returns trigger language plpgsql set search_path = '' as $$
declare
  me identity.identity;
  rules jsonb := kinds.rules_of(new.packet_type, new.tenant_id);
  old_rules jsonb;
  expires timestamptz;
begin
  if new.ttl = 'infinity' and coalesce(rules -> 'expires', 'null') = 'null' then
    new.ttl := null;
  end if;
  if tg_op = 'UPDATE' then
    if new.envelope = old.envelope and new.packet_type = old.packet_type then
      return new;
    end if;
    old_rules := case when new.packet_type = old.packet_type then rules else kinds.rules_of(old.packet_type, old.tenant_id) end;
    if new.packet_type <> old.packet_type and kinds.is_met(nullif(old_rules -> 'locked_when', 'null'), old.envelope) then
      perform kinds.raise_locked(old.packet_type, old_rules, 'kind');
    end if;
  end if;
  -- The trigger that computes the content hash takes it where no kind identifies the memory.
  new.identity_hash := null;
  new.title := null;
  -- A session that was resumed is found by its last archive.
  new.archived_at := case when new.packet_type = 'session' and new.envelope ? 'succeeded_by' then
    case tg_op when 'UPDATE' then coalesce(old.archived_at, now()) else now() end end;
  new.part_of := null;
  if jsonb_typeof(new.envelope) <> 'object' then
    return new;
  elsif rules is not null then
    new.envelope := packets.typed_fields(rules, new.envelope);
  end if;
  if new.envelope ?| packets.attesting_fields() then
    me := identity.current_identity();
    new.envelope := packets.keep_attestations(new.envelope, old.envelope, packets.has_other_writer(old, me)
      and new.envelope -> 'content' is distinct from old.envelope -> 'content', me);
  end if;
  if rules is null then
    return new;
  end if;

  new.envelope := packets.typed_fields(rules, new.envelope);
  perform kinds.check_fields(new.packet_type, rules, new.envelope);
  if tg_op = 'UPDATE' and new.packet_type = old.packet_type then
    perform kinds.check_locked(new.packet_type, rules, old.envelope, new.envelope);
  end if;
  if rules -> 'archived' <> 'null' and rules -> 'identity_ends_when' <> 'null' then
    new.envelope := packets.typed_fields(rules,
      kinds.with_end(rules, new.envelope, case tg_op when 'UPDATE' then old.envelope end));
  end if;
  new.identity_hash := kinds.identity_of(rules, new.envelope, new.packet_id, packets.text_identity(new.envelope ->> 'content'));
  if tg_op = 'INSERT' then
    new.has_own_identity := coalesce((rules ->> 'stands_beside')::boolean, false) and packets.is_held_by_other(new);
  elsif new.packet_type <> old.packet_type then
    new.has_own_identity := false;
  end if;
  if new.has_own_identity then
    new.identity_hash := packets.own_identity(new.identity_hash,
      coalesce(old.metadata ->> 'creator', identity.current_creator()));
  end if;
  new.title := new.envelope ->> (rules ->> 'title');
  new.archived_at := kinds.moment_after(rules, 'archived', new.envelope);
  new.part_of := (new.envelope ->> (rules ->> 'part_of_field'))::uuid;

  expires := kinds.moment_after(rules, 'expires', new.envelope);
  if tg_op = 'INSERT' then
    new.ttl := coalesce(new.ttl, expires);
  elsif new.ttl is not distinct from old.ttl
    and old.ttl is not distinct from kinds.moment_after(old_rules, 'expires', old.envelope) then
    new.ttl := expires; -- A ttl that the writer chose stays.
  end if;
  if new.ttl = expires and expires <= now() then
    perform identity.raise_error('L9VAL',
      format('%s: the %s would have expired on %s already; give it a ttl of its own, or ttl_policy permanent',
        rules -> 'expires' ->> 'from', new.packet_type, to_char(expires at time zone 'UTC', 'YYYY-MM-DD')));
  end if;
  return new;
end $$;
comment on function packets.tg_packet_store__apply_kind is 'Enforces the rules of the kind: checks fields and locks, makes '
  'content, title, identity and expiry. Attestations that the text has lost fall, in any kind.';
grant execute on function packets.own_identity, packets.identity_hash, packets.typed_fields to l9_agent, l9_admin, l9_worker;

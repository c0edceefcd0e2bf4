-- Writes the rows of an import, for import_memories() alone: as l9_owner, without the triggers that stamp a writer or derive
-- rows.

do $$
declare
  target text;
begin
  foreach target in array array['packet_store', 'memory_feedback'] loop
    execute format('create policy definer_imports on public.%I for insert to l9_owner
      with check (tenant_id = (select identity.current_tenant_id()) and (select transfer.is_importing()))', target);
    execute format('comment on policy definer_imports on public.%I is %L', target,
      'An import writes rows of the tenant of the administrator who calls it.');
  end loop;
end $$;

create function transfer.require_importer() returns administration.administrator
language plpgsql stable security definer set search_path = '' as $$
begin
  if (identity.require_admin()).role <> 'l9_admin' then
    perform identity.raise_error('L9SCP', 'only an administrator of the tenant can import');
  end if;
  return administration.require_unlimited(null);
end $$;
comment on function transfer.require_importer is 'The caller, an administrator with every right in its tenant; else raises L9AUT '
  'or L9SCP. Definer: callers can''t execute what it asks.';

create function transfer.skipped_triggers(target text) returns text language sql stable set search_path = ''
return (
  select string_agg('%1$s trigger ' || quote_ident(t.tgname), ', ') from pg_catalog.pg_trigger t
  where t.tgrelid = transfer.relation(target) and not t.tgisinternal
    -- Triggers of inserts and updates.
    and t.tgtype & 20 <> 0 and t.tgenabled <> 'A' and t.tgname !~ '^_500_audit'
    -- Limits and hashes, the guard of secrets, words, values of fields, citations and the queue of embeddings.
    and t.tgname <> all (array['_100_normalise', '_310_audience', '_370_guard_secrets', '_380_words', '_610_index_fields',
      '_640_cite_insert', '_900_enqueue_embedding']::name[]));
comment on function transfer.skipped_triggers is 'The triggers that stamp who writes, check what this writer may do, or derive '
  'rows, '
  'as actions of an alter table.';

create function transfer.switch_triggers(kind transfer.kind, action text) returns void
language plpgsql volatile set search_path = '' as $$
declare
  target text;
begin
  if kind.is_setting then
    return;
  end if;
  foreach target in array array_remove(array[kind.target, kind.parts_table], null) loop
    if transfer.skipped_triggers(target) is not null then
      execute format('alter table %s ', transfer.relation(target)) || format(transfer.skipped_triggers(target), action);
    end if;
  end loop;
end $$;
comment on function transfer.switch_triggers is 'Disables or enables the skipped triggers of the tables of a kind, until this '
  'transaction ends; other writers wait meanwhile.';

-- The columns that stay behind are set here. A setting that a new tenant has already is changed.
create function transfer.insert_rows(target text, columns text[], is_setting boolean, rows jsonb) returns void
language plpgsql volatile set search_path = '' as $$
declare
  names constant text := (select string_agg(quote_ident(c.name), ', ') from unnest(columns) as c (name));
  expressions constant text := (select string_agg('n.' || quote_ident(c.name), ', ') from unnest(columns) as c (name));
  others constant text[] := case target
    when 'packet_store' then array['identity_hash', 'packets.identity_hash(n.packet_type, identity.current_tenant_id(),
      n.envelope, n.packet_id, case when n.has_own_identity then n.metadata ->> ''creator'' end)']
    when 'memory_embeddings' then array['context_id', 'case when n.embedding_type = ''context'' then
      (select c.context_id from public.memory_contexts c where c.packet_id = n.packet_id) end']
    when 'memory_feedback' then array['xid', 'pg_current_xact_id()']
    -- Without a key until store_archive() brings it. No other session is taken for one that nobody can open.
    when 'session_archives' then array['connectors, key_id, fingerprint',
      '''{postgres}'', '''', sha256(uuid_send(uuidv4()))'] end;
begin
  execute format('insert into %s as t (%s%s%s) select %s%s%s from jsonb_populate_recordset(null::%1$s, $1) as n',
    transfer.relation(target), case when transfer.has_tenant(target) then 'tenant_id, ' else '' end, names, ', ' || others[1],
    case when transfer.has_tenant(target) then 'identity.current_tenant_id(), ' else '' end, expressions, ', ' || others[2])
    || case when is_setting then format(' on conflict on constraint %I do update set (%s) = row (%s)
      where t.tenant_id = identity.current_tenant_id()', target || '_pkey', names,
      (select string_agg('excluded.' || quote_ident(c.name), ', ') from unnest(columns) as c (name))) else '' end
  using rows;
end $$;
comment on function transfer.insert_rows is 'Inserts rows of JSON, with these columns, as rows of the caller''s tenant.';

-- An administrator grants no more to an actor than it may grant by register_actor().
create function transfer.check_actors(admin administration.administrator, rows jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
  actor public.actors;
begin
  for actor in
    select n.* from jsonb_populate_recordset(null::public.actors, rows) as n
    union all
    select a.* from public.actors a
    join jsonb_populate_recordset(null::public.actors, rows) as n on n.caller = a.caller
    where a.tenant_id = admin.target_tenant_id
  loop
    if actor.caller = admin.caller then
      perform identity.raise_error('L9SCP', 'caller: this is your own actor; only another administrator can change it');
    end if;
    perform administration.check_grantable(
      admin, actor.role, actor.readable_scopes, actor.writable_scopes, '{*}', actor.can_clean_up);
  end loop;
end $$;
comment on function transfer.check_actors is 'Raises L9SCP for an actor that the administrator could not register or change.';

-- A derived row is read by who may read its memory, so a file can't bring it before others.
create function transfer.check_audience(target text, source text, rows jsonb) returns void
language plpgsql stable set search_path = '' as $$
declare
  is_elsewhere boolean;
begin
  execute format(
    'select exists (select from jsonb_populate_recordset(null::public.%I, $1) as n
      where not exists (select from public.packet_store p where p.packet_id = n.%I and p.tenant_id = identity.current_tenant_id()
        and p.org_id is not distinct from n.org_id and p.user_id is not distinct from n.user_id%s))',
    target, source, case when target <> 'packet_versions' then
      ' and p.scope = n.scope and p.project_id is not distinct from n.project_id' else '' end)
  into is_elsewhere using rows;
  if is_elsewhere then
    perform identity.raise_error('L9VAL', format('%s: must be a memory of the same owner, scope and project', source));
  end if;
end $$;
comment on function transfer.check_audience is 'Raises L9VAL for a row that belongs to others than the memory on which it rests.';

create function transfer.has_any(kind transfer.kind, rows jsonb) returns boolean
language plpgsql stable set search_path = '' as $$
declare
  found_one boolean;
begin
  execute format('select exists (select from %s t join jsonb_populate_recordset(null::%1$s, $1) as n on %s
      where t.tenant_id = identity.current_tenant_id())', transfer.relation(kind.target),
    (select string_agg(case k.name when 'tenant_id' then 'true' else format('t.%I = n.%1$I', k.name) end, ' and ')
      from unnest(kind.key) as k (name)))
  into found_one using rows;
  return found_one;
end $$;
comment on function transfer.has_any is 'True if the tenant has one of these rows, whatever else it says.';

-- What an administrator could not have done by a call, and rows that belong to other readers than what they rest on.
create function transfer.check_rows(kind transfer.kind, admin administration.administrator, rows jsonb) returns void
language plpgsql stable set search_path = '' as $$
begin
  if kind.kind = 'actor' then
    perform transfer.check_actors(admin, rows);
  elsif kind.target = 'packet_store' and exists (
    select from public.memory_tombstones d
    join jsonb_populate_recordset(null::public.packet_store, rows) as n using (packet_id)) then
    perform identity.raise_error('L9VAL', 'packet_id: this memory was erased here');
  elsif exists (
    select from jsonb_array_elements(rows) as r (n), jsonb_to_record(r.n) as k (created_at timestamptz, updated_at timestamptz)
    where greatest(k.created_at, k.updated_at) > now() + packets.max_time_ahead()) then
    perform identity.raise_error('L9VAL', 'created_at: lies in the future');
  end if;
  if kind.is_setting and exists (select from public.packet_store p where p.tenant_id = admin.target_tenant_id) then
    if transfer.has_any(kind, rows) then
      perform identity.raise_error('L9VAL',
        format('%s: differs from what is here, and there are memories here already', kind.kind));
    end if;
  elsif kind.source is not null and 'org_id' = any (transfer.columns_of(kind)) and kind.target <> 'memory_feedback' then
    perform transfer.check_audience(kind.target, kind.source, rows);
  end if;
  if kind.target = 'transfer.imported_audit_log' then
    perform transfer.check_audit_rows(rows);
  elsif kind.target = 'transfer.imported_audit_seals' then
    perform transfer.check_audit_seals(rows);
  end if;
  if kind.parts_table like '%evidence' then
    perform transfer.check_audience(kind.parts_table, 'packet_id',
      (select jsonb_agg(e) from jsonb_array_elements(rows) as r (n), jsonb_array_elements(r.n -> kind.parts) as e));
  end if;
end $$;
comment on function transfer.check_rows is 'Raises L9VAL or L9SCP for rows that the administrator may not bring here.';

-- No number of a version is used twice, also where what had it was left out.
create function transfer.raise_versions(target text, rows jsonb) returns void
language plpgsql volatile set search_path = '' as $$
declare
  world record;
begin
  for world in
    select packets.audience_id(identity.current_tenant_id(), w.org_id, w.user_id, w.project_id, w.scope) as audience_id,
      max(coalesce(w.state_version_after, w.state_version)) as version
    from jsonb_to_recordset(rows) as w (org_id uuid, user_id uuid, project_id text, scope text, state_version integer,
      state_version_after integer)
    group by 1 order by 1
  loop
    perform world_model.lock_world(world.audience_id);
    update world_model.worlds w set state_version = world.version
    where w.audience_id = world.audience_id and w.state_version < world.version;
  end loop;
end $$;
comment on function transfer.raise_versions is 'Raises the versions of worlds to those of these updates or snapshots.';

create function transfer.recompute_worlds(rows jsonb) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  world uuid;
begin
  perform transfer.require_importer();
  for world in
    select distinct packets.audience_id(identity.current_tenant_id(), e.org_id, e.user_id, e.project_id, e.scope) as id
    from jsonb_to_recordset(rows) as e (org_id uuid, user_id uuid, project_id text, scope text) order by id
  loop
    perform world_model.recompute_world(world, false);
  end loop;
end $$;
comment on function transfer.recompute_worlds is 'Computes the worlds of these entities again, so that nothing in them comes '
  'from an update that was left out. Definer: callers can''t write these tables.';

-- Columns are named one by one, so that those which stay behind are set by triggers and defaults, or right here.
create function transfer.write_rows(kind transfer.kind, rows jsonb) returns void
language plpgsql volatile set search_path = '' as $$
begin
  if kind.kind = 'succession' then
    update public.knowledge_facts f set superseded_by = n.superseded_by
    from jsonb_populate_recordset(null::public.knowledge_facts, rows) as n
    where f.fact_id = n.fact_id and f.tenant_id = identity.current_tenant_id() and f.superseded_by is null;
    return;
  end if;
  -- A fact and its evidence name each other.
  set constraints all deferred;
  -- A later version may have columns that the file does not know: they take their defaults.
  perform transfer.insert_rows(kind.target,
    array(select c.name from unnest(transfer.columns_of(kind)) as c (name) where rows -> 0 ? c.name), kind.is_setting, rows);
  if kind.parts is not null then
    perform transfer.insert_rows(kind.parts_table,
      array(select c.name from unnest(transfer.part_columns_of(kind)) as c (name) where p.parts -> 0 ? c.name), false, p.parts)
    from (
      select jsonb_agg(e) as parts
      from jsonb_array_elements(rows) as r (n), jsonb_array_elements(r.n -> kind.parts) as e) p
    where p.parts is not null;
  end if;
  if kind.kind = 'vector' then
    -- A long text stays in the queue, whose job counts its chunks.
    delete from embeddings.pending_embeddings q
    using jsonb_populate_recordset(null::public.memory_embeddings, rows) as n, public.packet_store p
    where q.packet_id = n.packet_id and q.model = n.model and p.packet_id = n.packet_id
      and octet_length(p.envelope ->> 'content') <= 1000;
  end if;
  if kind.kind in ('world_update', 'world_snapshot') then
    perform transfer.raise_versions(kind.target, rows);
  elsif kind.kind = 'version' then
    -- A citation counts for the text that was cited, which only the versions tell.
    update importance.memory_citations c set content_hash = importance.text_hash_at(c.packet_id, m.created_at)
    from public.packet_store m
    where m.packet_id = c.cited_by
      and c.packet_id in (select (r.n ->> 'packet_id')::uuid from jsonb_array_elements(rows) as r (n))
      and c.content_hash is distinct from importance.text_hash_at(c.packet_id, m.created_at);
  end if;
  set constraints all immediate;
end $$;
comment on function transfer.write_rows is 'Inserts rows of a kind with their parts.';

create function transfer.store_rows(kind text, rows jsonb) returns void
language plpgsql volatile security definer set search_path = '' set timezone = 'UTC' set lock_timeout = '5s' as $$
declare
  admin constant administration.administrator := transfer.require_importer();
  this constant transfer.kind := transfer.kind_named(store_rows.kind);
begin
  perform transfer.check_rows(this, admin, rows);
  insert into transfer.imports_under_way (importing_tenant) values (admin.target_tenant_id);
  perform transfer.switch_triggers(this, 'disable');
  perform transfer.write_rows(this, rows);
  perform transfer.switch_triggers(this, 'enable');
  delete from transfer.imports_under_way i where i.importing_tenant = admin.target_tenant_id;
  perform audit.write_audit('IMPORT', this.target,
    details => jsonb_build_object('kind', this.kind, 'rows', jsonb_array_length(rows)));
end $$;
comment on function transfer.store_rows is 'Writes rows of a kind as they are, in the tenant of the administrator who calls, and '
  'audits them as an import. Definer: nobody else may write ids, times and writers.';
grant execute on function transfer.require_importer, transfer.store_rows, transfer.recompute_worlds to l9_admin;

-- What an import would do. l9-memory migrate-legacy calls it for a dry run.

create type legacy_import.legacy_outcome as (
  source_id text,
  outcome text,
  packet_id uuid,
  duplicate_key text,
  has_vector boolean
);

comment on type legacy_import.legacy_outcome is
  'What became of an old row: moved or merged with the resulting memory and whether its vector was imported, or the '
  'reason why it was not imported.';

create function legacy_import.preview_legacy(source text, source_table text, tenant_id uuid, records jsonb)
returns setof legacy_import.legacy_outcome
language sql stable set search_path = ''
as $$
  select j.source_id,
    case
      when j.reason is not null then j.reason
      when j.existing_id is not null or j.first_place < j.place then 'merged'
      else 'moved'
    end,
    case when j.reason is null then coalesce(j.existing_id, j.first_packet_id) end,
    j.duplicate_key,
    false
  from legacy_import.classify_legacy_row(source, source_table, tenant_id, records) j
  order by j.place
$$;

comment on function legacy_import.preview_legacy is 'What import_legacy() would do; changes nothing.';

-- The limits of a memory, each in one place. No search_path is set, so that calls are inlined as constants.

create function packets.max_content_bytes() returns integer language sql immutable parallel safe return 1048576;
create function packets.max_envelope_bytes() returns integer language sql immutable parallel safe return 262144;
create function packets.max_metadata_bytes() returns integer language sql immutable parallel safe return 65536;
create function packets.max_reference_bytes() returns integer language sql immutable parallel safe return 200;
create function packets.max_tags() returns integer language sql immutable parallel safe return 64;
create function packets.max_parents() returns integer language sql immutable parallel safe return 64;
create function packets.max_reason_bytes() returns integer language sql immutable parallel safe return 1000;
create function packets.kind_pattern() returns text language sql immutable parallel safe return '^[a-z][a-z0-9_]{0,62}$';
create function packets.max_time_ahead() returns interval language sql immutable parallel safe return interval '5 minutes';
comment on function packets.max_content_bytes is 'The maximum size of a content: 1 MiB.';
comment on function packets.max_envelope_bytes is 'The maximum size of the envelope without its content: 256 KiB.';
comment on function packets.max_metadata_bytes is 'The maximum size of metadata, routing and provenance, each: 64 KiB.';
comment on function packets.max_reference_bytes is 'The maximum size of a thread, correlation, session or trace id, and of a '
  'tag.';
comment on function packets.max_tags is 'The maximum number of tags.';
comment on function packets.max_parents is 'The maximum number of parents.';
comment on function packets.max_reason_bytes is 'The maximum size of the reason of a review: 1000 bytes.';
comment on function packets.max_time_ahead is 'How far the event time of a memory may lie after the time of saving: 5 minutes.';
comment on function packets.kind_pattern is 'The pattern of the name of a kind: a lower-case word of letters, digits and _, at '
  'most 63 characters.';
grant execute on function packets.max_content_bytes, packets.max_envelope_bytes, packets.max_metadata_bytes,
  packets.max_reference_bytes, packets.max_tags, packets.max_parents, packets.max_time_ahead, packets.max_reason_bytes,
  packets.kind_pattern to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create schema ranking;
comment on schema ranking is
  'Ranking by words: the statistics of what a caller may read, and the scan of the index of words. Not exposed over GraphQL.';
grant usage on schema ranking to l9_agent, l9_admin, l9_platform_admin, l9_worker, l9_searcher;

-- What the functions of l9_searcher call, and what the policies call for them.
grant usage on schema public, identity, packets, words to l9_searcher;
grant execute on function identity.current_identity, identity.current_role_name, identity.current_tenant_id,
  identity.current_org_id, identity.current_user_id, identity.current_scopes, identity.current_projects,
  identity.has_every_project, identity.allow_and_audit_operator_read, packets.is_embedded_engine, packets.bucket_mask,
  packets.tenant_bucket, packets.tenant_buckets, packets.in_bucket, words.index_token, words.index_text to l9_searcher;

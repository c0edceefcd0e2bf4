-- Functions of earlier chapters that l9_searcher may execute: its own functions call them, and so do the policies.
grant execute on function identity.current_identity, identity.current_role_name, identity.current_tenant_id,
  identity.current_org_id, identity.current_user_id, identity.current_scopes, identity.current_projects,
  identity.has_every_project, identity.claim, identity.list_claim, identity.current_creator,
  identity.allow_and_audit_operator_read, packets.is_embedded_engine,
  packets.bucket_mask, packets.tenant_bucket, packets.tenant_buckets, packets.in_bucket, words.index_token, words.index_text to
  l9_searcher;

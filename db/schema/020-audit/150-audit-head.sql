-- The newest seal, which admins store outside the database, so that a later verify_audit() can compare it.
create type public.audit_head as (hash text, sealed_at timestamptz, seal_id bigint);
call identity.describe('public.audit_head', 'The newest seal.
  hash: Hash of the seal, in hexadecimal.
  sealed_at: When the seal was made.
  seal_id: Number of the seal. Seals have no gaps, so it is how many there are.');

create function public.audit_head() returns public.audit_head language plpgsql stable security definer set search_path = '' as $$
declare
  newest public.audit_head;
begin
  perform audit.require_auditor('audit_head');
  select encode(s.seal_hash, 'hex'), s.sealed_at, s.seal_id into newest from public.audit_seals s order by s.seal_id desc limit 1;
  return newest;
end $$;
comment on function public.audit_head is 'The newest seal of the chain. Store its hash outside the database: with it, '
  'verify_audit() can prove later that no earlier row was removed. Definer: admins of a tenant cannot read audit_seals.';
grant execute on function public.audit_head to l9_admin, l9_platform_admin;

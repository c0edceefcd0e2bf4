-- Administrators say here which saves wait for a reviewer, over GraphQL and psql.

create function review.check_rule(rule public.review_rules) returns void
language plpgsql stable set search_path = '' as $$
begin
  perform identity.check_bytes(rule.caller, packets.max_reference_bytes(), 'caller'),
    identity.check_bytes(rule.scope, packets.max_reference_bytes(), 'scope'),
    identity.check_bytes(rule.project_id, packets.max_reference_bytes(), 'project_id'),
    identity.check_bytes(rule.source, packets.max_reference_bytes(), 'source');
  if rule.needs_review is null then
    perform identity.raise_error('L9VAL', 'needs_review: must be true or false');
  elsif cardinality(rule.kinds) > 64 then
    perform identity.raise_error('L9LIM', format('kinds: at most 64, got %s', cardinality(rule.kinds)));
  elsif exists (select from unnest(rule.kinds) as k (kind) where (k.kind ~ packets.kind_pattern()) is not true) then
    perform identity.raise_error('L9VAL',
      'kinds: each must be a lower-case word of letters, digits and _, at most 63 characters');
  elsif rule.scope is not null and not exists (
    select from public.scopes s where s.tenant_id = rule.tenant_id and s.scope = rule.scope) then
    perform identity.raise_error('L9VAL', 'scope: no such scope');
  elsif rule.caller is not null and rule.caller <> 'job' and not exists (
    select from public.actors a where a.tenant_id = rule.tenant_id and a.caller = rule.caller) then
    perform identity.raise_error('L9VAL', 'caller: no such caller');
  elsif not identity.is_project_id(rule.project_id) then
    perform identity.raise_error('L9VAL', 'project_id: must be 1 to 200 letters, digits or ._/@:+-');
  end if;
end $$;
comment on function review.check_rule is 'Raises L9VAL or L9LIM, naming the field, for a rule that nothing could meet.';

create function review.write_rule(rule public.review_rules) returns public.review_rules
language plpgsql volatile set search_path = '' as $$
declare
  saved public.review_rules;
begin
  perform review.check_rule(rule);
  insert into public.review_rules as r (tenant_id, caller, scope, project_id, kinds, source, needs_review, updated_at)
  values (rule.tenant_id, rule.caller, rule.scope, rule.project_id,
    (select array_agg(distinct k.kind order by k.kind) from unnest(rule.kinds) as k (kind)),
    rule.source, rule.needs_review, clock_timestamp())
  on conflict on constraint review_rule_once do update
  set needs_review = excluded.needs_review, updated_at = excluded.updated_at
  returning r.* into saved;
  return saved;
end $$;
comment on function review.write_rule is 'Writes a rule, or changes the one with the same conditions. Not executable by callers.';

create function review.remove_rule(rule public.review_rules) returns void
language plpgsql volatile set search_path = '' as $$
begin
  delete from public.review_rules r where r.rule_id = rule.rule_id;
  perform audit.write_audit_of_tenant(rule.tenant_id, 'DELETE', 'review_rules', rule.rule_id,
    details => jsonb_build_object('row', jsonb_strip_nulls(to_jsonb(rule) - '{updated_at,specificity}'::text[])));
end $$;
comment on function review.remove_rule is 'Deletes a rule, audited. Not executable by callers.';

create function public.set_review_rule(needs_review boolean, caller text default null, scope text default null,
  project_id text default null, kinds text[] default null, source text default null, tenant_id uuid default null)
returns public.review_rules
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_administrator(set_review_rule.tenant_id);
  rule public.review_rules;
begin
  perform administration.require_whole_token(admin);
  rule.tenant_id := admin.target_tenant_id;
  rule.needs_review := set_review_rule.needs_review;
  rule.caller := identity.given_text(set_review_rule.caller);
  rule.scope := identity.given_text(set_review_rule.scope);
  rule.project_id := identity.given_text(set_review_rule.project_id);
  rule.kinds := nullif(set_review_rule.kinds, '{}');
  rule.source := identity.given_text(set_review_rule.source);
  return review.write_rule(rule);
end $$;
comment on function public.set_review_rule is 'Says whether saves that meet all given conditions wait for a reviewer, from the '
  'next save on. Of several rules that a save meets decides the one with the most conditions; of as many, the one that names a '
  'caller, else a scope, a project, kinds, a source. For admins with a whole token. Audited. Errors: L9VAL, L9LIM, L9SCP, L9AUT. '
  'Definer: only functions write rules.';

create function public.delete_review_rule(rule_id uuid, tenant_id uuid default null) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_administrator(delete_review_rule.tenant_id);
  rule public.review_rules;
begin
  perform administration.require_whole_token(admin);
  select r.* into rule from public.review_rules r
  where r.rule_id = delete_review_rule.rule_id and r.tenant_id = admin.target_tenant_id for update;
  if not found then
    return false;
  end if;
  perform review.remove_rule(rule);
  return true;
end $$;
comment on function public.delete_review_rule is 'Deletes a rule of review_rules. True if there was one. What is pending stays '
  'pending. For admins with a whole token. Audited. Errors: L9SCP, L9AUT. Definer: only functions write rules.';

-- One rule for each of the two kinds, which nothing else of the rules' conditions narrows.
create function public.set_generated_review(extraction boolean default null, reflection boolean default null,
  tenant_id uuid default null) returns public.review_rules[]
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_administrator(set_generated_review.tenant_id);
  switched record;
  rule public.review_rules;
begin
  perform administration.require_whole_token(admin);
  for switched in
    select * from (values ('extraction', set_generated_review.extraction), ('reflection', set_generated_review.reflection))
      as s (kind, is_on) where s.is_on is not null
  loop
    rule := null;
    select r.* into rule from public.review_rules r
    where r.tenant_id = admin.target_tenant_id and r.kinds = array[switched.kind]
      and num_nonnulls(r.caller, r.scope, r.project_id, r.source) = 0 for update;
    if switched.is_on then
      rule.tenant_id := admin.target_tenant_id;
      rule.kinds := array[switched.kind];
      rule.needs_review := true;
      perform review.write_rule(rule);
    elsif rule.rule_id is not null then
      perform review.remove_rule(rule);
    end if;
  end loop;
  return array(
    select r from public.review_rules r
    where r.tenant_id = admin.target_tenant_id and r.kinds in ('{extraction}', '{reflection}')
      and num_nonnulls(r.caller, r.scope, r.project_id, r.source) = 0
    order by r.kinds);
end $$;
comment on function public.set_generated_review is 'Says whether what a chat model extracts from memories (extraction) and the '
  'lessons of agents (reflection) wait for a reviewer, and returns the rules that say so. Null leaves it as it is. For admins '
  'with a whole token. Audited. Errors: L9SCP, L9AUT. Definer: only functions write rules.';
grant execute on function public.set_review_rule, public.delete_review_rule, public.set_generated_review to l9_admin,
  l9_platform_admin;

create trigger _500_audit after insert or update on public.review_rules
  for each row execute function administration.tg__audit_identity(
    'rule_id', 'caller', 'scope', 'project_id', 'kinds', 'source', 'needs_review');
create trigger _500_audit after insert or update on public.review_settings
  for each row execute function administration.tg__audit_identity('', 'rejected_again');

create function public.set_review_settings(rejected_again text, tenant_id uuid default null) returns public.review_settings
language plpgsql volatile security definer set search_path = '' as $$
declare
  admin administration.administrator := administration.require_administrator(set_review_settings.tenant_id);
  saved public.review_settings;
begin
  perform administration.require_whole_token(admin);
  if (set_review_settings.rejected_again in ('refuse', 'hold')) is not true then
    perform identity.raise_error('L9VAL', 'rejected_again: must be refuse or hold');
  end if;
  insert into public.review_settings as s (tenant_id, rejected_again)
  values (admin.target_tenant_id, set_review_settings.rejected_again)
  on conflict on constraint review_settings_pkey do update
  set rejected_again = excluded.rejected_again, updated_at = clock_timestamp()
  returning s.* into saved;
  return saved;
end $$;
comment on function public.set_review_settings is 'Says what becomes of a text that a reviewer rejected and its creator saves '
  'again: refuse raises L9VAL, hold keeps it as rejected, too, without asking a reviewer. For admins with a whole token. '
  'Audited. Errors: L9VAL, L9SCP, L9AUT. Definer: only this function writes the settings.';
grant execute on function public.set_review_settings to l9_admin, l9_platform_admin;

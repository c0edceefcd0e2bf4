-- Which saves wait for a reviewer: rows that administrators write with set_review_rule(), and the function that looks up the one
-- that decides. The trigger of packet_store that reviews calls needs_review().

create table public.review_rules (
  rule_id uuid primary key default uuidv7(),
  tenant_id uuid not null references public.tenants,
  caller text,
  scope text,
  project_id text,
  kinds text[],
  source text,
  needs_review boolean not null,
  updated_at timestamptz not null default now(),
  -- How many conditions it states, and which: caller before scope before project_id before kinds before source.
  specificity integer not null generated always as (
    32 * num_nonnulls(caller, scope, project_id, kinds, source) + 16 * num_nonnulls(caller) + 8 * num_nonnulls(scope)
      + 4 * num_nonnulls(project_id) + 2 * num_nonnulls(kinds) + num_nonnulls(source)) stored,
  constraint review_rule_once unique nulls not distinct (tenant_id, caller, scope, project_id, kinds, source),
  constraint review_rule_kinds_plain check (
    cardinality(kinds) between 1 and 64 and array_position(kinds, null) is null
    and array_to_string(kinds, ' ') ~ '^[a-z][a-z0-9_]*( [a-z][a-z0-9_]*)*$'),
  constraint review_rule_names_at_most_200_bytes check (
    greatest(octet_length(caller), octet_length(scope), octet_length(project_id), octet_length(source)) <= 200)
);
call identity.describe('public.review_rules', 'Which saves need a review. Of the rules that a save meets decides the one with the
    most conditions; of as many, the one that names a caller, else a scope, a project, kinds, a source; else the one that was
    changed last. Without a rule nothing needs a review. set_review_rule() and delete_review_rule() write this table.
  rule_id: UUID version 7.
  tenant_id: The tenant whose saves the rule is about.
  caller: The caller that saves, such as C; job for background jobs; null: any.
  scope: The scope of the memory; null: any.
  project_id: The project of the memory; null: any, and none.
  kinds: The kinds of the memory, sorted; null: any.
  source: The source that is stamped on the memory, such as cursor-ide; null: any.
  needs_review: True: what meets the rule waits for a reviewer. False: it counts at once.
  updated_at: When the rule was made or last changed.
  specificity: The rank of the rule by its conditions: the highest of those that a save meets decides.');

call identity.protect_tenant_rows('public.review_rules', readers => 'Administrators read the rules of their tenant.',
  writers => 'A trigger of packet_store reads the rules; set_review_rule() and delete_review_rule() write them.');
grant select on public.review_rules to l9_admin, l9_platform_admin;
-- Agents have no grant: a rule could name a scope or a caller that is hidden from them.

-- The function has no search_path, so that PostgreSQL can inline it: every save calls it. A caller that sets the parameter by
-- hand only has more of its own saves reviewed.
create function packets.extracting_model() returns text language sql stable parallel safe
return nullif(current_setting('l9.extracting_model', true), '');
comment on function packets.extracting_model is 'The chat model that drafted what this transaction saves now; null if none did.';
grant execute on function packets.extracting_model to l9_agent, l9_admin, l9_platform_admin, l9_worker;

create function packets.needs_review(
  tenant_id uuid, caller text, scope text, project_id text, kind text, source text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return coalesce((
    select r.needs_review from public.review_rules r
    where r.tenant_id = needs_review.tenant_id
      and (r.caller is null or r.caller = needs_review.caller)
      and (r.scope is null or r.scope = needs_review.scope)
      and (r.project_id is null or r.project_id = needs_review.project_id)
      and (r.kinds is null or needs_review.kind = any (r.kinds))
      and (r.source is null or r.source = needs_review.source)
    order by r.specificity desc, r.updated_at desc, r.rule_id desc limit 1), false)
    or case when needs_review.kind <> 'extraction' and packets.extracting_model() is not null then
      packets.needs_review(needs_review.tenant_id, 'job', needs_review.scope, needs_review.project_id, 'extraction', 'l9-memory')
    else false end;
end $$;
comment on function packets.needs_review is 'True if a memory of this scope, project and kind waits for a reviewer when this '
  'caller with this source saves it, or if a chat model drafted it and what models extract there waits. Definer: callers '
  'can''t read the rules.';

-- What a tenant does with a text that it has rejected before.
create table public.review_settings (
  tenant_id uuid primary key references public.tenants,
  rejected_again text not null default 'refuse',
  updated_at timestamptz not null default now(),
  constraint review_rejected_again_known check (rejected_again in ('refuse', 'hold'))
);
call identity.describe('public.review_settings', 'How a tenant reviews. Only a tenant that changed the default has a row.
    set_review_settings() writes it.
  tenant_id: The tenant.
  rejected_again: What a save does with a text of the same creator that was rejected and has not expired: refuse (the default)
    raises L9VAL, hold keeps it as rejected too, without asking a reviewer.
  updated_at: When the settings were last changed.');
call identity.protect_tenant_rows('public.review_settings',
  readers => 'Every caller may read what becomes of a text that was rejected before.',
  writers => 'A trigger of packet_store reads the settings; set_review_settings() writes them.');
grant select on public.review_settings to l9_agent, l9_admin, l9_platform_admin;
-- Nobody has an insert, update or delete privilege: set_review_settings() checks the values, and a trigger audits them.

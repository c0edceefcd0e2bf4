-- The formats of providers' tokens: one row each, from which the built-in patterns for tokens are made. A provider is added or
-- corrected here.
create function secrets.literal(keyword text) returns text language sql immutable parallel safe set search_path = ''
return pg_catalog.regexp_replace(keyword, '[^A-Za-z0-9_-]', '\\\&', 'g');
comment on function secrets.literal is 'A regular expression that matches exactly this text.';

create type secrets.token_format as (
  pattern text, provider text, starts text[], body text, markers text[], verification text, source text);
call identity.describe('secrets.token_format', 'The format of a provider''s tokens.
  pattern: The name of the pattern that finds it. Several formats may share one.
  provider: What it is a token of.
  starts: How it may begin; empty if every character is random.
  body: What follows: {alphabet length}, {alphabet shortest-longest} or {alphabet shortest+}, and the characters between them. The
    alphabets are those of alphabet().
  markers: Texts, one of which stands in every token; null if these are the starts, empty if they are too short to look for.
  verification: What a match must pass besides, as in secret_patterns; null if it must only be no placeholder. crc32: its last six
    characters are a checksum, which proves it.
  source: Where the format is described.');

-- Grouped by what the tokens are for. The columns of each row are those of the type token_format.
create function secrets.token_formats() returns setof secrets.token_format
language sql immutable parallel safe set search_path = ''
begin atomic
  values
    -- Code, packages and builds.
    ('github-token', 'GitHub', '{ghp_,gho_,ghu_,ghs_,ghr_}'::text[], '{base62 36+}', null::text[], 'crc32',
      'GitHub, token formats'),
    ('github-token', 'GitHub, fine-grained', '{github_pat_}', '{word 40+}', null, null, 'GitHub, token formats'),
    ('gitlab-token', 'GitLab', '{glpat-,gldt-,glrt-,glcbt-,glptt-,glft-,glimt-,glagent-,glsoat-,gloas-,glffct-,glwt-,GR1348941}',
      '{url64. 20+}', null, null, 'GitLab, token prefixes'),
    ('bitbucket-token', 'Bitbucket', '{ATBB,ATCTT3xFfG}', '{url64= 32+}', null, 'random token', 'Atlassian, app passwords'),
    ('atlassian-token', 'Atlassian', '{ATATT3,ATCTT3}', '{url64=. 40+}', null, null, 'Atlassian, API tokens'),
    ('npm-token', 'npm', '{npm_}', '{base62 36}', null, 'crc32', 'npm, access tokens'),
    ('pypi-token', 'PyPI', '{pypi-AgE}', '{url64 40+}', null, null, 'PyPI, API tokens'),
    ('rubygems-token', 'RubyGems', '{rubygems_}', '{hex 48}', null, null, 'RubyGems, API keys'),
    ('crates-token', 'crates.io', '{cio}', '{base62 32}', null, 'random token', 'crates.io, API tokens'),
    ('nuget-key', 'NuGet', '{oy2}', '{base36 43}', null, 'random token', 'NuGet, API keys'),
    ('artifactory-key', 'JFrog Artifactory, reference tokens', '{cmVmdGtuO}', '{base62 54+}', null, null, 'JFrog, access tokens'),
    ('artifactory-key', 'JFrog Artifactory', '{AKCp}', '{base62 69+}', null, 'random token', 'JFrog, API keys'),
    ('docker-token', 'Docker Hub', '{dckr_pat_,dckr_oat_}', '{url64 24+}', null, null, 'Docker, access tokens'),
    ('circleci-token', 'CircleCI', '{CCIPAT_,CCIPRJ_}', '{base62 22}_{hex 40}', null, null, 'CircleCI, API tokens'),
    ('buildkite-token', 'Buildkite', '{bkua_}', '{hex 40}', null, null, 'Buildkite, API access tokens'),
    ('sonar-token', 'SonarQube', '{squ_,sqp_,sqa_}', '{hex 40}', null, null, 'SonarQube, tokens'),
    ('clojars-token', 'Clojars', '{CLOJARS_}', '{base36 60}', null, null, 'Clojars, deploy tokens'),
    ('octopus-key', 'Octopus Deploy', '{API-}', '{upper36 26}', null, 'random token', 'Octopus Deploy, API keys'),
    ('snyk-token', 'Snyk', '{snyk_uat.,snyk_sat.}', '{url64. 32+}', null, null, 'Snyk, API tokens'),
    ('sourcegraph-token', 'Sourcegraph', '{sgp_,sgp_local_}', '{hex 16}_{hex 40}', null, null, 'Sourcegraph, access tokens'),
    ('sourcegraph-token', 'Sourcegraph, older', '{sgp_}', '{hex 40}', null, null, 'Sourcegraph, access tokens'),
    -- Clouds and hosting.
    ('aws-access-key-id', 'AWS', '{AKIA,ASIA,ABIA,ACCA}', '{base32 16}', null, null, 'AWS IAM, unique identifiers'),
    ('aws-bedrock-key', 'Amazon Bedrock', '{ABSK}', '{base64= 100+}', null, null, 'Amazon Bedrock, API keys'),
    ('aws-bedrock-key', 'Amazon Bedrock, short-lived', '{bedrock-api-key-}', '{base64= 40+}', null, null,
      'Amazon Bedrock, API keys'),
    ('google-api-key', 'Google', '{AIza}', '{url64 35+}', null, null, 'Google Cloud, API keys'),
    ('google-oauth', 'Google, client secrets', '{GOCSPX-}', '{url64 24+}', null, null, 'Google Cloud, authentication'),
    ('google-oauth', 'Google, access tokens', '{ya29.}', '{url64 20+}', null, null, 'Google Cloud, authentication'),
    ('google-oauth', 'Google, refresh tokens', '{1//0}', '{url64 40+}', null, null, 'Google Cloud, authentication'),
    ('azure-client-secret', 'Microsoft Entra', '{}', '{url64~. 3}7Q~{url64~. 31-34}', '{7Q~}', null,
      'Microsoft Entra, credentials'),
    ('azure-client-secret', 'Microsoft Entra', '{}', '{url64~. 3}8Q~{url64~. 31-34}', '{8Q~}', null,
      'Microsoft Entra, credentials'),
    ('azure-key', 'Azure Storage', '{}', '{base64 76}+ASt{base64 6}==', '{+ASt}', null, 'Microsoft, identifiable secrets'),
    ('azure-key', 'Azure Batch', '{}', '{base64 76}+ABa{base64 6}==', '{+ABa}', null, 'Microsoft, identifiable secrets'),
    ('azure-key', 'Azure Cosmos DB', '{}', '{base64 76}ACDb{base64 6}==', '{ACDb}', null, 'Microsoft, identifiable secrets'),
    ('azure-key', 'Azure API Management', '{}', '{base64 76}APIM{base64 6}==', '{APIM}', null, 'Microsoft, identifiable secrets'),
    ('azure-key', 'Azure DevOps', '{}', '{base62 76}AZDO{base62 4}', '{AZDO}', null, 'Microsoft, identifiable secrets'),
    ('alibaba-key-id', 'Alibaba Cloud', '{LTAI}', '{base62 16-20}', null, 'random token', 'Alibaba Cloud, access keys'),
    ('digitalocean-token', 'DigitalOcean', '{dop_v1_,doo_v1_,dor_v1_}', '{hex 64}', null, null, 'DigitalOcean, tokens'),
    ('cloudflare-token', 'Cloudflare, origin CA', '{v1.0-}', '{hex 24}-{hex 146}', null, null, 'Cloudflare, origin CA keys'),
    ('cloudflare-token', 'Cloudflare', '{cfut_,cfat_,cfk_}', '{base62 40+}', null, null, 'Cloudflare, API tokens'),
    ('fly-token', 'Fly', '{fm1_,fm2_,fm1r_,fm1a_,fo1_}', '{base64url= 40+}', null, null, 'Fly, access tokens'),
    ('vercel-token', 'Vercel', '{vcp_,vci_,vca_,vcr_,vck_}', '{url64 24+}', null, 'crc32', 'Vercel, tokens'),
    ('netlify-token', 'Netlify', '{nfp_,nfc_,nfo_,nfu_,nfb_}', '{base62 36}', null, null, 'Netlify, access tokens'),
    ('render-key', 'Render', '{rnd_}', '{base62 28+}', null, 'random token', 'Render, API keys'),
    ('heroku-token', 'Heroku', '{HRKU-}', '{url64 36+}', null, null, 'Heroku, authentication'),
    ('deno-token', 'Deno', '{ddp_,ddw_,ddo_}', '{base62 36}', null, null, 'Deno Deploy, access tokens'),
    ('scalingo-token', 'Scalingo', '{tk-us-}', '{url64 48}', null, 'random token', 'Scalingo, API tokens'),
    ('openshift-token', 'OpenShift', '{sha256~}', '{url64 43}', null, null, 'OpenShift, OAuth access tokens'),
    ('supabase-key', 'Supabase, access tokens', '{sbp_}', '{hex 40}', null, null, 'Supabase, API keys'),
    ('supabase-key', 'Supabase, secret keys', '{sb_secret_}', '{url64 20+}', null, null, 'Supabase, API keys'),
    ('neon-key', 'Neon', '{napi_}', '{base36 40+}', null, null, 'Neon, API keys'),
    ('planetscale-token', 'PlanetScale', '{pscale_tkn_,pscale_pw_,pscale_oauth_}', '{url64. 32+}', null, null,
      'PlanetScale, passwords'),
    ('aiven-password', 'Aiven', '{AVNS_}', '{url64 19+}', null, null, 'Aiven, service users'),
    ('mongodb-atlas-secret', 'MongoDB Atlas', '{mdb_sa_sk_}', '{url64 40+}', null, null, 'MongoDB Atlas, service accounts'),
    ('clickhouse-key', 'ClickHouse Cloud', '{4b1d}', '{base62 38}', null, 'random token', 'ClickHouse Cloud, API keys'),
    ('confluent-secret', 'Confluent Cloud', '{cflt}', '{base64 60}', null, 'random token', 'Confluent Cloud, API keys'),
    ('databricks-token', 'Databricks', '{dapi,dose}', '{hex 32}', null, null, 'Databricks, personal access tokens'),
    -- Keepers of secrets, networks and deployments.
    ('vault-token', 'HashiCorp Vault', '{hvs.,hvb.,hvr.}', '{url64 24+}', null, null, 'Vault, tokens'),
    ('terraform-token', 'HCP Terraform', '{}', '{base62 14}.atlasv1.{url64= 60+}', '{.atlasv1.}', null,
      'HCP Terraform, API tokens'),
    ('doppler-token', 'Doppler', '{dp.pt.,dp.st.,dp.sa.,dp.ct.,dp.scim.,dp.audit.}', '{base62. 40+}', null, null,
      'Doppler, auth tokens'),
    ('pulumi-token', 'Pulumi', '{pul-}', '{hex 40}', null, null, 'Pulumi, access tokens'),
    ('onepassword-token', '1Password', '{ops_eyJ}', '{base64url= 60+}', null, null, '1Password, service accounts'),
    ('tailscale-key', 'Tailscale', '{tskey-}', '{lower 2-12}-{base62- 20+}', null, null, 'Tailscale, key prefixes'),
    ('age-secret-key', 'age', '{AGE-SECRET-KEY-1,AGE-SECRET-KEY-PQ-1}', '{upper36 40+}', null, null, 'age specification'),
    ('nostr-secret-key', 'Nostr', '{nsec1}', '{base36 58}', null, null, 'Nostr, NIP-19'),
    -- Models.
    ('openai-key', 'OpenAI', '{sk-proj-,sk-svcacct-,sk-admin-,sk-None-}', '{url64 20+}', null, null, 'OpenAI, API keys'),
    ('openai-key', 'OpenAI, older', '{sk-}', '{base62 16+}T3BlbkFJ{base62 16+}', '{T3BlbkFJ}', null, 'OpenAI, API keys'),
    ('anthropic-key', 'Anthropic', '{sk-ant-}', '{base36 2-20}-{url64 32+}', null, null, 'Anthropic, API keys'),
    ('openrouter-key', 'OpenRouter', '{sk-or-v1-}', '{hex 64}', null, null, 'OpenRouter, API keys'),
    ('deepseek-key', 'DeepSeek', '{sk-}', '{hex 32}', '{}', 'random token', 'DeepSeek, API keys'),
    ('langfuse-key', 'Langfuse', '{sk-lf-}', '{hex 8}-{hex 4}-{hex 4}-{hex 4}-{hex 12}', null, null, 'Langfuse, API keys'),
    ('groq-key', 'Groq', '{gsk_}', '{base62 40+}', null, null, 'Groq, API keys'),
    ('xai-key', 'xAI', '{xai-}', '{base62 60+}', null, null, 'xAI, API keys'),
    ('perplexity-key', 'Perplexity', '{pplx-}', '{base62 40+}', null, null, 'Perplexity, API keys'),
    ('replicate-token', 'Replicate', '{r8_}', '{base62 37}', null, null, 'Replicate, API tokens'),
    ('nvidia-key', 'NVIDIA', '{nvapi-}', '{url64 40+}', null, null, 'NVIDIA NGC, API keys'),
    ('huggingface-token', 'Hugging Face', '{hf_}', '{base62 30+}', null, null, 'Hugging Face, access tokens'),
    ('pinecone-key', 'Pinecone', '{pcsk_}', '{base62 5-6}_{base62 63}', null, null, 'Pinecone, API keys'),
    ('langsmith-key', 'LangSmith', '{lsv2_pt_,lsv2_sk_}', '{hex 32}_{hex 10}', null, null, 'LangSmith, API keys'),
    ('elevenlabs-key', 'ElevenLabs', '{sk_}', '{hex 48}', '{}', null, 'ElevenLabs, API keys'),
    ('cerebras-key', 'Cerebras', '{csk-}', '{base36 48}', null, 'random token', 'Cerebras, API keys'),
    ('together-key', 'Together', '{tgp_v1_}', '{url64 40+}', null, null, 'Together, API keys'),
    ('fireworks-key', 'Fireworks', '{fw_}', '{base62 22-24}', null, 'random token', 'Fireworks, API keys'),
    ('jina-key', 'Jina', '{jina_}', '{url64 60+}', null, null, 'Jina, API keys'),
    ('llamacloud-key', 'LlamaCloud', '{llx-}', '{base62 48}', null, null, 'LlamaCloud, API keys'),
    ('tavily-key', 'Tavily', '{tvly-}', '{base62- 28+}', null, null, 'Tavily, API keys'),
    ('firecrawl-key', 'Firecrawl', '{fc-}', '{hex 32}', '{}', 'random token', 'Firecrawl, API keys'),
    ('wandb-key', 'Weights & Biases', '{wandb_v1_}', '{word 60+}', null, null, 'Weights & Biases, API keys'),
    ('e2b-key', 'E2B', '{e2b_}', '{hex 40}', null, null, 'E2B, API keys'),
    -- Payments and shops.
    ('stripe-key', 'Stripe', '{sk_live_,sk_test_,rk_live_,rk_test_,sk_org_}', '{base62 16+}', null, null, 'Stripe, API keys'),
    ('stripe-key', 'Stripe and Svix, webhook secrets', '{whsec_}', '{base64= 24+}', null, null, 'Stripe, webhooks'),
    ('square-token', 'Square', '{sq0csp-,sq0atp-,sq0idp-}', '{url64 22+}', null, null, 'Square, access tokens'),
    ('square-token', 'Square, access tokens', '{EAAA}', '{url64 60}', null, 'random token', 'Square, access tokens'),
    ('braintree-token', 'Braintree', '{access_token$production$,access_token$sandbox$}', '{base36 16}${hex 32}', null, null,
      'Braintree, access tokens'),
    ('plaid-token', 'Plaid', '{access-production-,access-development-,access-sandbox-}',
      '{hex 8}-{hex 4}-{hex 4}-{hex 4}-{hex 12}', null, null, 'Plaid, tokens'),
    ('flutterwave-key', 'Flutterwave', '{FLWSECK-,FLWSECK_TEST-}', '{base36 32}-X', null, null, 'Flutterwave, API keys'),
    ('shopify-token', 'Shopify', '{shpat_,shpca_,shppa_,shpss_}', '{anyhex 32}', null, null, 'Shopify, access tokens'),
    ('shippo-token', 'Shippo', '{shippo_live_,shippo_test_}', '{hex 40}', null, null, 'Shippo, API tokens'),
    ('duffel-token', 'Duffel', '{duffel_live_,duffel_test_}', '{url64 43}', null, null, 'Duffel, access tokens'),
    ('easypost-key', 'EasyPost', '{EZAK,EZTK}', '{base62 54}', null, 'random token', 'EasyPost, API keys'),
    -- Mail, talk and telephones.
    ('slack-token', 'Slack', '{xoxa-,xoxb-,xoxc-,xoxd-,xoxe-,xoxe.,xoxo-,xoxp-,xoxr-,xoxs-,xapp-}', '{base62%- 20+}', null, null,
      'Slack, token types'),
    ('slack-webhook', 'Slack', '{hooks.slack.com/services/,hooks.slack.com/workflows/,hooks.slack.com/triggers/}',
      '{word 6+}/{word 6+}/{word 20+}', null, null, 'Slack, incoming webhooks'),
    ('discord-token', 'Discord', '{M,N,O}', '{url64 23-27}.{url64 6}.{url64 27+}', '{}', null, 'Discord, reference'),
    ('discord-webhook', 'Discord', '{discord.com/api/webhooks/,discordapp.com/api/webhooks/}', '{digit 17-20}/{url64 60+}', null,
      null, 'Discord, webhooks'),
    ('telegram-token', 'Telegram', '{}', '{digit 8-10}:AA{url64 33}', '{:AA}', null, 'Telegram, bot API'),
    ('twilio-key', 'Twilio', '{SK}', '{hex 32}', '{}', null, 'Twilio, API keys'),
    ('sendgrid-key', 'SendGrid', '{SG.}', '{url64 16-32}.{url64 32-64}', null, null, 'SendGrid, API keys'),
    ('mail-service-key', 'Mailgun', '{key-}', '{hex 32}', '{}', null, 'Mailgun, API keys'),
    ('mail-service-key', 'Mailgun, newer', '{}', '{hex 32}-{hex 8}-{hex 8}', '{}', null, 'Mailgun, API keys'),
    ('mail-service-key', 'Mailchimp', '{}', '{hex 32}-us{digit 1-2}', '{}', null, 'Mailchimp, API keys'),
    ('brevo-key', 'Brevo', '{xkeysib-,xsmtpsib-}', '{hex 64}-{base62 16}', null, null, 'Brevo, API keys'),
    ('resend-key', 'Resend', '{re_}', '{base62 8}_{base62 24}', '{}', 'random token', 'Resend, API keys'),
    ('facebook-token', 'Facebook', '{EAA}', '{base62 90+}', '{}', 'random token', 'Meta, access tokens'),
    -- Documents and work.
    ('linear-key', 'Linear', '{lin_api_,lin_oauth_}', '{base62 32+}', null, null, 'Linear, API keys'),
    ('notion-token', 'Notion', '{ntn_}', '{base62 40+}', null, null, 'Notion, authorization'),
    ('notion-token', 'Notion, older', '{secret_}', '{base62 43}', null, 'random token', 'Notion, authorization'),
    ('airtable-token', 'Airtable', '{pat}', '{base62 14}.{hex 64}', '{}', null, 'Airtable, personal access tokens'),
    ('asana-token', 'Asana', '{0/,1/,2/}', '{digit/ 10-40}:{hex 32}', '{}', null, 'Asana, personal access tokens'),
    ('figma-token', 'Figma', '{figd_,figo_}', '{url64 40+}', null, null, 'Figma, access tokens'),
    ('dropbox-token', 'Dropbox', '{sl.}', '{url64. 130+}', null, 'random token', 'Dropbox, OAuth guide'),
    ('typeform-token', 'Typeform', '{tfp_}', '{word 40+}', null, 'random token', 'Typeform, personal access tokens'),
    ('frameio-token', 'Frame.io', '{fio-u-}', '{url64= 64}', null, null, 'Frame.io, developer tokens'),
    ('contentful-token', 'Contentful', '{CFPAT-}', '{url64 43}', null, null, 'Contentful, personal access tokens'),
    ('hubspot-token', 'HubSpot', '{pat-na1-,pat-na2-,pat-eu1-,pat-ap1-}', '{hex 8}-{hex 4}-{hex 4}-{hex 4}-{hex 12}', null, null,
      'HubSpot, private apps'),
    ('mapbox-token', 'Mapbox', '{sk.eyJ,tk.eyJ}', '{url64 20+}.{url64 20+}', null, null, 'Mapbox, access tokens'),
    ('postman-key', 'Postman', '{PMAK-}', '{hex 24}-{hex 34}', null, null, 'Postman, API keys'),
    ('readme-key', 'ReadMe', '{rdme_}', '{base36 70}', null, null, 'ReadMe, API keys'),
    -- Watching and measuring.
    ('grafana-token', 'Grafana', '{glsa_}', '{base62 32}_{hex 8}', null, null, 'Grafana, service accounts'),
    ('grafana-token', 'Grafana Cloud', '{glc_}', '{base64= 32+}', null, null, 'Grafana Cloud, access policies'),
    ('new-relic-key', 'New Relic', '{NRAK-}', '{upper36 27}', null, null, 'New Relic, API keys'),
    ('sentry-token', 'Sentry', '{sntrys_,sntryu_}', '{base64url= 60+}', null, null, 'Sentry, auth tokens'),
    ('dynatrace-token', 'Dynatrace', '{dt0c01.,dt0s01.}', '{upper36 24}.{upper36 64}', null, null, 'Dynatrace, access tokens'),
    ('posthog-key', 'PostHog', '{phx_,phs_}', '{base62 32+}', null, null, 'PostHog, personal API keys'),
    ('honeycomb-key', 'Honeycomb', '{hcaik_,hcbik_,hcalk_,hcblk_}', '{base36 32+}', null, null, 'Honeycomb, API keys'),
    ('prefect-key', 'Prefect', '{pnu_,pnb_}', '{base62 36}', null, 'random token', 'Prefect, API keys');
end;
comment on function secrets.token_formats is 'How the tokens of providers begin, their characters, length and checksum.';

create function secrets.alphabet(name text) returns text language sql immutable parallel safe set search_path = ''
-- Names may be followed by more: url64. is the alphabet of URLs with the dot.
return '[' || case substring(name from '^[a-z0-9]+')
  when 'digit' then '0-9'
  when 'hex' then 'a-f0-9'
  when 'anyhex' then 'A-Fa-f0-9'
  when 'lower' then 'a-z'
  when 'base32' then 'A-Z2-7'
  when 'base36' then 'a-z0-9'
  when 'upper36' then 'A-Z0-9'
  when 'base62' then 'A-Za-z0-9'
  when 'word' then 'A-Za-z0-9_'
  when 'base64' then 'A-Za-z0-9+/'
  when 'url64' then 'A-Za-z0-9_'
  when 'base64url' then 'A-Za-z0-9+/_'
end || replace(substring(name from '^[a-z0-9]+(.*)$'), '-', '')
  || case when name ~ '^(?:url64|base64url)|-' then '-' else '' end || ']';
comment on function secrets.alphabet is 'A regular expression for a character of a named alphabet, with signs.';

create function secrets.expression_of(format secrets.token_format) returns text
language sql immutable parallel safe set search_path = ''
return (
    select case when count(*) > 1 then '(?:' || pg_catalog.string_agg(secrets.literal(s), '|') || ')'
      else coalesce(min(secrets.literal(s)), '') end
    from pg_catalog.unnest(format.starts) as s)
  || (
    select pg_catalog.string_agg(secrets.literal(m.groups[1]) || coalesce(secrets.alphabet(m.groups[2]) || case
        when m.groups[3] is null then '+'
        else '{' || m.groups[3] || case when m.groups[4] = '+' then ',' when m.groups[5] is not null then ',' || m.groups[5]
          else '' end || '}' end, ''), ''
      order by m.place)
    from pg_catalog.regexp_matches(format.body, '([^{]*)(?:\{([a-z0-9]+[^a-z0-9 }]*?)(?: ([0-9]+)(?:(\+)|-([0-9]+))?)?\})?', 'g')
      with ordinality as m (groups, place)
    where m.groups[1] <> '' or m.groups[2] is not null)
  -- A longer text of the same characters is something else.
  || case when format.body ~ ' [0-9]+(?:-[0-9]+)?\}$' then '(?!'
    || secrets.alphabet(substring(format.body from '.*\{([^ }]+) [^}]*\}$')) || ')' else '' end;
comment on function secrets.expression_of is 'The regular expression that matches the tokens of a format, also within a word.';

create function secrets.begins_a_word(format secrets.token_format) returns boolean
language sql immutable parallel safe set search_path = ''
return pg_catalog.cardinality(format.starts) = 0 or (
  select bool_or(pg_catalog.length(s) < 4 or s ~ '[A-Za-z0-9]$' and pg_catalog.length(s) < 6)
  from pg_catalog.unnest(format.starts) as s);
comment on function secrets.begins_a_word is 'True if a format''s prefix is so short that a token must begin a word.';

create function secrets.keywords_of(format secrets.token_format) returns text[] language sql immutable parallel safe
return nullif(coalesce(format.markers, format.starts), '{}');
comment on function secrets.keywords_of is 'Texts, one of which stands in every token of a format; null if too short.';

create function secrets.names_of_secrets()
returns text
language sql
immutable
parallel safe
return '(?i)(?:pass(?:wd|word|phrase|code)?|pwd|secret|token|credential|(?:api|access|private|encryption|account|auth|signing|shared|master)[-_]?key)';

comment on function secrets.names_of_secrets() is
  'A regular expression for the part of a name that says that its value is a secret, as in DB_PASSWORD or secretAccessKey.';

create function secrets.named_values()
returns text
language sql
immutable
parallel safe
set search_path = ''
-- A value has at least 6 characters, and without a digit or sign 20. So most sentences about passwords need no second look.
return secrets.names_of_secrets()
  || '[A-Za-z0-9_.-]*["''\]\\]*(?:\s*(?:=+>?|:=?|,|>)\s*|\s+(?:(?:is|was)\s+)?)[bfru]{0,2}["''`\\]*(?:[0-9!#$%^&*?~][^\s"''`\\]{5}|[^\s"''`\\][0-9!#$%^&*?~][^\s"''`\\]{4}|[^\s"''`\\]{2}[0-9!#$%^&*?~][^\s"''`\\]{3}|[^\s"''`\\]{3}[0-9!#$%^&*?~][^\s"''`\\]{2}|[^\s"''`\\]{4}[0-9!#$%^&*?~][^\s"''`\\]|[^\s"''`\\]{5}[^\s"''`\\]*[0-9!#$%^&*?~]|[^\s"''`\\]{20})';

comment on function secrets.named_values() is 'A regular expression that matches wherever a name such as password is followed by what may be a secret.';

create function secrets.zero_width()
returns text
language sql
immutable
parallel safe
return '[\u00AD\u200B-\u200D\u2060\uFEFF]';

comment on function secrets.zero_width() is 'A regular expression for a character that is not seen, and hides a secret in which it stands.';

create function secrets.zero_width_characters()
returns text
language sql
immutable
parallel safe
return U&'\00AD\200B\200C\200D\2060\FEFF';

comment on function secrets.zero_width_characters() is 'The characters that zero_width() matches.';

-- PostgreSQL keeps 32 compiled expressions for a session, so patterns that match little share one hint.
create function secrets.rare_words()
returns text
language sql
immutable
parallel safe
-- In URLs the characters around a secret, and those in it, are encoded.
return 'PRIVATE KEY|Private-Lines:|[?&;]sig=|"auth\\?" *:|(?:mysql|mariadb)[^\n]*[ \t]-p|%(?:25)?(?:3[AaDd]|2[2BbFf])|' || secrets.zero_width();

comment on function secrets.rare_words() is
  'A regular expression that matches where a key file, a signed or encoded URL, a file of a container registry, a client of MySQL or a character of no width may stand.';

create function secrets.authorization_headers()
returns text
language sql
immutable
parallel safe
return '(?i)(?:bearer|basic)["'']?[ \t:]';

comment on function secrets.authorization_headers() is 'A regular expression that matches where the value of an authorization header may stand.';

create function secrets.credentials_in_urls()
returns text
language sql
immutable
parallel safe
return '://[^\s/@"''<>]*:[^\s@"''<>]+@';

comment on function secrets.credentials_in_urls() is 'A regular expression that matches where user and password may stand in a URL.';

create function secrets.long_words()
returns text
language sql
immutable
parallel safe
-- Memories are full of hashes and commit ids, which no pattern finds: they need no second look.
return '(?:^|[^A-Za-z0-9])(?=[A-Za-z0-9]{32})(?!(?:[0-9a-f]+|[0-9A-F]+)(?:[^A-Za-z0-9]|$))';

comment on function secrets.long_words() is
  'A regular expression that matches at 32 or more letters and digits in a row which are not all hexadecimal digits of one case.';

create function secrets.words_of_40()
returns text
language sql
immutable
parallel safe
return '(?:^|[^A-Za-z0-9+/_.-])(?=[A-Za-z0-9]*[+/])[A-Za-z0-9+/]{40}(?:[^A-Za-z0-9+/=_-]|$)';

comment on function secrets.words_of_40() is 'A regular expression that matches at exactly 40 characters of base64 with a sign among them.';

insert into public.secret_patterns (name, finds, hint, expression, source) values
  ('private-key', 'private keys in PEM: RSA, EC, DSA, PKCS #8, OpenSSH and PGP, also cut short, quoted or escaped',
    secrets.rare_words(),
    $re$-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?:(?:\\[nr]|[\s"'`>+|,\\])+(?:[A-Za-z0-9+/=]{8,}|(?:Proc-Type|DEK-Info|Version|Comment|Hash)[^\n\\]*))+(?:(?:\\[nr]|[\s"'`>+|,\\])*=?[A-Za-z0-9+/=]{1,7}\M=*)?(?:(?:\\[nr]|[\s"'`>+|,\\])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?|[A-Za-z0-9+/=]{16,}(?:\\[nr]|[\s"'`>+|,\\])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|^\s*-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----\s*$$re$,
    'RFC 7468, RFC 4880, OpenSSH PROTOCOL.key'),
  ('putty-private-key', 'private keys of PuTTY', secrets.rare_words(),
    'Private-Lines: *[0-9]+(?:\\[nr]|\s)+[A-Za-z0-9+/=]{16,}(?:(?:\\[nr]|\s)+[A-Za-z0-9+/=]{16,})*', 'PuTTY, appendix C'),
  ('azure-signature', 'shared access signatures of Azure', secrets.rare_words(), '[?&;]sig=([A-Za-z0-9%+/=_-]{30,})', 'Azure Storage, SAS');

insert into public.secret_patterns (name, finds, keywords, expression, source) values
  ('age-secret-key', 'secret keys of age', '{AGE-SECRET-KEY-}', 'AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{40,}', 'age specification'),
  ('aws-access-key-id', 'ids of AWS access keys', '{AKIA,ASIA,ABIA,ACCA}',
    '(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])', 'AWS IAM, unique identifiers'),
  ('github-token', 'tokens of GitHub', '{ghp_,gho_,ghu_,ghs_,ghr_,github_pat_}',
    'gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}', 'GitHub, token formats'),
  ('gitlab-token', 'tokens of GitLab', '{glpat-,gldt-,glrt-,glcbt-,glptt-,glft-,glimt-,glagent-,glsoat-,gloas-,GR1348941}',
    '(?:gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas)-|GR1348941)[A-Za-z0-9_.-]{20,}', 'GitLab, token prefixes'),
  ('npm-token', 'tokens of npm', '{npm_}', '(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])', 'npm, access tokens'),
  ('pypi-token', 'tokens of PyPI', '{pypi-AgE}', 'pypi-AgE[A-Za-z0-9_-]{40,}', 'PyPI, API tokens'),
  ('rubygems-token', 'keys of RubyGems', '{rubygems_}', 'rubygems_[a-f0-9]{48}', 'RubyGems, API keys'),
  ('docker-token', 'tokens of Docker Hub', '{dckr_pat_,dckr_oat_}', 'dckr_[po]at_[A-Za-z0-9_-]{24,}', 'Docker, access tokens'),
  ('slack-token', 'tokens of Slack', '{xoxa-,xoxb-,xoxc-,xoxd-,xoxe-,xoxe.,xoxo-,xoxp-,xoxr-,xoxs-,xapp-}',
    '(?:xox[abcdeoprs][-.]|xapp-)[A-Za-z0-9%-]{20,}', 'Slack, token types'),
  ('slack-webhook', 'webhooks of Slack', '{hooks.slack.com/}',
    'hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_]{6,}/[A-Za-z0-9_]{6,}/[A-Za-z0-9_]{16,}', 'Slack, incoming webhooks'),
  ('stripe-key', 'secret keys and webhook secrets of Stripe', '{sk_live_,sk_test_,rk_live_,rk_test_,whsec_}',
    '(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,})', 'Stripe, API keys'),
  ('google-api-key', 'API keys of Google', '{AIza}', '(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}', 'Google Cloud, API keys'),
  ('google-oauth', 'client secrets, access and refresh tokens of Google', '{GOCSPX-,ya29.,1//0}',
    'GOCSPX-[A-Za-z0-9_-]{24,}|ya29\.[A-Za-z0-9_-]{20,}|(?<![A-Za-z0-9/])1//0[A-Za-z0-9_-]{40,}', 'Google Cloud, authentication'),
  ('openai-key', 'keys of OpenAI', '{sk-proj-,sk-svcacct-,sk-admin-,sk-None-,T3BlbkFJ}',
    'sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9]{16,}T3BlbkFJ[A-Za-z0-9]{16,}', 'OpenAI, API keys'),
  ('anthropic-key', 'keys of Anthropic', '{sk-ant-}', 'sk-ant-[a-z0-9]{2,20}-[A-Za-z0-9_-]{32,}', 'Anthropic, API keys'),
  ('model-provider-key', 'keys of OpenRouter, Groq, xAI, Perplexity, Replicate, NVIDIA, Tavily and Hugging Face',
    '{sk-or-v1-,gsk_,xai-,pplx-,r8_,nvapi-,tvly-,hf_}',
    '(?<![A-Za-z0-9])(?:sk-or-v1-[a-f0-9]{64}|gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{60,}|pplx-[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{37}|nvapi-[A-Za-z0-9_-]{40,}|tvly-[A-Za-z0-9-]{28,}|hf_[A-Za-z]{30,}|hf_[A-Za-z0-9]{34})',
    'the documentation of these providers'),
  ('azure-client-secret', 'client secrets of Microsoft Entra', '{7Q~,8Q~}', '[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}', 'Microsoft Entra, credentials'),
  ('sendgrid-key', 'keys of SendGrid', '{SG.}', '(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}', 'SendGrid, API keys'),
  ('telegram-token', 'tokens of Telegram bots', '{:AA}', '(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}', 'Telegram, bot API'),
  ('cloud-token', 'tokens of DigitalOcean, Fly, Supabase, PlanetScale, Heroku, Netlify, Doppler, Pulumi, Vault and Terraform',
    '{dop_v1_,doo_v1_,dor_v1_,fm1_,fm2_,sbp_,sb_secret_,pscale_tkn_,pscale_pw_,HRKU-,nfp_,dp.pt.,dp.st.,pul-,hvs.,hvb.,.atlasv1.}',
    '(?<![A-Za-z0-9])(?:do[por]_v1_[a-f0-9]{64}|fm[12]_[A-Za-z0-9+/=_-]{40,}|sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,}|pscale_(?:tkn|pw)_[A-Za-z0-9_.-]{32,}|HRKU-[A-Za-z0-9_-]{36,}|nfp_[A-Za-z0-9]{36}|dp\.[ps]t\.[A-Za-z0-9.]{40,}|pul-[a-f0-9]{40}|hv[sb]\.[A-Za-z0-9_-]{24,}|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,})',
    'the documentation of these providers'),
  ('service-token', 'tokens of Shopify, Databricks, Linear, Notion, Grafana, Postman, Figma, New Relic, Sentry, Square, Atlassian, Contentful, Tailscale, Airtable and HubSpot',
    '{shpat_,shpca_,shppa_,shpss_,dapi,lin_api_,lin_oauth_,ntn_,glsa_,glc_,PMAK-,figd_,NRAK-,sntrys_,sntryu_,sq0csp-,sq0atp-,ATATT3,ATCTT3,CFPAT-,tskey-,pat-na1-,pat-eu1-}',
    '(?<![A-Za-z0-9])(?:shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|dapi[a-f0-9]{32}|lin_(?:api|oauth)_[A-Za-z0-9]{32,}|ntn_[A-Za-z0-9]{40,}|glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,}|PMAK-[a-f0-9]{24}-[a-f0-9]{34}|figd_[A-Za-z0-9_-]{40,}|NRAK-[A-Z0-9]{27}|sntry[su]_[A-Za-z0-9+/=_-]{60,}|sq0(?:csp|atp)-[A-Za-z0-9_-]{22,}|AT[AC]TT3[A-Za-z0-9_=.-]{40,}|CFPAT-[A-Za-z0-9_-]{43}|tskey-[a-z]+-[A-Za-z0-9-]{20,}|pat-(?:na|eu)1-[a-f0-9-]{36})',
    'the documentation of these providers'),
  ('jwt', 'JSON Web Tokens', '{eyJ}', 'eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}|eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}',
    'RFC 7519, RFC 7516');

insert into public.secret_patterns (name, finds, hint, expression, source) values
  ('twilio-key', 'keys of Twilio', 'SK[0-9a-f]{32}', '(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![A-Za-z0-9])', 'Twilio, API keys'),
  ('mail-service-key', 'keys of Mailgun and Mailchimp', 'key-[0-9a-f]{32}|[0-9a-f]{32}-us[0-9]',
    '(?<![A-Za-z0-9])(?:key-[0-9a-f]{32}|[0-9a-f]{32}-us[0-9]{1,2})(?![A-Za-z0-9])', 'Mailgun and Mailchimp, API keys'),
  ('discord-token', 'tokens of Discord bots', '[MNO][A-Za-z0-9_-]{22}[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{6}\.',
    '(?<![A-Za-z0-9_-])[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}', 'Discord, reference');

insert into public.secret_patterns (name, finds, hint, keywords, expression, verification, source) values
  ('encoded-private-key', 'the base64 of a file with a private key', null, '{LS0tLS1CRUdJTi}', 'LS0tLS1CRUdJTi[A-Za-z0-9+/_-]{20,}(?:\s+[A-Za-z0-9+/_-]{20,})*=*', 'encoded key', 'RFC 7468, RFC 4648'),
  ('url-credentials', 'passwords in URLs and connection strings', secrets.credentials_in_urls(), null,
    '[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:/@"''<>]*:([^\s@/"''<>]{3,})@[^\s"''<>]', 'placeholder', 'RFC 3986'),
  ('bearer-token', 'tokens of bearer headers', secrets.authorization_headers(), null,
    '(?i)bearer["'']?[ \t:]+["'']?([A-Za-z0-9._~+/=-]{16,})', 'value', 'RFC 6750'),
  ('basic-credentials', 'user and password of basic headers', secrets.authorization_headers(), null,
    '(?i)basic[ \t]+([A-Za-z0-9+/_-]{6,}={0,2})', 'basic', 'RFC 7617'),
  ('registry-credentials', 'user and password in files of container registries', secrets.rare_words(), null,
    '"auth\\?" *: *\\?"([A-Za-z0-9+/_-]{6,}={0,2})', 'basic', 'Docker, config.json'),
  ('connection-password', 'passwords in connection strings of parts such as Pwd=…;', secrets.named_values(), null,
    '(?i);[ \t]?(?:pwd|password)[ \t]?=[ \t]?([^;\s"''`\\<>{}$()]{6,})', 'quoted value', 'ODBC and ADO.NET, connection strings'),
  ('command-line-password', 'passwords after -p of the clients of MySQL and MariaDB', secrets.rare_words(), null,
    '(?:mysql|mariadb)[a-z-]*[ \t](?:[^\n|;&]*[ \t])?-p["'']?(?!ort|rotocol)([^\s"''`|;&<>()]{6,})', 'quoted value', 'MySQL, command options'),
  ('named-secret', 'quoted values of names such as password, secret or token',
    secrets.named_values(), null,
    secrets.names_of_secrets() || '[A-Za-z0-9_.-]*["''\]\\]{0,4}\s{0,3}(?:=>|:=|={1,3}|:|,)\s{0,3}[bfru]{0,2}\\?["''`]([^\s"''`\\]*[0-9!#$%^&*?~][^\s"''`\\]*|[^\s"''`\\]{20,})\\?["''`]',
    'quoted value', 'the usual forms of JSON, YAML and source code'),
  ('assigned-secret', 'unquoted values of names such as password, secret or token',
    secrets.named_values(), null,
    secrets.names_of_secrets() || '[A-Za-z0-9_.-]*["'']?(?:[ \t]{0,3}[=:][ \t]{0,3}|>|[ \t]+(?:is|was)[ \t]+|[ \t]+)([^\s"''`\\<>&;,\[\]{}|]*[0-9!#$%^*?~][^\s"''`\\<>&;,\[\]{}|]*|[^\s"''`\\<>&;,\[\]{}|]{20,})',
    'value', 'the usual forms of env files, YAML, shells and URLs'),
  ('long-random-token', 'random texts of 32 or more letters and digits, other than hashes, ids, paths and encoded files', secrets.long_words(), null,
    '-----BEGIN (?:CERTIFICATE|PUBLIC|RSA PUBLIC|PGP|SSH2|X509)[A-Z0-9 ]*-----[^-]*|(?:base64,|[A-Za-z0-9]+-)?[A-Za-z0-9+/_-]{32,}(?:(?:\\r)?(?:\\n|\r?\n)[A-Za-z0-9+/_-]{32,})*',
    'random', 'entropy'),
  ('aws-secret-key', 'secret keys of AWS without a name beside them: 40 random characters of base64', secrets.words_of_40(), null,
    '(?<![A-Za-z0-9+/_.-])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_-])', 'base64', 'AWS IAM, access keys');

insert into public.secret_patterns (name, finds, hint, expression, verification, severity, source) values
  ('email-address', 'e-mail addresses', '@[A-Za-z0-9\u00C0-\u04FF]', '(?<![A-Za-z0-9\u00C0-\u04FF._%+-])[A-Za-z0-9\u00C0-\u04FF][A-Za-z0-9\u00C0-\u04FF._%+-]{0,63}@(?:[A-Za-z0-9\u00C0-\u04FF-]{1,63}\.)+[A-Za-z\u00C0-\u04FF]{2,24}\M', 'placeholder', 'personal', 'RFC 5321, RFC 6531'),
  ('telephone-number', 'telephone numbers in the international form', '\+[0-9]',
    '(?<![A-Za-z0-9+.])\+[1-9][0-9]{0,2}[ ./-]?(?:\([0-9]{1,4}\)[ ./-]?)?[0-9]{1,5}(?:[ ./-]?[0-9]{2,5}){1,4}(?![A-Za-z0-9])', 'placeholder', 'personal', 'ITU-T E.123'),
  ('credit-card', 'numbers of credit cards', '[0-9]{4}[ -]?[0-9]{4}', '(?<![A-Za-z0-9.])[2-6][0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{1,7}(?![0-9A-Za-z])|(?<![A-Za-z0-9.])3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5}(?![0-9A-Za-z])',
    'luhn', 'personal', 'ISO/IEC 7812'),
  ('iban', 'international bank account numbers', '(?:[A-Z]{2}|[a-z]{2})[0-9]{2} ?[A-Za-z0-9]{4}', '(?<![A-Za-z0-9])(?:[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?|(?:at|be|ch|de|dk|es|fi|fr|gb|ie|it|lu|nl|no|pl|pt|se)[0-9]{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,3})?)(?![A-Za-z0-9])', 'iban', 'personal', 'ISO 13616'),
  ('long-token', 'any long token: letters and digits with + / _ or -, and hexadecimal digits of a length that no common hash has', '[A-Za-z0-9+/_-]{32}',
    '[A-Za-z0-9+/_-]{32,}={0,2}', 'long token', 'strict', 'entropy');

-- The built-in patterns for secrets, and the regular expressions that several of them share. The quick tests are made
-- from these rows.
create function secrets.names_of_secrets() returns text language sql immutable parallel safe
return '(?i)(?:pass(?:wd|word|phrase|code)?(?!port|enger|age|iv|ing)|pwd|secret|token|credential'
  '|(?:api|access|private|encryption|account|auth|signing|shared|master)[-_]?key)';
comment on function secrets.names_of_secrets is 'An expression for names whose value is a secret, such as DB_PASSWORD.';

create function secrets.named_values() returns text language sql immutable parallel safe set search_path = ''
-- A value has at least 6 characters, and without a digit or sign 20. So most sentences about passwords need no second look.
return secrets.names_of_secrets()
  || '[A-Za-z0-9_.-]*["''\]\\]*(?:\s*(?:=+>?|:=?|,|>)\s*'
  || '|\s+(?:(?:is|was)\s+)?)[bfru]{0,2}["''`\\]*(?:[0-9!#$%^&*?~][^\s"''`\\]{5}|[^\s"''`\\][0-9!#$%^&*?~][^\s"''`\\]{4}'
  || '|[^\s"''`\\]{2}[0-9!#$%^&*?~][^\s"''`\\]{3}|[^\s"''`\\]{3}[0-9!#$%^&*?~][^\s"''`\\]{2}'
  || '|[^\s"''`\\]{4}[0-9!#$%^&*?~][^\s"''`\\]|[^\s"''`\\]{5}[^\s"''`\\]*[0-9!#$%^&*?~]|[^\s"''`\\]{20})';
comment on function secrets.named_values is 'An expression for where a secret may follow a name such as password.';

-- PostgreSQL keeps 32 compiled expressions for a session, so patterns that match little share one hint.
create function secrets.rare_words() returns text language sql immutable parallel safe
-- In URLs the characters around a secret, and those in it, are encoded.
return 'PRIVATE KEY|Private-Lines:|[?&;]sig=|"auth\\?" *:|%(?:25)*(?:3[0-9AaDd]|2[2BbFf]|[46][1-9A-Fa-f]|[57][0-9Aa])'
  '|&#(?:[xX][0-9A-Fa-f]{2}|[0-9]{2,3});|\\u00[2-7]';
comment on function secrets.rare_words is 'An expression for a key file, a signed URL, a registry''s file, encoding.';

create function secrets.authorization_headers() returns text language sql immutable parallel safe
return '(?i)(?:bearer|basic)["'']?[ \t:]';
comment on function secrets.authorization_headers is 'An expression for the value of an authorization header.';

create function secrets.credentials_in_urls() returns text language sql immutable parallel safe
return '://[^\s/@"''<>]*:[^\s@"''<>]+@';
comment on function secrets.credentials_in_urls is 'An expression for user and password in a URL.';

create function secrets.long_words() returns text language sql immutable parallel safe
-- Memories are full of hashes and commit ids, which no pattern finds: they need no second look.
return '(?:^|[^A-Za-z0-9])(?=[A-Za-z0-9]{32})(?!(?:[0-9a-f]+|[0-9A-F]+)(?:[^A-Za-z0-9]|$))';
comment on function secrets.long_words is 'An expression for 32 letters and digits, not all hexadecimal of one case.';

create function secrets.bare_hexadecimal_tokens() returns text language sql immutable parallel safe
-- Hashes and ids, of which memories are full, have another sign before them or another length.
return '(?:sk[-_]|fc-|SK|key-|pat[A-Za-z0-9]{14}\.|[0-9]{5}:)[a-f0-9]{32}|[a-f0-9]{32}-(?:us[0-9]|[a-f0-9]{8}-[a-f0-9]{8})';
comment on function secrets.bare_hexadecimal_tokens is 'An expression for hexadecimal tokens with no prefix to look for.';

create function secrets.bare_tokens() returns text language sql immutable parallel safe
return '[MNO][A-Za-z0-9_-]{22}[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{6}\.|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}';
comment on function secrets.bare_tokens is 'An expression for tokens with no prefix long enough to look for.';

create function secrets.words_of_40() returns text language sql immutable parallel safe
return '(?:^|[^A-Za-z0-9+/_.-])(?=[A-Za-z0-9]*[+/])[A-Za-z0-9+/]{40}(?:[^A-Za-z0-9+/=_-]|$)';
comment on function secrets.words_of_40 is 'An expression for exactly 40 characters of base64 with a sign among them.';

insert into public.secret_patterns (name, finds, hint, expression, source) values
  ('private-key', 'private keys in PEM: RSA, EC, DSA, PKCS #8, OpenSSH and PGP, also cut short, quoted or escaped',
    secrets.rare_words(),
    $re$-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----$re$
      || $re$(?:(?:\\[nr]|[\s"'`>+|,\\])+(?:[A-Za-z0-9+/=]{8,}|(?:Proc-Type|DEK-Info|Version|Comment|Hash)[^\n\\]*))+$re$
      || $re$(?:(?:\\[nr]|[\s"'`>+|,\\])*=?[A-Za-z0-9+/=]{1,7}\M=*)?$re$
      || $re$(?:(?:\\[nr]|[\s"'`>+|,\\])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?$re$
      || $re$|[A-Za-z0-9+/=]{16,}(?:\\[nr]|[\s"'`>+|,\\])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----$re$
      || $re$|^\s*-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----\s*$$re$,
    'RFC 7468, RFC 4880, OpenSSH PROTOCOL.key'),
  ('putty-private-key', 'private keys of PuTTY', secrets.rare_words(),
    'Private-Lines: *[0-9]+(?:\\[nr]|\s)+[A-Za-z0-9+/=]{16,}(?:(?:\\[nr]|\s)+[A-Za-z0-9+/=]{16,})*', 'PuTTY, appendix C'),
  ('azure-signature', 'shared access signatures of Azure', secrets.rare_words(), '[?&;]sig=([A-Za-z0-9%+/=_-]{30,})',
    'Azure Storage, SAS');

insert into public.secret_patterns (name, finds, keywords, hint, expression, verification, source)
select p.pattern, p.finds, case when p.has_keywords then p.keywords end,
  case when not p.has_keywords then case p.pattern
    when 'facebook-token' then secrets.long_words()
    when 'discord-token' then secrets.bare_tokens()
    when 'resend-key' then secrets.bare_tokens()
    else secrets.bare_hexadecimal_tokens() end end,
  p.expression, p.verification, p.source
from (
  select t.pattern, 'tokens and keys of ' || string_agg(distinct t.provider, '; ') as finds,
    bool_and(secrets.keywords_of(t.format) is not null) as has_keywords,
    (select array_agg(distinct k) from secrets.token_formats() as f, unnest(secrets.keywords_of(f)) as k
      where f.pattern = t.pattern) as keywords,
    -- An escaped line break may stand before a word, as in JSON. It is matched, because looking behind at two characters begins
    -- at the beginning of the text for each match: ten thousand matches took seconds.
    concat_ws('|',
      string_agg(secrets.expression_of(t.format), '|' order by t.place) filter (where not secrets.begins_a_word(t.format)),
      '(?:(?<![A-Za-z0-9])|\\[nrt])(' || string_agg(secrets.expression_of(t.format), '|' order by t.place)
        filter (where secrets.begins_a_word(t.format)) || ')') as expression,
    coalesce(min(t.verification), 'placeholder') as verification, min(t.source) as source, min(t.place) as place
  from (
    select f.place, f.pattern, f.provider, f.verification, f.source,
      row(f.pattern, f.provider, f.starts, f.body, f.markers, f.verification, f.source)::secrets.token_format as format
    from secrets.token_formats() with ordinality as f (pattern, provider, starts, body, markers, verification, source, place)
  ) t
  group by t.pattern
) p
order by p.place;

-- Any of them, because a placeholder such as `example` may be the route. Names of roles and tables have no capital letters.
insert into public.secret_patterns (name, finds, keywords, expression, verification, source) values
  ('l9-memory-key', 'API keys of l9-memory, with and without a route', '{l9_,l9k_}',
    'l9(?:k_[a-z0-9-]{1,40})?_(?=[a-z0-9_-]*[A-Z])(?=[A-Z0-9_-]*[a-z])[A-Za-z0-9_-]{43}', 'any', 'create_api_key()');

insert into public.secret_patterns (name, finds, keywords, expression, source) values
  ('jwt', 'JSON Web Tokens', '{eyJ}',
    'eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}'
    '|eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}',
    'RFC 7519, RFC 7516');

insert into public.secret_patterns (name, finds, hint, keywords, expression, verification, source) values
  ('encoded-private-key', 'the base64 of a file with a private key', null, '{LS0tLS1CRUdJTi}',
    'LS0tLS1CRUdJTi[A-Za-z0-9+/_-]{20,}(?:\s+[A-Za-z0-9+/_-]{20,})*=*', 'encoded key', 'RFC 7468, RFC 4648'),
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
  ('command-line-password', 'passwords in commands, such as curl -u, docker login -p, redis-cli -a and mysql -p',
    secrets.command_lines(), null, secrets.passwords_of_commands(), 'command value', 'the manuals of these commands'),
  ('named-secret', 'quoted values of names such as password, secret or token',
    secrets.named_values(), null,
    secrets.names_of_secrets()
      || '[A-Za-z0-9_.-]*["''\]\\]{0,4}\s{0,3}(?:=>|:=|={1,3}|:|,)'
      || '\s{0,3}[bfru]{0,2}\\?["''`]([^\s"''`\\]*[0-9!#$%^&*?~][^\s"''`\\]*|[^\s"''`\\]{20,})\\?["''`]',
    'quoted value', 'the usual forms of JSON, YAML and source code'),
  ('assigned-secret', 'unquoted values of names such as password, secret or token',
    secrets.named_values(), null,
    secrets.names_of_secrets()
      || '[A-Za-z0-9_.-]*["'']?(?:[ \t]{0,3}[=:][ \t]{0,3}|>|[ \t]+(?:is|was)[ \t]+'
      || '|[ \t]+)([^\s"''`\\<>&;,\[\]{}|]*[0-9!#$%^*?~][^\s"''`\\<>&;,\[\]{}|]*|[^\s"''`\\<>&;,\[\]{}|]{20,})',
    'value', 'the usual forms of env files, YAML, shells and URLs'),
  ('labelled-password', 'passwords behind a label in a text, a list or a table, in several languages',
    secrets.labelled_passwords(), null, secrets.labelled_passwords(), 'labelled value', 'the usual forms of notes'),
  ('labelled-token', 'tokens and keys behind a label in a text, a list or a table', secrets.labelled_tokens(), null,
    secrets.labelled_tokens(), 'labelled token', 'the usual forms of notes'),
  ('password-in-table', 'passwords in the column of a table', secrets.password_columns(), null,
    secrets.passwords_in_columns(), 'labelled value', 'the usual forms of Markdown and CSV'),
  ('long-random-token', 'random texts of 32 or more letters and digits, other than hashes, ids, paths and encoded files',
    secrets.long_words(), null,
    'did:[a-z0-9]+:[A-Za-z0-9.:%_#/-]+|-----BEGIN (?:CERTIFICATE|PUBLIC|RSA PUBLIC|PGP|SSH2|X509)[A-Z0-9 ]*-----[^-]*'
    '|(?:base64,|SHA[0-9]{1,3}:|[A-Za-z0-9]+-)?[A-Za-z0-9+/_-]{32,}(?:(?:\\r)?(?:\\n|\r?\n)[A-Za-z0-9+/_-]{32,})*',
    'random', 'entropy'),
  ('aws-secret-key', 'secret keys of AWS without a name beside them: 40 random characters of base64', secrets.words_of_40(), null,
    '(?<![A-Za-z0-9+/_.-])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_-])', 'base64', 'AWS IAM, access keys');

insert into public.secret_patterns (name, finds, hint, expression, verification, severity, source) values
  ('email-address', 'e-mail addresses', '@[A-Za-z0-9\u00C0-\u04FF]',
    '(?<![A-Za-z0-9\u00C0-\u04FF._%+-])[A-Za-z0-9\u00C0-\u04FF][A-Za-z0-9\u00C0-\u04FF._%+-]{0,63}'
    '@(?:[A-Za-z0-9\u00C0-\u04FF-]{1,63}\.)+[A-Za-z\u00C0-\u04FF]{2,24}\M', 'placeholder', 'personal', 'RFC 5321, RFC 6531'),
  ('telephone-number', 'telephone numbers in the international form', '\+[0-9]',
    '(?<![A-Za-z0-9+.])\+[1-9][0-9]{0,2}[ ./-]?(?:\([0-9]{1,4}\)[ ./-]?)?[0-9]{1,5}(?:[ ./-]?[0-9]{2,5}){1,4}(?![A-Za-z0-9])',
    'placeholder', 'personal', 'ITU-T E.123'),
  ('credit-card', 'numbers of credit cards', '[0-9]{4}[ -]?[0-9]{4}',
    '(?<![A-Za-z0-9.])[2-6][0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{1,7}(?![0-9A-Za-z])'
    '|(?<![A-Za-z0-9.])3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5}(?![0-9A-Za-z])',
    'luhn', 'personal', 'ISO/IEC 7812'),
  ('iban', 'international bank account numbers', '(?:[A-Z]{2}|[a-z]{2})[0-9]{2} ?[A-Za-z0-9]{4}',
    '(?<![A-Za-z0-9])(?:[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?'
    '|(?:at|be|ch|de|dk|es|fi|fr|gb|ie|it|lu|nl|no|pl|pt|se)[0-9]{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,3})?)(?![A-Za-z0-9])',
    'iban', 'personal', 'ISO 13616'),
  ('long-token', 'any long token: letters and digits with + / _ or -, and hexadecimal digits of a length that no common hash has',
    '[A-Za-z0-9+/_-]{32}',
    'did:[a-z0-9]+:[A-Za-z0-9.:%_#/-]+|[A-Za-z0-9+/_-]{32,}={0,2}', 'long token', 'strict', 'entropy');

-- What fails closed: a session with any of it is refused, be it harmless or not.
insert into public.secret_patterns (name, finds, hint, expression, verification, severity, source) values
  ('any-exported-value', 'the value of every variable that a shell exports', '(?:export|declare|typeset|setenv|set)\s|\$env:',
    '(?:\mexport|\m(?:declare|typeset)[ \t]+-[a-z]*x[a-z]*)[ \t]+(?:-[a-z]+[ \t]+)*[A-Za-z_][A-Za-z0-9_]*\+?='
    '(?=[^\s])((?:"[^"]*"|''[^'']*'')?[^\n]*)'
    '|(?:\msetenv|\mset[ \t]+-[a-z]*x[a-z]*)[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t]+[^\s][^\n]*'
    '|\$env:[A-Za-z_][A-Za-z0-9_]*[ \t]*=[ \t]*[^\s][^\n]*',
    'any', 'session', 'POSIX, Shell and Utilities'),
  ('any-environment-value', 'any value of a variable such as SECRET_KEY or DB_PASSWORD',
    '(?:PASS|PWD|SECRET|TOKEN|CREDENTIAL|KEY)[A-Z0-9_]*=',
    '(?:PASS(?:WD|WORD|PHRASE|CODE)?|PWD|SECRET|TOKEN|CREDENTIALS?|_KEY|APIKEY)[A-Z0-9_]*=("[^"\n]+"|''[^''\n]+''|[^\s"''`]+)',
    'any value', 'session', 'the usual form of env files'),
  ('any-quoted-value', 'any quoted value of names such as password or secret, with spaces in it, too',
    '(?i)pass|pwd|secret|token|credential|key',
    secrets.names_of_secrets()
      || '[A-Za-z0-9_.-]*["''\]\\]{0,4}\s{0,3}(?:=>|:=|={1,3}|:)\s{0,3}[bfru]{0,2}\\?["''`]([^"''`\n\\]{6,})\\?["''`]',
      'any value', 'session', 'the usual forms of JSON, YAML and source code'),
  ('any-named-value', 'any value with a digit, or any word at the end of a line, behind a name such as password or secret',
    '(?i)pass|pwd|secret|token|credential|key',
    secrets.names_of_secrets()
      || '[A-Za-z0-9_.-]*["'']?\s{0,3}[=:]\s{0,3}([^\s"''`<>;,(){}\[\]|\\]*[0-9][^\s"''`<>;,(){}\[\]|\\]*'
      || '|[A-Za-z_.!?-]{6,}(?=[ \t\r]*(?:\n|$)))',
    'any value', 'session', 'the usual forms of env files and YAML'),
  ('any-labelled-value', 'any value with a digit behind a label such as password, in several languages', '(?i)'
    || secrets.labels_of_passwords(),
    secrets.labelled_value(secrets.labels_of_passwords(), '[^\s"''`|<>«»“”„‘’\\]*[0-9][^\s"''`|<>«»“”„‘’*_\\]*'), 'any value',
    'session', 'the usual forms of notes'),
  ('any-long-token', 'every 32 or more letters and digits in a row, hashes and ids of commits, too', '[A-Za-z0-9]{32}',
    '[A-Za-z0-9]{32,}', 'any', 'session', 'length');

-- How people note secrets for each other: labels in several languages, what stands between label and value, and commands that
-- take a password.
create function secrets.labels_of_passwords() returns text language sql immutable parallel safe
-- Some letters may follow the word: many languages write its cases and articles at its end.
return '(?:pass(?:wd|word|phrase|code|wort|ord)|pwd|\mpw\M|kennwort|mot de passe|contrase(?:ñ|n|ny)a|senha|parol[aă]|parool'
  || '|wachtwoord|has[lł][oaeu]|hesl[oaeu]|l[oö]senord|adgangskode|salasana|jelsz[oóa]|lozink[aeu]|geslo|slapta[zž]od'
  || '|[sşŞ]ifre|kata sandi|mật khẩu|[κΚ]ωδικ[όο]ς|[пП]арол|ПАРОЛ|лозинк'
  || '|密码|密碼|口令|パスワード|비밀번호|암호|كلمة المرور|كلمة السر|رمز عبور|סיסמ[אה]|पासवर्ड|รหัสผ่าน)[a-zà-žа-яіА-Я]{0,3}?';
comment on function secrets.labels_of_passwords is 'An expression for the word password in the callers'' languages.';

create function secrets.labels_of_tokens() returns text language sql immutable parallel safe
return '(?:(?:api|access|secret|private|auth|account|master|signing|encryption)[ _-]?key|secret|token|credentials?)';
comment on function secrets.labels_of_tokens is 'A regular expression for the words by which people name tokens and keys.';

create function secrets.labelled_value(labels text, value text) returns text language sql immutable parallel safe
-- The shortest match is taken, so that the first value behind a label is looked at. In a document an escaped line break is
-- written \n.
return '(?i)' || labels || '[*_"''`\])]{0,3}?(?:[ \t]+[^\s:：=＝|→>\\]+){0,6}'
  || '[*_"''`]{0,3}(?:[ \t]*(?:[:：=＝|→⇒➜➔⟶]+|[–—=-]{1,2}>|</t[dh]>\s*<td[^>]*>)|[ \t]+[–—-]{1,2}(?=\s)'
  || '|[ \t]+(?:is|was|are|to|as|ist|lautet|est|es|este|é|è|jest|är|er|είναι)'
  || '(?:[ \t]+(?:now|currently|still|again|jetzt|nun|aktuell|maintenant|ahora|ora|adesso|agora|nu|teraz))?(?=\s)|[是为は][:：]?'
  || '|[ \t]+(?=["''`«„“‘]))'
  || '[*_]{0,3}(?:\\[nrt]|\s|</?[a-z][a-z0-9]{0,9}>){0,8}[*_"''`«„“‘(\\]{0,3}'
  || '(' || value || ')(?![^\s"''`|<>«»“”„‘’*_\\])';
comment on function secrets.labelled_value is 'A regular expression for a label, up to six words, a sign or verb, and a value, '
  'as in **Password** for staging: …, also with a line break or the border of a table between them. Its capturing group is the '
  'value.';

create function secrets.labelled_passwords() returns text language sql immutable parallel safe
-- A password has a digit or sign, or 20 characters.
return secrets.labelled_value(
  secrets.labels_of_passwords(), '[^\s"''`|<>«»“”„‘’\\]*[0-9!#$%^&?~][^\s"''`|<>«»“”„‘’*_\\]*|[^\s"''`|<>«»“”„‘’*_\\]{20,}');
comment on function secrets.labelled_passwords is 'A regular expression for a password behind a label.';

create function secrets.labelled_tokens() returns text language sql immutable parallel safe
return secrets.labelled_value(secrets.labels_of_tokens(), '[^\s"''`|<>«»“”„‘’*\\]{19,}[^\s"''`|<>«»“”„‘’*_\\]');
comment on function secrets.labelled_tokens is 'A regular expression for a token or key behind a label.';

create function secrets.command_lines() returns text language sql immutable parallel safe
return '(?:curl|login|redis-cli|sshpass|mysql|mariadb|mongo|htpasswd|openssl|zip|7za?|sqlcmd|bcp|ldap|keytool|jarsigner'
  || '|smbclient|rpcclient|plink|pscp|psftp|lftp|ipmitool|https?|xh|cqlsh|influx'
  || '|mosquitto_[ps]ub|snmp|isql|beeline)[a-z-]*(?:[ \t][^\n]*)?[ \t](?:-[A-Za-z]|--(?:user|proxy-user|pass)[ \t=])|sqlplus[ \t]'
  || '|wpa_passphrase[ \t]|rabbitmqctl[ \t]|machine\s+[^\s]+\s+login|:(?:5432|5433|6432|\*):';
comment on function secrets.command_lines is 'A regular expression that matches where a command that takes a password may stand.';

-- One alternative for each command or file. Between a command and its option stands no other command.
create function secrets.passwords_of_commands() returns text language sql immutable parallel safe
return (
  select '(?:' || string_agg(c, '|') || ')["'']?([^\s"''`|;&<>()$\[][^\s"''`|;&<>()]{5,})'
  from unnest(array[
    '(?:mysql|mariadb)[a-z-]*[ \t](?:[^\n|;&]*[ \t])?-p["'']?(?!ort|rotocol)',
    'curl[ \t](?:[^\n|;]*[ \t])?(?:-[A-Za-z]{0,6}[uU]|--(?:proxy-)?user)[ \t=]{0,2}["'']?[^\s:"''$]+:',
    '\m(?:https?|xh)[ \t](?:[^\n|;&]*[ \t])?(?:-a|--auth)[ \t=]["'']?[^\s:"''$]+:',
    '(?:docker|podman|nerdctl|buildah|skopeo|crane|oras|helm|oc|az|cf|kubectl|heroku|npm|gcloud|argocd|vault)[ \t]'
      '(?:[^\n|;&]*[ \t])?login[ \t](?:[^\n|;&]*[ \t])?-p[ \t=]',
    'redis-cli[ \t](?:[^\n|;&]*[ \t])?(?:-a|--pass)[ \t=]',
    'sshpass[ \t]+-p[ \t]?',
    'mongo[a-z]*[ \t](?:[^\n|;&]*[ \t])?-p[ \t]?',
    'htpasswd[ \t]+-[a-zA-Z]*b[a-zA-Z]*[ \t]+[^\s]+[ \t]+[^\s]+[ \t]+',
    'openssl[ \t][^\n|;&]*pass:',
    '\m(?:un)?zip[ \t](?:[^\n|;&]*[ \t])?-P[ \t]?',
    '\m7za?[ \t](?:[^\n|;&]*[ \t])?-p(?=[^\s])',
    '(?:sqlcmd|bcp|ipmitool)[ \t](?:[^\n|;&]*[ \t])?-P[ \t]?',
    '\mldap[a-z]+[ \t](?:[^\n|;&]*[ \t])?-w[ \t]?',
    '(?:keytool|jarsigner)[ \t](?:[^\n|;&]*[ \t])?-[a-z]*pass[ \t]',
    '(?:smbclient|rpcclient)[ \t](?:[^\n|;&]*[ \t])?-U[ \t]?["'']?[^\s%"'']+%',
    '(?:plink|pscp|psftp)[ \t](?:[^\n|;&]*[ \t])?-pw[ \t]',
    'lftp[ \t](?:[^\n|;&]*[ \t])?-u[ \t]?[^\s,]+,',
    '(?:cqlsh|influx)[ \t](?:[^\n|;&]*[ \t])?(?:-p|-password)[ \t]',
    'sqlplus[ \t]+(?:-[A-Za-z]+[ \t]+)*[^\s/"''@]+/',
    'mosquitto_[ps]ub[ \t](?:[^\n|;&]*[ \t])?-P[ \t]?',
    '\msnmp[a-z]+[ \t](?:[^\n|;&]*[ \t])?-[AX][ \t]?',
    '\misql[ \t](?:[^\n|;&]*[ \t])?-P[ \t]?',
    '\mbeeline[ \t](?:[^\n|;&]*[ \t])?-p[ \t]',
    'wpa_passphrase[ \t]+(?:"[^"\n]*"|''[^''\n]*''|[^\s]+)[ \t]+',
    'rabbitmqctl[ \t]+(?:add_user|change_password)[ \t]+[^\s]+[ \t]+',
    -- The files .netrc and .pgpass.
    'machine\s+[^\s]+\s+login\s+[^\s]+\s+password\s+',
    '(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\*):(?:5432|5433|6432|\*):[^\s:/]+:[^\s:/]+:'
  ]) as c);
comment on function secrets.passwords_of_commands is 'An expression for a password in a command or a file that one reads.';

create function secrets.password_columns() returns text language sql immutable parallel safe
return '(?i)\|[ \t]*[*_`]{0,3}' || secrets.labels_of_passwords() || '[^\n|]*\||(?:[,;\t"]|\\[nt]|^|\n)[ "''\\]{0,3}'
  || secrets.labels_of_passwords()
  || '["''\\]{0,2}(?:[,;\t]|\r?\n|\\[nrt])';
comment on function secrets.password_columns is 'A regular expression for a column of passwords in the head of a table.';

create function secrets.passwords_in_columns() returns text language sql immutable parallel safe
-- The first row of values that has something in the column, which is counted from the left.
return (
  select '(?iw)(?:' || string_agg(format(
    '^[ \t]*\|(?:[^|\n]*\|){%1$s}[ \t]*[*_`]{0,2}%2$s[^|\n]*\|[^\n]*\n[ \t]*\|[ \t]*:?-[^\n]*\n[ \t]*\|(?:[^|\n]*\|){%1$s}'
    '[ \t]*|^(?:[^,;\t\n]*[,;\t]){%1$s}[ \t"'']*%2$s["'']?(?:[,;\t][^\n]*)?\n(?:[^,;\t\n]*[,;\t]){%1$s}[ \t"'']*',
    n, secrets.labels_of_passwords()), '|') || ')[`*_]{0,2}([^\s|,;"''`]{6,})'
  from generate_series(0, 5) as n);
comment on function secrets.passwords_in_columns is 'An expression for the password in the first row of a table: its group.';

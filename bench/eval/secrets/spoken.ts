// Passwords as people note them for each other, type them into shells, and disguise them.
import { ALPHABETS, type Maker } from './made-up.ts';

const { LOWER, DIGITS, BASE62 } = ALPHABETS;

export function spoken({ of, oneOf, password }: Maker): Record<string, () => string> {
  const token = () => `ghp_${of(BASE62, 36)}`;
  const cut = (text: string, at: number, between: string) => text.slice(0, at) + between + text.slice(at);
  const moved = (text: string, by: number) =>
    text.replace(/[!-~]/g, (sign) => String.fromCodePoint(sign.codePointAt(0)! + by));
  return {
    'bold label': () => `Access to staging\n\n**Password:** ${password()}\n**User:** ada`,
    'label with a bold value': () => `Login: ada, Password: **${password()}**`,
    'label in a list': () => `- user: ada\n- *password*: ${password()}\n- port: 5432`,
    'label and code': () => `The database password: \`${password()}\` (rotates in May)`,
    'table cell': () => `| user | ada |\n|---|---|\n| password | ${password()} |`,
    'table row': () => `| host | user | password |\n|---|---|---|\n| db.internal | app | ${password()} |`,
    'table cell of html': () => `<tr><td>Password</td><td>${password()}</td></tr>`,
    'password for a place': () => `password for staging: ${password()}`,
    'password for a user': () => `Password for user app on db.internal is ${password()}`,
    'password of a place': () => `The password of the staging database is ${password()} since Monday.`,
    'passphrase of a key': () => `the passphrase of Ada's key is "${password()}"`,
    'password set to': () => `I have set the admin password to ${password()} and restarted it.`,
    arrow: () => `password -> ${password()}`,
    'long arrow': () => `root password → ${password()}`,
    'double arrow': () => `password => ${password()}`,
    'value in the next line': () => `Password:\n${password()}\n\nUser:\nada`,
    'indented value in the next line': () => `Admin password:\n\n    ${password()}\n`,
    'user and password': () => `login with ada / ${password()} (user / password)`,
    'label in German': () => `Das ${oneOf(['Passwort', 'Kennwort'])} lautet ${password()}`,
    'label with a colon in German': () => `Passwort: ${password()}`,
    'label in French': () => `Mot de passe : ${password()}`,
    'label in Spanish': () => `Contraseña: ${password()}`,
    'label in Portuguese': () => `A senha é ${password()}`,
    'label in Italian': () => `parola d'ordine: ${password()}`,
    'label in Dutch': () => `Wachtwoord: ${password()}`,
    'label in Polish': () => `Hasło: ${password()}`,
    'label in Russian': () => `Пароль: ${password()}`,
    'label in Turkish': () => `Şifre: ${password()}`,
    'label in Chinese': () => `密码：${password()}`,
    'label in Japanese': () => `パスワード：${password()}`,
    'label in Korean': () => `비밀번호: ${password()}`,
    'label in Arabic': () => `كلمة المرور: ${password()}`,
    curl: () => `curl -s -u admin:${password()} https://ci.example.com/job/build`,
    'curl with a long option': () => `curl --user 'deploy:${password()}' -O https://files.example.com/app.tgz`,
    'docker login': () => `docker login -u ci -p ${password()} registry.example.com`,
    'redis-cli': () => `redis-cli -h cache.internal -a ${password()} ping`,
    sshpass: () => `sshpass -p '${password()}' ssh deploy@10.0.0.4 uptime`,
    'sshpass without a space': () => `sshpass -p${of(LOWER, 4)}${of(DIGITS, 3)}!X ssh root@10.0.0.4`,
    wget: () => `wget --user=ada --password=${password()} https://files.example.com/a.zip`,
    htpasswd: () => `htpasswd -bc /etc/nginx/users ada ${password()}`,
    openssl: () => `openssl rsa -in key.pem -passin pass:${password()} -out plain.pem`,
    mongo: () => `mongosh --host db -u root -p ${password()} --authenticationDatabase admin`,
    unzip: () => `unzip -P ${password()} backup.zip`,
    sqlcmd: () => `sqlcmd -S db,1433 -U sa -P ${password()} -Q "select 1"`,
    keytool: () => `keytool -list -keystore app.jks -storepass ${password()}`,
    ldapsearch: () => `ldapsearch -x -D cn=admin,dc=example -w ${password()} -b dc=example`,
    'full-width letters': () => `use ${moved(token(), 0xfee0)} for the build`,
    'full-width label and value': () => `password：${moved(`${of(LOWER, 5)}${of(DIGITS, 4)}!`, 0xfee0)}`,
    'a token cut by a newline': () => `use ${cut(token(), 17, '\n')} for the build`,
    'a token cut by an indented newline': () => `token of the build:\n    ${cut(token(), 23, '\n    ')}\n`,
    'a spaced token': () => `use ${[...token()].join(' ')} for the build`,
    'a token with soft hyphens': () => `use ${[...token()].join('\u00ad')} for the build`,
    'a token of entities': () => `use ${token().replace(/[a-z]/g, (c) => `&#${c.codePointAt(0)};`)} for the build`,
  };
}

// Passwords as people note and type them are found; words beside such labels, public addresses and identifiers are not.

import { lookLikeSecrets } from '../../../bench/eval/secrets/look-like.ts';
import { makerFrom } from '../../../bench/eval/secrets/made-up.ts';
import { describeOnEmbedded } from '../support/on-engine.ts';
import { useTestDatabase } from '../support/test-database.ts';

const PASSWORD = 'Xq7-wz3K9';

describeOnEmbedded('a password as people write it', () => {
  const db = useTestDatabase({ rollsBack: true });
  const find = (text: string) =>
    db.sql('C', 'select pattern, position, length, severity from public.find_secrets($1)', [text]);
  /** The patterns for which a save was refused: the guard looks as find_secrets() does, so that one text of each is saved, too. */
  const refused = new Set<string>();
  const refuses = (text: string) =>
    expect(db.sql('C', "select public.save_memory($1, project_id => 'l9')", [text]), text).rejects.toMatchObject({
      code: 'L9SEC',
    });

  it.each([
    `**Password:** ${PASSWORD}`,
    `__Password__ - see below: ${PASSWORD}`,
    `| password | ${PASSWORD} |`,
    `| Host | User | Passphrase |\n|:--|---|--:|\n| db | ada | ${PASSWORD} |`,
    `host,user,password\ndb,ada,${PASSWORD}\n`,
    `password for staging: ${PASSWORD}`,
    `The password of the old database on db.internal is ${PASSWORD}.`,
    `password -> ${PASSWORD}`,
    `Password ⇒ ${PASSWORD}`,
    `Password:\n\n    ${PASSWORD}\n`,
    `Passwort: ${PASSWORD}`,
    `Das Kennwort für den Server lautet ${PASSWORD}`,
    `mot de passe : ${PASSWORD}`,
    `La contraseña es ${PASSWORD}`,
    `Senha: ${PASSWORD}`,
    `Lösenord: ${PASSWORD}`,
    `Hasło do bazy: ${PASSWORD}`,
    `Пароль: ${PASSWORD}`,
    `密码：${PASSWORD}`,
    `パスワードは${PASSWORD}`,
    `비밀번호: ${PASSWORD}`,
    `curl -sSu ada:${PASSWORD} https://x.example.com`,
    `curl --user=ada:${PASSWORD} https://x.example.com`,
    `docker login registry.example.com -u ada -p ${PASSWORD}`,
    `podman login --username ada -p '${PASSWORD}'`,
    `redis-cli -h cache -a ${PASSWORD} ping`,
    `sshpass -p ${PASSWORD} ssh ada@db`,
    `mongosh -u root -p ${PASSWORD}`,
    `http -a ada:${PASSWORD} x.example.com`,
    `smbclient -U ada%${PASSWORD} //host/share`,
    `openssl enc -aes-256-cbc -pass pass:${PASSWORD}`,
    `sqlplus app/${PASSWORD}@db`,
    `_Passphrase_ — ${PASSWORD}`,
    `пароль від пошти – ${PASSWORD}`,
    `FYI the root password is now "${PASSWORD}"`,
    `Das Passwort ist jetzt ${PASSWORD}`,
    `pw → ${PASSWORD}`,
    `Lösenordet är ${PASSWORD}`,
    `Adgangskoden: ${PASSWORD}`,
    `salasana: ${PASSWORD}`,
    `Lozinka za bazu: ${PASSWORD}`,
    `Ο κωδικός: ${PASSWORD}`,
    `पासवर्ड: ${PASSWORD}`,
    `Parola serverului este ${PASSWORD}`,
    `<b>Password:</b> <code>${PASSWORD}</code>`,
    `Remove the password "${PASSWORD}" from the file`,
    'the passphrase of the vault: `maple-tQRna-31`',
    'redis-cli -h cache -a hJmKwertzBQ4 ping',
    'docker login -u ci -p lanternfish8 registry.example.com',
    'machine api.example.com\n  login ci\n  password sunflower7',
    'db.internal:5432:shop:app:sunflower7',
    'wpa_passphrase "Home Net" sunflower7',
    'rabbitmqctl add_user ada sunflower7',
    'mosquitto_sub -h broker -u ada -P sunflower7 -t sensors/#',
    'snmpwalk -v3 -u ada -A sunflower7 switch',
  ])('is found and refused: %s', async (text) => {
    const found = await find(text);
    expect(
      found.map(({ severity, position, length }) => [
        severity,
        [...text].slice(position - 1, position - 1 + length).join(''),
      ]),
    ).toContainEqual([
      'credential',
      expect.stringMatching(/Xq7-wz3K|maple-tQRna-31|hJmKwertzBQ4|lanternfish8|sunflower7/),
    ]);
    if (found.some(({ pattern }) => !refused.has(pattern))) await refuses(text);
    for (const { pattern } of found) refused.add(pattern);
  });

  it.each([
    '**Password:** the one that you chose in 2024',
    '| password | string, 12 to 64 characters | required |',
    'password for staging: ask Ada, it is in 1Password',
    'Settings -> Password -> Change (version 2.41)',
    'Das Passwort: mindestens 12 Zeichen, höchstens 64.',
    '密码：至少 12 个字符。',
    'The password of the user expires in 90 days, on 2026-03-01.',
    'curl -u "$CI_USER:$CI_PASSWORD" https://x.example.com/job/1234',
    'docker run -p 8080:8080 -u 1000:1000 app && redis-cli -a "$REDIS_PASSWORD" ping',
    'Environment=JWT_SECRET_FILE=%d/jwt-secret',
    'POSTGRES_PASSWORD_FILE=/run/secrets/db-password-2',
    'LoadCredential=database-url:/etc/l9-memory/database-url2',
    'passport: K1234567, passenger_id: 4711a0815',
    'password_changed_at: 2026-03-01T10:00:00Z',
    '密码：至少12个字符，最多64个。',
    'password - see the wiki page from 2024',
    'The password is now optional since version 2.41.',
    'Passwords: 3 attempts, then a pause of 15 minutes',
    'failed at src/shop.test.ts:5432:shop:error',
    'the machine room login is password protected since 2019',
    'redis-cli -a "$REDIS_PASSWORD" -h cache && mosquitto_sub -h broker -t sensors/24',
    'passwordless login: ssh key 4',
    "password_encryption = 'scram-sha-256' and secretName: app-tls-x7k2p",
  ])('is not seen in %s', async (text) => {
    expect(await find(text)).toStrictEqual([]);
  });

  it.each(Object.keys(lookLikeSecrets(makerFrom(8))))('finds nothing in the harmless %s', async (kind) => {
    const made = lookLikeSecrets(makerFrom(99));
    const text = Array.from({ length: 5 }, () => made[kind]!()).join('\n\n');
    const found = (await find(text)).filter(({ severity }) => severity === 'credential');
    expect(found, text).toStrictEqual([]);
  });

  it('saves the fingerprint of a key, as ssh-keygen prints it', async () => {
    const [row] = await db.sql('C', "select (public.save_memory($1, project_id => 'l9')).status", [
      'The host has SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDdMuZRfCWw5dvCgQo (ED25519)',
    ]);
    expect(row.status).toBe('inserted');
  });

  it('takes an address with a wrong checksum, and a private key in the same alphabet, for a secret', async () => {
    const made = lookLikeSecrets(makerFrom(99));
    const address = /(?:to|wallet:) (\S+)/.exec(made['bech32 address']!())![1]!;
    const wrong = address.replace(/.$/, (c) => (c === 'q' ? 'p' : 'q'));
    expect(await find(`paid to ${wrong}`)).toHaveLength(1);
    // A private key of Bitcoin has 32 bytes, not 20.
    const { of } = makerFrom(3);
    expect(await find(`use K${of('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 51)}`)).toHaveLength(1);
    expect(await find(`private_key = 0x${of('0123456789abcdef', 64)}`)).not.toStrictEqual([]);
  });
});

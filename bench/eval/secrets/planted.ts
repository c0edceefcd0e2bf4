// Made-up secrets in the formats that their providers publish, each in surroundings in which people meet them. All are put together
// from parts when the evaluation runs, so that no file holds anything that a scanner or a reader takes for a real key.
// This set judges the patterns of db/schema/036-secrets: nothing here is derived from them.

import { ALPHABETS, makerFrom } from './made-up.ts';
import { spoken } from './spoken.ts';
import { providerTokens } from './tokens.ts';

export interface Planted {
  /** Whose secret it is. */
  provider: string;
  /** Where it stands. */
  surroundings: string;
  text: string;
}

const { UPPER, DIGITS, BASE62, BASE64, URL64, HEX, BASE32, BASE36 } = ALPHABETS;

export function plantSecrets(seed = 20_261_123): Planted[] {
  const made = makerFrom(seed);
  const { random, of, oneOf, bytes, password } = made;
  const wrapped = (text: string, width: number) => text.match(new RegExp(`.{1,${width}}`, 'g'))!.join('\n');
  const pem = (label: string, size: number, header = '') =>
    `${'-'.repeat(5)}BEGIN ${label}${'-'.repeat(5)}\n${header}${wrapped(bytes(size).toString('base64'), 64)}\n${'-'.repeat(5)}END ${label}${'-'.repeat(5)}`;
  const jwt = (alg: string) => {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    return `${part({ alg, typ: 'JWT' })}.${part({ sub: of(DIGITS, 10), name: 'Ada', iat: 1_700_000_000, exp: 1_800_000_000 })}.${of(URL64, 43)}`;
  };
  // Tokens that are known by their form alone.
  const tokens: Record<string, () => string> = {
    'aws access key id': () => `${oneOf(['AKIA', 'ASIA'])}${of(BASE32, 16)}`,
    'github personal token': () => `ghp_${of(BASE62, 36)}`,
    'github oauth token': () => `gho_${of(BASE62, 36)}`,
    'github server token': () => `ghs_${of(BASE62, 36)}`,
    'github refresh token': () => `ghr_${of(BASE62, 36)}`,
    'github fine-grained token': () => `github_pat_${of(BASE62, 22)}_${of(BASE62, 59)}`,
    'gitlab personal token': () => `glpat-${of(URL64, 20)}`,
    'gitlab deploy token': () => `gldt-${of(URL64, 20)}`,
    'gitlab runner token': () => `glrt-${of(URL64, 20)}`,
    'npm token': () => `npm_${of(BASE62, 36)}`,
    'pypi token': () => `pypi-AgEIcHlwaS5vcmc${of(URL64, 120)}`,
    'slack bot token': () => `xoxb-${of(DIGITS, 12)}-${of(DIGITS, 13)}-${of(BASE62, 24)}`,
    'slack user token': () => `xoxp-${of(DIGITS, 12)}-${of(DIGITS, 12)}-${of(DIGITS, 12)}-${of(HEX, 32)}`,
    'slack app token': () => `xapp-1-A${of(UPPER + DIGITS, 10)}-${of(DIGITS, 13)}-${of(HEX, 64)}`,
    'slack webhook': () =>
      `https://hooks.slack.com/services/T${of(UPPER + DIGITS, 8)}/B${of(UPPER + DIGITS, 10)}/${of(BASE62, 24)}`,
    'stripe secret key': () => `sk_live_${of(BASE62, 24)}`,
    'stripe long secret key': () => `sk_live_51${of(BASE62, 97)}`,
    'stripe restricted key': () => `rk_live_${of(BASE62, 24)}`,
    'stripe test key': () => `sk_test_${of(BASE62, 24)}`,
    'stripe webhook secret': () => `whsec_${of(BASE62, 32)}`,
    'google api key': () => `AIza${of(URL64, 35)}`,
    'google oauth secret': () => `GOCSPX-${of(URL64, 28)}`,
    'google oauth access token': () => `ya29.${of(URL64, 68)}`,
    'openai key': () => `sk-${of(BASE62, 20)}T3BlbkFJ${of(BASE62, 20)}`,
    'openai project key': () => `sk-proj-${of(URL64, 74)}T3BlbkFJ${of(URL64, 74)}`,
    'openai service key': () => `sk-svcacct-${of(URL64, 74)}T3BlbkFJ${of(URL64, 74)}`,
    'anthropic key': () => `sk-ant-api03-${of(URL64, 93)}AA`,
    'anthropic admin key': () => `sk-ant-admin01-${of(URL64, 93)}AA`,
    'twilio account key': () => `SK${of(HEX, 32)}`,
    'sendgrid key': () => `SG.${of(URL64, 22)}.${of(URL64, 43)}`,
    'hugging face token': () => `hf_${of(BASE62, 34)}`,
    'digitalocean token': () => `dop_v1_${of(HEX, 64)}`,
    'shopify token': () => `shpat_${of(HEX, 32)}`,
    'databricks token': () => `dapi${of(HEX, 32)}`,
    'linear key': () => `lin_api_${of(BASE62, 40)}`,
    'notion token': () => `ntn_${of(DIGITS, 11)}${of(BASE62, 35)}`,
    'grafana service token': () => `glsa_${of(BASE62, 32)}_${of(HEX, 8)}`,
    'vault token': () => `hvs.${of(URL64, 95)}`,
    'mailgun key': () => `key-${of(HEX, 32)}`,
    'mailchimp key': () => `${of(HEX, 32)}-us${1 + Math.floor(random() * 20)}`,
    'discord bot token': () => `${oneOf(['M', 'N'])}${of(BASE62, 23)}.${of(URL64, 6)}.${of(URL64, 38)}`,
    'telegram bot token': () => `${of('123456789', 1)}${of(DIGITS, 9)}:AA${of(URL64, 33)}`,
    'docker hub token': () => `dckr_pat_${of(URL64, 27)}`,
    'postman key': () => `PMAK-${of(HEX, 24)}-${of(HEX, 34)}`,
    'age secret key': () => `AGE-SECRET-KEY-1${of('QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)}`,
    jwt: () => jwt(oneOf(['HS256', 'RS256', 'ES256'])),
    'long random token': () => `${of(BASE62, 16)}9zQ4${of(BASE62, 28)}`,
  };

  const inSurroundings: Record<string, (secret: string) => string> = {
    sentence: (s) => `For the deployment on Friday use ${s} until the rotation next week, then ask Ada for a new one.`,
    'shell session': (s) => `$ cd ~/api\n$ export DEPLOY_CREDENTIAL=${s}\n$ make release\nok 14 files uploaded`,
    'env file': (s) => `NODE_ENV=production\nPORT=8080\nSERVICE_CREDENTIAL=${s}\nLOG_LEVEL=info\n`,
    typescript: (s) => `export const client = new Client({\n  region: 'eu-central-1',\n  credential: '${s}',\n});\n`,
    json: (s) => JSON.stringify({ name: 'staging', retries: 3, client: { value: s, region: 'eu' } }, null, 2),
    yaml: (s) => `services:\n  api:\n    environment:\n      - SERVICE_CREDENTIAL=${s}\n    ports: ["8080:8080"]\n`,
    log: (s) =>
      `2026-03-01T10:11:12.123Z INFO [worker-3] request id=7f21 upstream rejected credential ${s} after 132 ms\n2026-03-01T10:11:12.130Z WARN [worker-3] giving up`,
    'stack trace': (s) =>
      `Error: request failed: credential "${s}" was refused\n    at call (/srv/app/client.js:31:11)\n    at async main (/srv/app/main.js:8:3)`,
    diff: (s) =>
      `diff --git a/config.py b/config.py\nindex 83db48f..bf269f4 100644\n--- a/config.py\n+++ b/config.py\n@@ -1,2 +1,2 @@\n-CREDENTIAL = None\n+CREDENTIAL = "${s}"\n`,
    'url-encoded form': (s) => `POST /login\n\nuser=ada&next=%2Fhome&value=${encodeURIComponent(s)}&keep=1`,
    'escaped json in json': (s) => JSON.stringify({ body: JSON.stringify({ value: s, ok: true }) }),
    markdown: (s) => `## Access\n\n| what | value |\n|---|---|\n| staging | \`${s}\` |\n\nRotate monthly.`,
  };

  const planted: Planted[] = [];
  const add = (provider: string, surroundings: string, text: string) => planted.push({ provider, surroundings, text });

  const places = Object.keys(inSurroundings);
  let turn = 0;
  for (const [provider, make] of Object.entries(tokens)) {
    for (let n = 0; n < 5; n++) {
      const place = places[turn++ % places.length]!;
      add(provider, place, inSurroundings[place]!(make()));
    }
  }

  // Keys of files, whole, cut short, escaped, indented, quoted and encoded.
  for (const label of ['RSA ', 'EC ', 'DSA ', '', 'ENCRYPTED ', 'OPENSSH '].map((kind) => `${kind}PRIVATE KEY`)) {
    const key = () => pem(label, 300);
    add(label, 'file', key());
    add(label, 'cut short', `here is the key:\n${key().split('\n').slice(0, 4).join('\n')}`);
    add(label, 'escaped in json', JSON.stringify({ type: 'service_account', data: key() }));
    add(label, 'indented in yaml', `tls:\n  key: |\n${key().replace(/^/gm, '    ')}`);
    add(label, 'base64 of a key file', `kubectl shows\n  tls.key: ${Buffer.from(key()).toString('base64')}`);
    add(label, 'url-encoded', `cert=none&data=${encodeURIComponent(key())}`);
    add(label, 'one line of env', `TLS_KEY="${key().replaceAll('\n', '\\n')}"`);
  }
  add('PGP', 'file', pem('PGP PRIVATE KEY BLOCK', 500, 'Version: GnuPG v2\n\n'));
  add('PGP', 'quoted in mail', pem('PGP PRIVATE KEY BLOCK', 500, '\n').replace(/^/gm, '> '));
  add(
    'PuTTY',
    'file',
    `PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: ada\nPublic-Lines: 2\n${wrapped(bytes(80).toString('base64'), 64)}\nPrivate-Lines: 1\n${bytes(36).toString('base64')}\nPrivate-MAC: ${of(HEX, 64)}`,
  );

  // Secrets that only the name beside them gives away.
  const named: Record<string, () => string> = {
    'aws secret key': () => `aws_secret_access_key = ${of(BASE64, 40)}`,
    'aws secret key in json': () => JSON.stringify({ SecretAccessKey: of(BASE64, 40), Version: 1 }),
    'aws session token': () => `export AWS_SESSION_TOKEN="${bytes(180).toString('base64')}"`,
    'azure storage key': () =>
      `DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=${bytes(64).toString('base64')};EndpointSuffix=core.windows.net`,
    'azure client secret': () => `AZURE_CLIENT_SECRET=${of(BASE62, 3)}8Q~${of(`${URL64}.~`, 34)}`,
    'azure signature': () =>
      `https://acme.blob.core.windows.net/c/f?sv=2022-11-02&se=2027-01-01&sr=b&sp=r&sig=${encodeURIComponent(bytes(32).toString('base64'))}`,
    'twilio auth token': () => `TWILIO_AUTH_TOKEN=${of(HEX, 32)}`,
    'datadog key': () => `DD_API_KEY=${of(HEX, 32)}`,
    'heroku key': () => `HEROKU_API_KEY=${of(HEX, 8)}-${of(HEX, 4)}-${of(HEX, 4)}-${of(HEX, 4)}-${of(HEX, 12)}`,
    'cloudflare key': () => `CLOUDFLARE_API_TOKEN: "${of(URL64, 40)}"`,
    'bearer header': () => `Authorization: Bearer ${of(BASE62, 40)}`,
    'bearer in curl': () => `curl -s -H "authorization: bearer ${of(URL64, 32)}" https://api.example.com/v1/me`,
    'basic header': () => `Authorization: Basic ${Buffer.from(`ada:${password()}`).toString('base64')}`,
    'basic in json': () =>
      JSON.stringify({ headers: { Authorization: `Basic ${Buffer.from(`svc:${password()}`).toString('base64')}` } }),
    'x-api-key header': () => `X-Api-Key: ${of(BASE62, 30)}`,
    'postgres url': () => `DATABASE_URL=postgres://app:${encodeURIComponent(password())}@db.internal:5432/app`,
    'mysql url': () => `mysql://root:${encodeURIComponent(password())}@10.1.2.3/shop`,
    'mongodb url': () =>
      `mongodb+srv://admin:${encodeURIComponent(password())}@cluster0.ab1cd.mongodb.net/?retryWrites=true`,
    'redis url': () => `redis://:${encodeURIComponent(password())}@cache:6379/0`,
    'amqp url': () => `broker = "amqps://worker:${encodeURIComponent(password())}@mq.internal/vhost"`,
    'https url': () => `git clone https://deploy:${of(BASE62, 20)}@git.example.com/acme/app.git`,
    'url-encoded url': () => `next=${encodeURIComponent(`postgres://app:${of(BASE62, 12)}@db:5432/app`)}`,
    'jdbc url': () => `jdbc:postgresql://db:5432/app?user=app&password=${of(BASE62, 12)}`,
    'odbc string': () => `Server=tcp:db,1433;Database=app;User ID=sa;Password=${password()};Encrypt=True;`,
    'libpq string': () => `psql "host=db user=app password=${of(BASE62, 12)} dbname=app"`,
    'env password': () => `DB_PASSWORD=${password()}`,
    'exported secret': () => `export SECRET_KEY=${of(`${BASE62}!#%`, 20)}`,
    'quoted password': () => `const db = connect({ user: 'app', password: '${password()}' });`,
    'json password': () => JSON.stringify({ user: 'app', password: password() }),
    'escaped json password': () => JSON.stringify({ line: JSON.stringify({ user: 'app', password: password() }) }),
    'yaml password': () => `database:\n  user: app\n  password: ${password()}\n  pool: 5\n`,
    'python secret': () => `SECRET_KEY = 'django-insecure-${of(`${BASE36}!@#$%^&*(-_=+)`, 50)}'`,
    'toml token': () => `[registry]\ntoken = "${of(BASE36, 24)}"\n`,
    'npmrc token': () =>
      `//registry.example.com/:_authToken=${of(HEX, 8)}-${of(HEX, 4)}-4${of(HEX, 3)}-a${of(HEX, 3)}-${of(HEX, 12)}`,
    'docker auth': () =>
      JSON.stringify({
        auths: { 'registry.example.com': { auth: Buffer.from(`ci:${password()}`).toString('base64') } },
      }),
    netrc: () => `machine api.example.com login ada password ${password()}`,
    'cli option': () => `mysqldump --user=root --password=${password()} shop > shop.sql`,
    'access token in url': () => `GET https://api.example.com/v1/items?access_token=${of(BASE62, 28)}&page=2`,
    'xml password': () => `<server><id>central</id><username>ci</username><password>${password()}</password></server>`,
    'php define': () => `define('DB_PASSWORD', '${password()}');`,
    'go literal': () => `cfg := Config{User: "app", Password: "${password()}"}`,
    'client secret': () => `client_id=web\nclient_secret=${of(BASE62, 32)}\n`,
    'encryption key': () => `ENCRYPTION_KEY=${bytes(32).toString('base64')}`,
    'kubernetes secret': () =>
      `apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  password: ${Buffer.from(password()).toString('base64')}\n`,
    'sentence with password': () => `The password is ${of(BASE62, 12)}9! for the staging server, user root.`,
    'diff of a password': () => `-password: ENV['DB_PASSWORD']\n+password: "${password()}"`,
  };
  for (const [provider, make] of Object.entries(named))
    for (const around of [
      (s: string) => s,
      (s: string) => `Setup of the staging server, as agreed on Monday:\n\n${s}\n\nRestart it afterwards.`,
    ])
      add(provider, 'its usual place', around(make()));

  // A secret key of AWS has no form of its own: 40 characters of base64, about half of them with a slash.
  for (const place of places) add('aws secret key, bare', place, inSurroundings[place]!(of(BASE64, 40)));

  // These were written later, from a generator of their own: the ones above stay the same.
  const later = makerFrom(seed + 1);
  for (const [provider, make] of Object.entries(providerTokens(later)))
    for (let n = 0; n < 2; n++) {
      const place = places[turn++ % places.length]!;
      add(provider, place, inSurroundings[place]!(make()));
    }
  for (const [surroundings, make] of Object.entries(spoken(later)))
    for (let n = 0; n < 2; n++) add('password', surroundings, make());
  return planted;
}

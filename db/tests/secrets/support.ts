// Made-up secrets, put together when a test runs, so that no scanner takes them for real ones.
const LETTERS = 'q7RzW2mKx9TvB4nLp6YcH8sDf3GjZ5aUe1Vb';
const HEX = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b';
const BASE64 = 'MIIEpAIBAAKCAQEA7bq3VtQx9k+fYz2/hX0wLrTn5JcUoEdSgPvRmWiKyCaBlNj4';
const dashes = '-'.repeat(5);

/** A secret for each built-in pattern for credentials, in a text that holds nothing else. */
export const SECRETS: Readonly<Record<string, string>> = {
  'private-key': `${dashes}BEGIN RSA ${'PRIVATE'} KEY${dashes}\n${BASE64}\n${BASE64}\n${dashes}END RSA ${'PRIVATE'} KEY${dashes}`,
  'putty-private-key': `Private-${'Lines'}: 1\n${BASE64.slice(0, 48)}`,
  'age-secret-key': `AGE-${'SECRET'}-KEY-1${'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE'}`,
  'aws-access-key-id': `AK${'IA'}Q7RZW2MKX4TVB4NL`,
  'github-token': `gh${'p_'}${LETTERS}`,
  'gitlab-token': `gl${'pat-'}${LETTERS.slice(0, 20)}`,
  'npm-token': `np${'m_'}${LETTERS}`,
  'pypi-token': `pypi-${'AgE'}IcHlwaS5vcmc${LETTERS}${LETTERS}`,
  'rubygems-token': `ruby${'gems_'}${HEX}${HEX.slice(0, 8)}`,
  'docker-token': `dckr${'_pat_'}${LETTERS.slice(0, 27)}`,
  'slack-token': `xo${'xb-'}284719305612-7719302845612-${LETTERS.slice(0, 24)}`,
  'slack-webhook': `https://hooks.${'slack'}.com/services/T1A2B3C4D/B1A2B3C4D5E/${LETTERS.slice(0, 24)}`,
  'stripe-key': `sk_${'live_'}${LETTERS.slice(0, 24)}`,
  'google-api-key': `AI${'za'}${LETTERS.slice(0, 35)}`,
  'google-oauth': `GOC${'SPX-'}${LETTERS.slice(0, 28)}`,
  'openai-key': `sk-${'proj-'}${LETTERS}`,
  'anthropic-key': `sk-${'ant-'}api03-${LETTERS}${LETTERS}`,
  'groq-key': `g${'sk_'}${LETTERS}${LETTERS}`,
  'azure-client-secret': `abc${'8Q~'}${LETTERS.slice(0, 34)}`,
  'azure-signature': `https://acme.example.com/c?se=2027-01-01&s${'ig='}${LETTERS}%2B${LETTERS.slice(0, 6)}%3D`,
  'sendgrid-key': `S${'G.'}${LETTERS.slice(0, 22)}.${LETTERS}${LETTERS.slice(0, 7)}`,
  'telegram-token': `7719302845:${'AA'}${LETTERS.slice(0, 33)}`,
  'digitalocean-token': `dop${'_v1_'}${HEX}${HEX.slice(0, 24)}`,
  'shopify-token': `shp${'at_'}${HEX.slice(0, 32)}`,
  'l9-memory-key': `l9${'k_'}example-shop_${LETTERS}_-${LETTERS.slice(0, 5)}`,
  jwt: `ey${'JhbGciOiJIUzI1NiJ9'}.ey${'JzdWIiOiIxMjM0NTY3ODkwIn0'}.${LETTERS}`,
  'twilio-key': `S${'K'}${HEX.slice(0, 32)}`,
  'mail-service-key': `key${'-'}${HEX.slice(0, 32)}`,
  'discord-token': `M${LETTERS.slice(0, 23)}.${LETTERS.slice(0, 6)}.${LETTERS}`,
  'encoded-private-key': Buffer.from(`${dashes}BEGIN ${'PRIVATE'} KEY${dashes}\n${BASE64}\n`).toString('base64'),
  'url-credentials': `postgres://app:${LETTERS.slice(0, 12)}@db.internal:5432/app`,
  'bearer-token': `Authorization: Bear${'er '}${LETTERS.slice(0, 30)}`,
  'basic-credentials': `Authorization: Bas${'ic '}${Buffer.from(`ada:${LETTERS.slice(0, 12)}`).toString('base64')}`,
  'registry-credentials': `{"auth": "${Buffer.from(`ci:${LETTERS.slice(0, 12)}`).toString('base64')}"}`,
  'connection-password': `Server=db;User=sa;P${'wd='}${LETTERS.slice(0, 9)};`,
  'command-line-password': `mysql -h db -uroot -p${LETTERS.slice(0, 9)} shop`,
  'named-secret': `pass${'word'}: "${LETTERS.slice(0, 12)}"`,
  'assigned-secret': `DB_PASS${'WORD'}=${LETTERS.slice(0, 12)}`,
  'labelled-password': `**Pass${'word'}** for staging: ${LETTERS.slice(0, 12)}`,
  'labelled-token': `The access ${'key'} of the build is ${LETTERS.slice(0, 24)}`,
  'password-in-table': `\n| user | pass${'word'} |\n|---|---|\n| ada | ${LETTERS.slice(0, 12)} |`,
  'long-random-token': LETTERS,
  'aws-secret-key': 'q7RzW2mKx9TvB/4nLp6YcH8s+Df3GjZ5aUe1VbXw',
};

/** One text for each pattern for personal data. */
export const PERSONAL: Readonly<Record<string, string>> = {
  'email-address': 'Write to ada.lovelace@analytical-engines.co.uk today.',
  'telephone-number': 'Call +44 20 7946 0958 today.',
  'credit-card': `Charge ${['4539', '1488', '0343', '6467'].join(' ')} today.`,
  iban: `Pay to ${['DE89', '3704', '0044', '0532', '0130', '00'].join(' ')} today.`,
};

export const token = SECRETS['github-token']!;

// Harmless texts that look like secrets: public addresses and ids, words beside names of secrets, and letters set apart.
import { createHash } from 'node:crypto';
import { ALPHABETS, type Maker } from './made-up.ts';

const { LOWER, DIGITS, BASE62, URL64, HEX, BASE36 } = ALPHABETS;
const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const BECH32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';

function base58(data: Buffer): string {
  let number = BigInt(`0x0${data.toString('hex')}`);
  let text = '';
  for (; number > 0n; number /= 58n) text = BASE58[Number(number % 58n)] + text;
  return '1'.repeat(data.findIndex((byte) => byte !== 0)) + text;
}

const sha256 = (data: Buffer) => createHash('sha256').update(data).digest();
const base58Check = (data: Buffer) => base58(Buffer.concat([data, sha256(sha256(data)).subarray(0, 4)]));

function bits(data: Buffer, width: number): number[] {
  const all = [...data].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return all.match(new RegExp(`.{1,${width}}`, 'g'))!.map((piece) => Number.parseInt(piece.padEnd(width, '0'), 2));
}

function bech32(prefix: string, values: number[], constant = 1): string {
  let check = 1;
  const codes = [...prefix].map((letter) => letter.charCodeAt(0));
  for (const value of [...codes.map((c) => c >> 5), 0, ...codes.map((c) => c & 31), ...values, 0, 0, 0, 0, 0, 0]) {
    const top = check >>> 25;
    check = ((check & 0x1ffffff) << 5) ^ value;
    for (const [n, part] of [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3].entries())
      if ((top >> n) & 1) check ^= part;
  }
  check ^= constant;
  const sum = Array.from({ length: 6 }, (_, n) => (check >>> (5 * (5 - n))) & 31);
  return `${prefix}1${[...values, ...sum].map((value) => BECH32[value]).join('')}`;
}

const base32 = (data: Buffer) =>
  bits(data, 5)
    .map((value) => 'abcdefghijklmnopqrstuvwxyz234567'[value])
    .join('');
const multihash =
  (...begin: number[]) =>
  (digest: Buffer) =>
    Buffer.concat([Buffer.from(begin), digest]);

export function lookLikeSecrets({ of, oneOf, bytes, uuid }: Maker): Record<string, () => string> {
  return {
    // Public by their nature.
    'ethereum address': () => `The contract stands at 0x${of(HEX, 40)} on the main chain.`,
    'ethereum token address': () => `token: 0x${of(`${HEX}ABCDEF`, 40)}`,
    'ethereum transaction': () => `See transaction 0x${of(HEX, 64)}, mined in block 19283746.`,
    'bitcoin address': () => `Donate to ${base58Check(Buffer.concat([Buffer.from([0]), bytes(20)]))}, thank you.`,
    'bitcoin script address': () => `paid to ${base58Check(Buffer.concat([Buffer.from([5]), bytes(20)]))} at noon`,
    'tron address': () => `wallet: ${base58Check(Buffer.concat([Buffer.from([0x41]), bytes(20)]))}`,
    'bech32 address': () => `change goes to ${bech32('bc', [0, ...bits(bytes(20), 5)])}`,
    'taproot address': () => `change goes to ${bech32('bc', [1, ...bits(bytes(32), 5)], 0x2bc830a3)}`,
    'cosmos address': () => `delegated to ${bech32(oneOf(['cosmos', 'osmo', 'lumera']), bits(bytes(20), 5))} today`,
    'nostr public key': () => `follow ${bech32('npub', bits(bytes(32), 5))}`,
    'did of a key': () => `did:key:z6Mk${of(BASE58, 44)} signed the statement`,
    'did of plc': () => `The author is did:plc:${of('abcdefghijklmnopqrstuvwxyz234567', 24)}.`,
    'did of ion': () => `issuer: "did:ion:EiC${of(URL64, 43)}"`,
    'did of ethr': () => `subject did:ethr:0x${of(HEX, 40)} and did:web:example.com:user:ada`,
    'cid of version 0': () => `ipfs cat ${base58(multihash(0x12, 0x20)(bytes(32)))} | head`,
    'cid of version 1': () =>
      `https://ipfs.example.com/ipfs/b${base32(multihash(1, 0x70, 0x12, 0x20)(bytes(32)))}/a.png`,
    'cid of raw bytes': () => `pinned b${base32(multihash(1, 0x55, 0x12, 0x20)(bytes(32)))} and its parts`,
    'peer id': () => `/ip4/10.0.0.4/tcp/4001/p2p/12D3KooW${of(BASE58, 44)}`,
    // Names and references beside what are names of secrets.
    'secret in a file': () =>
      `LoadCredential=jwt-secret:/etc/app/jwt-secret\nEnvironment=JWT_SECRET_FILE=%d/jwt-secret${of(DIGITS, 1)}`,
    'password file': () => `POSTGRES_PASSWORD_FILE=/run/secrets/db-password-${of(DIGITS, 3)}`,
    'name of a secret': () => `secretName: app-tls-${of(BASE36, 5)}\nsecretKeyRef: {name: db, key: password}`,
    'table of fields': () =>
      `| field | type | required |\n|---|---|---|\n| password | string, 12 to ${of('123456789', 2)} characters | yes |`,
    'where a password is': () => `password for staging: ask ${oneOf(['Ada', 'the team', 'Grace'])}, it is in the vault`,
    'rule for passwords': () => `The password of a new user is valid for ${of('123456789', 2)} days and then expires.`,
    'rule in German': () => `Das Passwort: mindestens ${of('123456789', 2)} Zeichen, es wird nie gespeichert.`,
    'rule in French': () => `Le mot de passe : au moins ${of('123456789', 2)} caractères.`,
    'arrow to a page': () => `Settings -> Security -> Password -> Change (version 2.${of('123456789', 2)})`,
    'bold heading': () => '**Password:** the one that you chose when you registered.\n\n**Token:** see below.',
    'curl with variables': () => `curl -u "$CI_USER:$CI_PASSWORD" https://ci.example.com/job/${of(DIGITS, 4)}`,
    'docker login from a pipe': () =>
      `echo "$TOKEN" | docker login -u ci --password-stdin r${of(DIGITS, 2)}.example.com`,
    'redis-cli with a variable': () => `redis-cli -h cache-${of(DIGITS, 2)} -a "$REDIS_PASSWORD" ping`,
    'ports of containers': () => `docker run -p ${of('123456789', 4)}:8080 -u 1000:1000 -a stdout app`,
    'password column': () => `password_hash text not null check (length(password_hash) = ${of('123456789', 2)})`,
    'count of tokens': () => `max_tokens: ${of('123456789', 5)}, total_tokens=${of('123456789', 6)}, tokens/s 41.5`,
    'kubernetes pod': () => `pod/token-service-${of(BASE36, 10)}-${of(BASE36, 5)} is running since 2026-03-01`,
    // Letters and lines set apart.
    'spaced heading': () => `C H A P T E R  ${oneOf(['O N E', 'T W O', 'T E N'])}\n\nT h e   B e g i n n i n g`,
    'row of a matrix': () => `${[...of(DIGITS, 30)].join(' ')}\n${[...of(DIGITS, 30)].join(' ')}`,
    'spaced hexadecimal dump': () => `0000: ${of(HEX, 32).replace(/../g, '$& ')} ................`,
    alphabet: () => `a b c d e f g h i j k l m n o p q r s t u v w x y z ${of(DIGITS, 1)}`,
    'full-width text': () => `ＡＰＩは２０２６年${of('123456789', 1)}月に公開。パスワード：１２文字以上。`,
    'list of names': () =>
      `npm_config_cache\nnpm_config_registry\nhf_hub_download\nxai-sdk\nre_compile_${of(LOWER, 5)}`,
    'wrapped prose': () =>
      `The module sk-learn-contrib and the package pypi-\nattestations are built by hand, as is version ${of(DIGITS, 2)} of it.`,
    'entities in prose': () =>
      `Fish &amp; chips cost &#163;${of('123456789', 2)}&nbsp;&mdash; &quot;fresh&quot; &#8230;`,
    'names of classes': () =>
      `sk_toolbar_${of(LOWER, 6)} sk-circle-fade-dot cfg_section_${of(LOWER, 12)}_header_title_text`,
    'list of ids': () => `${uuid()}\n${uuid()}\n${uuid()}\n${of(HEX, 40)}\n${of(HEX, 40)}`,
    'id of a call': () => `toolu_01${of(BASE62, 22)} answered call_${of(BASE62, 22)}`,
  };
}

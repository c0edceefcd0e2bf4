// Texts without secrets, of the kinds that memories are full of: documents and source code of the installed packages, abstracts, and
// values that only look random.
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lookLikeSecrets } from './look-like.ts';
import { makerFrom, randomFrom } from './made-up.ts';

export interface Benign {
  source: string;
  text: string;
}

const root = join(import.meta.dirname, '../../..');

/** At least 1,000 texts; with the folder of Cranfield, its abstracts too. */
export function readBenign(cranfield?: string): Benign[] {
  return [...readmes(), ...sources(), ...lookRandom(), ...lookAlike(), ...(cranfield ? abstracts(cranfield) : [])];
}

function packages(): string[] {
  return (
    globSync(['node_modules/*/package.json', 'node_modules/@*/*/package.json'], { cwd: root })
      .map((file) => file.slice(0, -'/package.json'.length))
      // A secret scanner's own documents and source are about nothing but secrets.
      .filter((folder) => !folder.includes('secretlint'))
      .sort()
  );
}

function readmes(): Benign[] {
  return packages().flatMap((folder) => {
    const [file] = globSync(['README.md', 'readme.md', 'Readme.md'], { cwd: join(root, folder) });
    return file ? [{ source: `${folder}/${file}`, text: head(join(root, folder, file), 16_384) }] : [];
  });
}

function sources(): Benign[] {
  return packages().flatMap((folder) =>
    globSync('{,src/,lib/,dist/,build/}*.{js,ts,mjs,cjs}', { cwd: join(root, folder) })
      .sort()
      .slice(0, 2)
      .map((file) => ({ source: `${folder}/${file}`, text: head(join(root, folder, file), 8_192) })),
  );
}

const head = (file: string, bytes: number) =>
  readFileSync(file).subarray(0, bytes).toString('utf8').replaceAll('\0', '');

function abstracts(folder: string): Benign[] {
  const file = join(folder, 'cran_docs.json');
  if (!existsSync(file)) throw new Error(`${file} does not exist`);
  const documents = JSON.parse(readFileSync(file, 'utf8')) as unknown[];
  return documents.map((document, n) => ({ source: `abstract ${n + 1}`, text: JSON.stringify(document) }));
}

function lookRandom(): Benign[] {
  const random = randomFrom(7);
  const bytes = (length: number) => Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
  const hash = (algorithm: string) => createHash(algorithm).update(bytes(16));
  const kinds: Record<string, (n: number) => string> = {
    'commit id': () => `Fixed in commit ${hash('sha1').digest('hex')}, released in 2.4.1.`,
    'short log': () => `${hash('sha1').digest('hex')} (HEAD -> main) docs: describe the limits of a search`,
    uuid: () => `The memory ${randomUUID()} replaces ${randomUUID()}.`,
    'sha-256': () => `sha256:${hash('sha256').digest('hex')}  l9-memory-0.1.0.tgz`,
    md5: () => `ETag: "${hash('md5').digest('hex')}"`,
    integrity: () => `"integrity": "sha512-${hash('sha512').digest('base64')}",`,
    'script integrity': () =>
      `<script src="/app.js" integrity="sha384-${hash('sha384').digest('base64')}" crossorigin></script>`,
    'base64 image': () => `<img alt="logo" src="data:image/png;base64,iVBORw0KGgo${bytes(240).toString('base64')}">`,
    'public key': () =>
      `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${bytes(32).toString('base64').replace('=', '')} ada@laptop`,
    certificate: () =>
      `-----BEGIN CERTIFICATE-----\n${bytes(300).toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----`,
    'docker digest': () => `image: postgres@sha256:${hash('sha256').digest('hex')}`,
    path: () =>
      `/home/ada/projects/notes/src/operations/${hash('md5').digest('hex').slice(0, 8)}/searchMemoryAndExplain.ts`,
    'long name': () => 'AbstractSingletonProxyFactoryBean4TransactionalMessageListenerContainerConfiguration',
    'object id': () => `https://drive.example.com/items/${hash('md5').digest('hex')}`,
    'trace header': () => `traceparent: 00-${bytes(16).toString('hex')}-${bytes(8).toString('hex')}-01`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: variables of a shell and of CI
    'env reference': () => 'DATABASE_URL=postgres://app:${DB_PASSWORD}@db/app and password: ${{ secrets.DB_PASSWORD }}',
    placeholder: () => 'Set OPENAI_API_KEY=<your key> and password=******** in .env; token: string, secret: null',
    'code about passwords': () =>
      "if (!user.password) throw new Error('password is required'); const token = await getToken(user.id); secret = process.env.SECRET_KEY;",
    types: () => 'interface Login { password: string; token?: string | undefined; apiKey: ApiKey; secret: Uint8Array }',
    sentence: () =>
      'The password: must be at least 12 characters. Token: a short-lived credential; secret: never logged.',
    lorem: () =>
      'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore.',
    numbers: () =>
      `It took ${Math.floor(random() * 1e6)} ms over ${Math.floor(random() * 1e12)} rows (ratio 1.0${Math.floor(random() * 99)}).`,
    'ticket ids': () =>
      `L9-${Math.floor(random() * 1e4)} blocks GMP-${Math.floor(random() * 1e4)}; see https://example.com/a/b?page=2&sort=asc#c`,
    'jwt words': () => 'A JWT has three parts: header.payload.signature; the header usually begins with eyJ.',
  };
  return Object.entries(kinds).flatMap(([source, make]) =>
    Array.from({ length: 20 }, (_, n) => ({ source: `${source} ${n + 1}`, text: make(n) })),
  );
}

function lookAlike(): Benign[] {
  return Object.entries(lookLikeSecrets(makerFrom(8))).flatMap(([source, make]) =>
    Array.from({ length: 4 }, (_, n) => ({ source: `${source} ${n + 1}`, text: make() })),
  );
}

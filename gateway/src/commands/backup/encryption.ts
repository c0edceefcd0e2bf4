// Encrypts backups in the format of age (age-encryption.org/v1): by a passphrase, or by the keys of a file. Neither is ever an argument,
// which other users of the machine could read.

import { createInterface } from 'node:readline/promises';
import { Readable, Writable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { Decrypter, Encrypter, identityToRecipient } from 'age-encryption';
import type { Config } from '../../config/config.ts';
import { readFileWithin } from '../../input/files.ts';
import { BackupProblem, type Chunks, type Cipher } from './file.ts';

export interface EncryptionOptions {
  encrypt?: boolean;
  /** The path of a file with keys of age. */
  key?: string;
}

const KEY_FILE_BYTES = 1024 * 1024;
const LEAST_CHARACTERS = 12;
// The types of the library are those of browsers.
type Stream = Parameters<Encrypter['encrypt']>[0] & globalThis.ReadableStream<Uint8Array>;
const toStream = (chunks: Chunks) => Readable.toWeb(Readable.from(chunks)) as unknown as Stream;
const fromStream = (stream: unknown) => Readable.fromWeb(stream as ReadableStream) as Chunks;

/** What encrypts a new backup; null if nothing was asked for. */
export async function encryption(config: Config, { encrypt, key }: EncryptionOptions): Promise<Cipher | null> {
  if (key === undefined && !encrypt) return null;
  const encrypter = new Encrypter();
  if (key === undefined) encrypter.setPassphrase(config.backupPassphrase ?? (await newPassphrase()));
  for (const one of key === undefined ? [] : await keysOf(key))
    encrypter.addRecipient(isSecret(one) ? await identityToRecipient(one) : one);
  return async (body) => fromStream(await encrypter.encrypt(toStream(body)));
}

/** What decrypts a backup. */
export async function decryption(config: Config, { key }: EncryptionOptions): Promise<Cipher> {
  const decrypter = new Decrypter();
  if (key === undefined) decrypter.addPassphrase(config.backupPassphrase ?? (await ask('Passphrase of the backup: ')));
  else {
    const secrets = (await keysOf(key)).filter(isSecret);
    if (secrets.length === 0)
      throw new BackupProblem(`${key}: has no secret key (AGE-SECRET-KEY-…), which a restore needs`);
    for (const secret of secrets) decrypter.addIdentity(secret);
  }
  return async (body) => {
    try {
      return fromStream(await decrypter.decrypt(toStream(body)));
    } catch {
      throw new BackupProblem(
        `the backup can't be decrypted: ${key === undefined ? 'give the passphrase' : 'name the file of a key'} that it was encrypted with (--key FILE if that was a key), or the file is damaged`,
      );
    }
  };
}

const isSecret = (key: string) => key.startsWith('AGE-SECRET-KEY-');

/** The keys of a file, one a line, checked. Errors quote none of them. */
async function keysOf(path: string): Promise<string[]> {
  const keys: string[] = [];
  for (const [index, line] of readFileWithin(path, KEY_FILE_BYTES).toString('utf8').split('\n').entries()) {
    const key = line.trim();
    if (key === '' || key.startsWith('#')) continue;
    try {
      new Encrypter().addRecipient(isSecret(key) ? await identityToRecipient(key) : key);
      keys.push(key);
    } catch {
      throw new BackupProblem(
        `${path}: line ${index + 1} is not a key of age (age1… or AGE-SECRET-KEY-…), as \`age-keygen\` makes them`,
      );
    }
  }
  if (keys.length === 0) throw new BackupProblem(`${path}: has no key of age; \`age-keygen -o ${path}\` makes one`);
  return keys;
}

async function newPassphrase(): Promise<string> {
  const passphrase = await ask(`Passphrase for the backup, ${LEAST_CHARACTERS} characters at least: `);
  if (passphrase.length < LEAST_CHARACTERS)
    throw new BackupProblem(`the passphrase must have at least ${LEAST_CHARACTERS} characters: nothing was written`);
  if (passphrase !== (await ask('The same again: ')))
    throw new BackupProblem('the two passphrases differ: nothing was written');
  return passphrase;
}

/** Asks at the terminal, and shows nothing of the answer. */
async function ask(question: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new BackupProblem(
      'BACKUP_PASSPHRASE: set it, or BACKUP_PASSPHRASE_FILE, where nobody can be asked; or name a file of keys with --key',
    );
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  process.stderr.write(question);
  try {
    return await new Promise<string>((resolve, reject) => {
      terminal.once('SIGINT', () => reject(new BackupProblem('cancelled')));
      terminal.question('').then(resolve, reject);
    });
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}

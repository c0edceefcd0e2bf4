// The SCRAM verifier that PostgreSQL stores for a password (RFC 5803). It is computed here, so that the password itself
// appears in no statement and no log.
import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto';

const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest();

export function scramVerifier(password: string, salt = randomBytes(16), iterations = 4096): string {
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, iterations, 32, 'sha256');
  const storedKey = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64');
  const serverKey = hmac(salted, 'Server Key').toString('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

/** Whether a stored verifier is that of this password. */
export function isVerifierOf(verifier: string | null, password: string): boolean {
  const [, iterations, salt] = /^SCRAM-SHA-256\$(\d+):([^$]+)\$/.exec(verifier ?? '') ?? [];
  if (!verifier || !iterations || !salt) return false;
  const made = scramVerifier(password, Buffer.from(salt, 'base64'), Number(iterations));
  return made.length === verifier.length && timingSafeEqual(Buffer.from(made), Buffer.from(verifier));
}

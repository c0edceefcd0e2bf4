// A server of one bucket that speaks the protocol of S3, as far as a store needs it: it checks the signature of each request and the
// checksum of what it is given, and keeps objects in memory.
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface S3Server {
  url: string;
  secretAccessKey: string;
  /** Sets its keys where the SDK looks first; the function that is returned restores what was there. */
  useCredentials(): () => void;
  /** The names of its objects. */
  keys(): string[];
  close(): Promise<void>;
}

// The only keys that it knows.
const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'THE-KEY', AWS_SECRET_ACCESS_KEY: 'the-secret-of-the-key' };

export async function startS3(bucket: string): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const answer = (status: number, code?: string, content: Buffer | string = '') => {
      const error = code ? `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>` : content;
      response.writeHead(status, code ? { 'content-type': 'application/xml' } : {}).end(error);
    };
    const [, name, ...parts] = decodeURIComponent(new URL(request.url!, 'http://s3').pathname).split('/');
    const key = parts.join('/');
    const { method, headers } = request;
    const checksum = headers['x-amz-checksum-sha256'];
    if (!isSigned(request, body)) answer(403, 'SignatureDoesNotMatch');
    else if (name !== bucket) answer(404, 'NoSuchBucket');
    else if (checksum && checksum !== createHash('sha256').update(body).digest('base64')) answer(400, 'BadDigest');
    else if (method === 'PUT') {
      objects.set(key, body);
      answer(200);
    } else if (method === 'DELETE') {
      objects.delete(key);
      answer(204);
    } else if (method === 'GET') {
      const object = objects.get(key);
      if (object) answer(200, undefined, object);
      else answer(404, 'NoSuchKey');
    } else answer(405, 'MethodNotAllowed');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    secretAccessKey: CREDENTIALS.AWS_SECRET_ACCESS_KEY,
    useCredentials() {
      const before = Object.keys(CREDENTIALS).map((name) => [name, process.env[name]] as const);
      Object.assign(process.env, CREDENTIALS);
      return () => {
        for (const [name, value] of before) {
          if (value === undefined) delete process.env[name];
          else process.env[name] = value;
        }
      };
    },
    keys: () => [...objects.keys()],
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Signature version 4: a hash of the request, signed with a key that is made of the secret, the day, the region and the service. */
function isSigned({ method, url, headers }: IncomingMessage, body: Buffer): boolean {
  const [, key, scope, signed, signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)$/.exec(
      headers.authorization ?? '',
    ) ?? [];
  if (key !== CREDENTIALS.AWS_ACCESS_KEY_ID || !scope || !signed) return false;
  const payload = String(headers['x-amz-content-sha256']);
  if (payload !== 'UNSIGNED-PAYLOAD' && payload !== sha256(body)) return false;
  const { pathname, searchParams } = new URL(url!, 'http://s3');
  searchParams.sort();
  const request = [
    method,
    pathname,
    searchParams.toString(),
    ...signed.split(';').map((name) => `${name}:${String(headers[name]).trim()}`),
    '',
    signed,
    payload,
  ].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(request)].join('\n');
  const signingKey = scope
    .split('/')
    .reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${CREDENTIALS.AWS_SECRET_ACCESS_KEY}`);
  return hmac(signingKey, toSign).toString('hex') === signature;
}

const sha256 = (of: string | Buffer) => createHash('sha256').update(of).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

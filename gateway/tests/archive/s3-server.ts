// A server of one bucket that speaks the protocol of S3, with its files in a folder.
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

// It keeps the bytes of an object in a file of its name with this ending.
const OBJECT = '._S3rver_object';

interface Server {
  run(): Promise<AddressInfo>;
  close(): Promise<void>;
}

// It has no types, and is a CommonJS class with a property `default` of its own.
const S3rver = createRequire(import.meta.url)('@20minutes/s3rver') as new (options: object) => Server;

export interface S3Server {
  url: string;
  secretAccessKey: string;
  /** Sets its keys where the SDK looks first; the function that is returned restores what was there. */
  useCredentials(): () => void;
  /** The names of its objects. */
  keys(): string[];
  close(): Promise<void>;
}

export async function startS3(directory: string, bucket: string): Promise<S3Server> {
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: bucket }],
  });
  const { port } = await server.run();
  // The only keys that it knows.
  const credentials = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };
  return {
    url: `http://127.0.0.1:${port}`,
    secretAccessKey: credentials.AWS_SECRET_ACCESS_KEY,
    useCredentials() {
      const before = Object.keys(credentials).map((name) => [name, process.env[name]] as const);
      Object.assign(process.env, credentials);
      return () => {
        for (const [name, value] of before) {
          if (value === undefined) delete process.env[name];
          else process.env[name] = value;
        }
      };
    },
    keys: () =>
      readdirSync(join(directory, bucket), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith(OBJECT))
        .map((file) => file.slice(0, -OBJECT.length)),
    close: () => server.close(),
  };
}

import type { S3Client } from '@aws-sdk/client-s3';
import { howToInstall, missingOf } from '../../base/installed.ts';
import { type ArchiveConfig, ConfigError } from '../../config/config.ts';
import { readBlob, type Store } from './store.ts';

const CLIENT = '@aws-sdk/client-s3';

type Bucket = ArchiveConfig['s3'] & { bucket: string; prefix: string };

/**
 * A bucket of Amazon S3 or of anything that speaks its protocol. The names are those of the store `file:`, so that its files can be
 * copied into the bucket; `prefix` is what the names of all objects begin with, such as `sessions/`. Credentials come from where the
 * SDK of Amazon looks for them.
 */
export function s3Store({ bucket, prefix, endpoint, region }: Bucket, timeoutMs: number, client = CLIENT): Store {
  requireInstalled(client);
  const keyOf = (hash: Buffer) => {
    const name = hash.toString('hex');
    return `${prefix}${name.slice(0, 2)}/${name}`;
  };

  let opening: ReturnType<typeof connect> | undefined;
  const connect = async () => {
    // The SDK is large, and most installations keep their archives elsewhere.
    const s3 = await import('@aws-sdk/client-s3');
    const client: S3Client = new s3.S3Client({
      region,
      // Most servers other than Amazon's have no host name for each bucket.
      forcePathStyle: endpoint !== null,
      ...(endpoint === null ? {} : { endpoint }),
      // The caller tries again.
      maxAttempts: 1,
      // The bytes come with their SHA-256 anyway, and not every server knows the checksums that the SDK would add.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
    return { s3, client };
  };
  const open = () => {
    opening ??= connect();
    return opening;
  };

  /** Null if there is no such object. */
  async function ask<Answer>(
    verb: string,
    send: (opened: Awaited<ReturnType<typeof connect>>, options: { abortSignal: AbortSignal }) => Promise<Answer>,
  ): Promise<Answer | null> {
    try {
      return await send(await open(), { abortSignal: AbortSignal.timeout(timeoutMs) });
    } catch (error) {
      const { name, $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
      const status = $metadata?.httpStatusCode;
      if (name === 'NoSuchKey') return null;
      if (name === 'CredentialsProviderError') throw new Error('no credentials were found');
      if (status === undefined) throw error;
      throw new Error(`${verb} was answered with HTTP ${status}`);
    }
  }

  return {
    name: 's3',
    async put({ hash }, blob) {
      await ask('PUT', ({ s3, client }, options) => {
        const object = { Bucket: bucket, Key: keyOf(hash), Body: blob, ContentLength: blob.length };
        // A server that knows the header refuses bytes that changed on their way.
        return client.send(new s3.PutObjectCommand({ ...object, ChecksumSHA256: hash.toString('base64') }), options);
      });
    },
    get: ({ hash }) =>
      ask('GET', async ({ s3, client }, options) => {
        const { Body } = await client.send(new s3.GetObjectCommand({ Bucket: bucket, Key: keyOf(hash) }), options);
        return readBlob(Body as AsyncIterable<Uint8Array> | undefined);
      }),
    async delete(hash) {
      await ask('DELETE', ({ s3, client }, options) =>
        client.send(new s3.DeleteObjectCommand({ Bucket: bucket, Key: keyOf(hash) }), options),
      );
    },
  };
}

function requireInstalled(name: string): void {
  if (missingOf([name]).length === 0) return;
  throw new ConfigError(
    `ARCHIVE_STORE: s3 needs the package ${name}, which is not installed: ${howToInstall([name])}, or name another store`,
  );
}

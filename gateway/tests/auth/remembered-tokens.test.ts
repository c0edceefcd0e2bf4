// A token that was verified is not verified again for a minute, but what can be taken back is looked at with each request.
import { setTimeout as sleep } from 'node:timers/promises';
import { type SigningKeys, signToken, tokenVerifier } from '../../src/auth/jwt.ts';
import { loadConfig } from '../../src/config/config.ts';

describe('a token that was verified before', () => {
  const config = loadConfig({ L9_MEMORY_HOME: '/nonexistent' });
  const keysWith = (jwtSecret: string): SigningKeys => ({ jwtSecrets: {}, jwtSecret });
  let keys: SigningKeys;
  let isRefused: boolean;
  const verify = tokenVerifier(config, () => keys, {
    admit: (identity: object) => {
      if (isRefused) throw new Error('the caller is not active');
      return identity;
    },
  } as never);
  beforeEach(() => {
    keys = keysWith('a'.repeat(40));
    isRefused = false;
  });
  const sign = (expires = '5m') => signToken(config, keys, { caller: 'C', expires });

  it('is accepted again', async () => {
    const token = await sign();
    expect(await verify(token)).toStrictEqual(await verify(token));
  });

  it('is refused as soon as its key is taken away', async () => {
    const token = await sign();
    await verify(token);
    keys = keysWith('b'.repeat(40));
    await expect(verify(token)).rejects.toMatchObject({ sqlstate: 'L9AUT' });
  });

  it('is refused as soon as its caller is', async () => {
    const token = await sign();
    await verify(token);
    isRefused = true;
    await expect(verify(token)).rejects.toThrow('the caller is not active');
  });

  it('is refused once it has expired', async () => {
    // Clocks may differ by five seconds.
    const token = await sign('3s ago');
    await verify(token);
    await sleep(2_500);
    await expect(verify(token)).rejects.toThrow('the token has expired');
  });
});

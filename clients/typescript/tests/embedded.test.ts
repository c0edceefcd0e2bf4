// L9Memory.embedded(), with the sources of the gateway in the place of the package l9-memory.
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { createTestHome, type TestHome } from '../../../gateway/tests/support/home.ts';
import { type Embedded, type EmbeddedOptions, type Engine, startEmbedded } from '../src/embedded.ts';
import { L9Memory } from '../src/index.ts';

const load = () => import('../../../gateway/src/index.ts') as Promise<unknown> as Promise<Engine>;

describeOnEmbedded('the embedded form of the TypeScript client', () => {
  let home: TestHome;
  beforeAll(async () => {
    home = await createTestHome();
  });
  const started: Embedded[] = [];
  // Closing twice is harmless, and a test that fails closes nothing.
  afterEach(() => Promise.all(started.splice(0).map((embedded) => embedded.close())));
  afterAll(() => home.drop());
  const start = async (options: EmbeddedOptions = {}) => {
    const embedded = await startEmbedded({ home: home.home, ...options }, load);
    started.push(embedded);
    return embedded;
  };

  it('keeps memories in its folder, which one process at a time uses', async () => {
    const first = await start();
    const memory = new L9Memory({ ...first, projectId: 'shop' });
    expect((await memory.save('Returns are free for 30 days.')).status).toBe('inserted');
    await expect(start()).rejects.toThrow(/is in use: process \d+ serves it/);
    await first.close();

    const again = await start({ caller: 'L' });
    const ofL = new L9Memory({ ...again, projectId: 'shop' });
    expect((await ofL.search('how long are returns free?')).hits).toMatchObject([{ creator: 'Cursor-IDE' }]);
    expect(await ofL.graphql('{ whoAmI { caller } }')).toStrictEqual({ whoAmI: { caller: 'L' } });
    await again.close();
  });

  it('gives back the folder where it cannot start, and says which setting is wrong', async () => {
    await expect(start({ settings: { PORT: '1', LOG_LEVEL: 'loud' } })).rejects.toThrow(/^LOG_LEVEL: must be one of/);
    await (await start({ settings: { EMBEDDING_MODEL: '' } })).close();
  });

  it('says which package is missing', async () => {
    await expect(L9Memory.embedded({ home: home.home })).rejects.toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringContaining('npm install l9-memory'),
    });
  });
});

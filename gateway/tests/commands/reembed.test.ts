// A change of the embedding model with real processes, a local provider, and different dimensions.

import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnServer, itOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { psqlSocket } from '../../src/database/psql-socket.ts';
import { type Provider, startProvider, vectors } from '../embeddings/provider.ts';
import { asMonitor, callTool, cli, createProcessHome, kill, metric, type ProcessHome } from '../home/processes.ts';
import { startTestGateway } from '../support/gateway.ts';

const LOCAL = 'all-MiniLM-L6-v2-int8';
const DIMENSIONS = 12;

describe('l9-memory reembed', () => {
  let provider: Provider;
  let home: ProcessHome;
  let url: string;
  let server: ChildProcess;
  let key: string;
  beforeAll(async () => {
    provider = await startProvider(DIMENSIONS);
    home = await createProcessHome();
    home.env.OPENAI_BASE_URL = provider.baseUrl;
    home.env.EMBEDDING_MODEL = 'first-model';
    home.env.EMBEDDING_DIMENSIONS = String(DIMENSIONS);
    ({ url, process: server } = await home.serve());
    key = home.key('C');
  });
  afterAll(async () => {
    await home.close();
    await provider.close();
  });

  const save = (content: string) => callTool(url, key, 'save_memory', { content, project_id: 'l9' });
  const search = (query: string) =>
    callTool(url, key, 'search_memory', { query, mode: 'semantic', project_id: 'l9' }) as Promise<{
      hits: { content: string; semantic_score: number }[];
      searched: { mode: string; vectors: string };
    }>;
  const serving = async () =>
    ((await (await fetch(`${url}/ready`, asMonitor)).json()) as { embedding_model: string }).embedding_model;
  const run = (args: string[], env = {}) => home.run([cli, 'reembed', ...args], env);
  const ends = async (args: string[], env = {}) => {
    const running = run(args, env);
    return { exit: await running.exit, stdout: running.stdout, stderr: running.stderr };
  };
  const drained = () => eventually(async () => (await metric(url, 'l9_embedding_backlog')) === 0);
  // The leases of a process that was killed last for up to a minute.
  const endLeases = async () => {
    const client = new pg.Client({ connectionString: home.test.superuserUrl ?? psqlSocket(home.home).url });
    await client.connect();
    await client.query(
      'begin; set local role l9_worker; update embeddings.pending_embeddings set leased_until = null; commit',
    );
    await client.end();
  };
  const askedOf = (model: string) => provider.asked.filter(({ body }) => body.model === model);

  it('keeps the serving model if a gateway starts with another one', async () => {
    for (let i = 0; i < 40; i++) await save(`${i} is what memory ${i} speaks of, and of ${i * 37}.`);
    await drained();
    expect(await serving()).toBe('first-model');
    const { stdout, exit } = await ends([]);
    expect([exit, stdout]).toStrictEqual([0, 'first-model serves\n']);
  });

  itOnEmbedded('waits for a server that is busy, as one is that answers nothing for some seconds', async () => {
    server.kill('SIGSTOP');
    const asking = ends([]);
    await sleep(5_000);
    server.kill('SIGCONT');
    expect(await asking).toStrictEqual({ exit: 0, stdout: 'first-model serves\n', stderr: '' });
  });

  it('names what is missing: a provider, a model that answers, or the right dimensions', async () => {
    const noProvider = await ends(['--model', 'second-model'], { OPENAI_BASE_URL: '', EMBEDDING_MODEL: '' });
    expect(noProvider.exit).toBe(1);
    expect(noProvider.stderr).toMatch(/OPENAI_API_KEY or OPENAI_BASE_URL/);
    const wrong = await ends(['--model', 'second-model', '--dimensions', '7']);
    expect(wrong.exit).toBe(1);
    expect(wrong.stderr).toMatch(/12 dimensions/);
    expect((await ends([])).stdout).toBe('first-model serves\n');
  });

  it('continues after it was killed, while the old model serves and new memories get both', async () => {
    // Slow enough to be killed on the way.
    provider.script.push((asked) => ({
      ...vectors(asked, DIMENSIONS),
      afterMs: asked.body.model === 'second-model' ? 100 : 0,
    }));
    const first = run(['--model', 'second-model']);
    await eventually(async () => {
      const [all, remaining] = [
        await metric(url, 'l9_reembedding_memories'),
        await metric(url, 'l9_reembedding_remaining'),
      ];
      return all === 40 && remaining < 40;
    });
    kill(first.pid);
    expect(await first.exit).toBe('SIGKILL');
    expect(await serving()).toBe('first-model');
    const embeddedBefore = askedOf('second-model').length;
    await endLeases();
    // The old model serves until the switch, whichever process embeds.
    const found = await search('3 is what memory 3 speaks of, and of 111.');
    expect(found.hits[0]?.content).toBe('3 is what memory 3 speaks of, and of 111.');
    const saving = Promise.all(Array.from({ length: 10 }, (_, i) => save(`${i} was saved on the way`)));
    const second = await ends(['--model', 'second-model']);
    await saving;
    expect(second.exit, second.stderr).toBe(0);
    expect(second.stdout).toMatch(/second-model serves/);
    await eventually(async () => (await serving()) === 'second-model');
    await drained();
    expect(await metric(url, 'l9_reembedding_memories')).toBe(0);
    // What the killed one had stored was not embedded again: 50 memories, a question at either start, a batch lost.
    expect(askedOf('second-model').length).toBeGreaterThan(embeddedBefore);
    expect(new Set(askedOf('second-model').map(({ body }) => body.input[0])).size).toBeLessThanOrEqual(51);
    const after = await search('3 is what memory 3 speaks of, and of 111.');
    expect(after.hits[0]?.content).toBe('3 is what memory 3 speaks of, and of 111.');
    expect(after.hits[0]?.semantic_score ?? 0).toBeGreaterThan(0.999);
    if (home.test.superuserUrl) {
      // Its people see both runs.
      const client = new pg.Client({ connectionString: home.test.superuserUrl });
      await client.connect();
      const { rows } = await client.query(
        "select type, status, payload, error from public.tasks where type = 'reembed' order by id",
      );
      await client.end();
      const task = { type: 'reembed', payload: { model: 'second-model' } };
      expect(rows).toStrictEqual([
        { ...task, status: 'failed', error: 'interrupted' },
        { ...task, status: 'completed', error: null },
      ]);
    }
    const late = await search('7 was saved on the way');
    expect(late.hits[0]?.content).toBe('7 was saved on the way');
  });

  it('deletes all vectors of the old model, and can be run again', async () => {
    const again = await ends(['--model', 'second-model']);
    expect([again.exit, again.stderr]).toStrictEqual([0, '']);
    expect(again.stdout).toMatch(/second-model serves/);
    expect((await ends([])).stdout).toBe('second-model serves\n');
  });

  it('refuses a second change during the first, and cancels that on request', async () => {
    // Down for good, but for the first question.
    let asked = 0;
    provider.script.splice(0, provider.script.length, (it) =>
      it.body.model !== 'third-model' || asked++ === 0 ? vectors(it, DIMENSIONS) : { status: 400, body: {} },
    );
    const third = await ends(['--model', 'third-model']);
    expect(third.exit).toBe(1);
    expect(third.stderr).toMatch(/50 memories would be lost .* refuses 50\. .*--allow-missing 50/s);
    expect(await serving()).toBe('second-model');
    expect((await ends([])).stdout).toMatch(/second-model serves\nthird-model arrives: 50 of 50 .* 50 refused/);
    expect(await metric(url, 'l9_reembedding_refused')).toBe(50);
    const fourth = await ends(['--model', 'fourth-model']);
    expect([fourth.exit, /a change to third-model is under way/.test(fourth.stderr)]).toStrictEqual([1, true]);
    const abandoned = await ends(['--abandon']);
    expect(abandoned.exit).toBe(0);
    expect(abandoned.stdout).toMatch(/the change to third-model was cancelled/);
    expect((await ends([])).stdout).toBe('second-model serves\n');
    provider.script.splice(0, provider.script.length);
  });

  it('changes to the bundled model without interrupting searches', async () => {
    let isDone = false;
    const modes = new Set<string>();
    const searching = (async () => {
      while (!isDone) {
        const { searched, hits } = await search('7 was saved on the way');
        modes.add(`${searched.mode} ${searched.vectors}`);
        expect(hits[0]?.content).toBe('7 was saved on the way');
        await sleep(100);
      }
    })();
    const { exit, stderr } = await ends(['--model', LOCAL]);
    isDone = true;
    await searching;
    expect(exit, stderr).toBe(0);
    expect([...modes]).toStrictEqual(['semantic used']);
    expect((await search('7 was saved on the way')).hits).toHaveLength(10);
    await eventually(async () => (await serving()) === LOCAL);
  });
});

describe('a search with a query vector of a model that does not serve', () => {
  it('falls back to words and says so, and the gateway retries with the serving model', async () => {
    const provider = await startProvider(DIMENSIONS);
    const gateway = await startTestGateway({
      env: {
        OPENAI_BASE_URL: provider.baseUrl,
        EMBEDDING_MODEL: 'first-model',
        EMBEDDING_DIMENSIONS: String(DIMENSIONS),
      },
    });
    try {
      const worker = gateway.instance.database.workerPool;
      await gateway.save('C', 'The lighthouse guides ships.');
      await gateway.embedded();
      await worker.query("select embeddings.begin_embedding_change('second-model', $1)", [DIMENSIONS]);
      const [refused] = (await worker.query("select embeddings.switch_embedding_model('second-model') as missing"))
        .rows;
      const vector = JSON.stringify(new Array(1536).fill(0.1));
      const bySql = async (model: string) =>
        (
          await gateway.sql('C', 'select r.searched from public.search_memory($1, query_vector => $2, model => $3) r', [
            'lighthouse',
            vector,
            model,
          ])
        )[0].searched;
      if (Number(refused.missing) > 0) {
        const arriving = await bySql('second-model');
        expect([arriving.mode, arriving.vectors]).toStrictEqual(['lexical', 'unavailable']);
        expect(arriving.notice).toMatch(/does not serve/);
      }
      await eventually(
        async () =>
          Number((await worker.query("select embeddings.switch_embedding_model('second-model') as m")).rows[0].m) === 0,
      );
      const former = await bySql('first-model');
      expect([former.mode, former.vectors]).toStrictEqual(['lexical', 'unavailable']);
      await expect(
        gateway.sql(
          'C',
          "select public.search_memory($1, query_vector => $2, model => 'first-model', mode => 'semantic')",
          ['lighthouse', vector],
        ),
      ).rejects.toMatchObject({ code: 'L9VAL' });
      // At once: whether it has heard of the switch or not, the gateway answers by meaning.
      const { result } = await gateway.tool('C', 'search_memory', {
        query: 'The lighthouse guides ships.',
        mode: 'semantic',
      });
      expect([result.searched.vectors, result.hits.length]).toStrictEqual(['used', 1]);
      expect(result.hits[0].semantic_score).toBeGreaterThan(0.999);

      // A memory saved now waits for the new model alone; the job takes the old one away.
      await gateway.save('C', 'The harbour shelters boats.');
      await gateway.embedded();
      await eventually(async () => {
        const { rows } = await worker.query('select model, state from public.embedding_models');
        return rows.length === 1 && rows[0].model === 'second-model' && rows[0].state === 'serving';
      });
      const { rows: left } = await worker.query(
        "select (select count(*)::int from pg_indexes where indexdef like '%''first-model''%') as indexes, (select array_agg(distinct model) from public.memory_embeddings) as models",
      );
      expect(left).toStrictEqual([{ indexes: 0, models: ['second-model'] }]);
    } finally {
      await gateway.close();
      await provider.close();
    }
  });
});

describeOnServer('two gateways on one server', () => {
  it('switches both, whichever model each was started with', async () => {
    const provider = await startProvider(DIMENSIONS);
    const env = { OPENAI_BASE_URL: provider.baseUrl, EMBEDDING_DIMENSIONS: String(DIMENSIONS) };
    const one = await startTestGateway({ env: { ...env, EMBEDDING_MODEL: 'first-model' } });
    await one.save('C', 'The lighthouse guides ships.');
    await one.embedded();
    const other = await startTestGateway({ home: one.home, env: { ...env, EMBEDDING_MODEL: 'other-model' } });
    try {
      expect([one.instance.servingModel(), other.instance.servingModel()]).toStrictEqual([
        'first-model',
        'first-model',
      ]);
      const worker = one.instance.database.workerPool;
      await worker.query("select embeddings.begin_embedding_change('other-model', $1)", [DIMENSIONS]);
      await eventually(
        async () =>
          Number((await worker.query("select embeddings.switch_embedding_model('other-model') as m")).rows[0].m) === 0,
      );
      for (const gateway of [one, other]) {
        const { result } = await gateway.tool('C', 'search_memory', {
          query: 'The lighthouse guides ships.',
          mode: 'semantic',
        });
        expect(result.hits.length).toBe(1);
        expect(gateway.instance.servingModel()).toBe('other-model');
      }
    } finally {
      await other.instance.close();
      await one.close();
      await provider.close();
    }
  });
});

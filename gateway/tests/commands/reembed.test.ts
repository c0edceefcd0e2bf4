// From one embedding model to another, with real processes, a provider on this machine, and other dimensions.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type Provider, startProvider, vectors } from '../embeddings/provider.ts';
import { callTool, cli, createProcessHome, kill, metric, type ProcessHome } from '../home/processes.ts';
import { engine } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { openHouse } from '../support/house.ts';

const LOCAL = 'all-MiniLM-L6-v2-int8';
const DIMENSIONS = 12;

describe('l9-memory reembed', () => {
  let provider: Provider;
  let home: ProcessHome;
  let url: string;
  let key: string;
  before(async () => {
    provider = await startProvider(DIMENSIONS);
    home = await createProcessHome();
    home.env.OPENAI_BASE_URL = provider.baseUrl;
    home.env.EMBEDDING_MODEL = 'first-model';
    home.env.EMBEDDING_DIMENSIONS = String(DIMENSIONS);
    ({ url } = await home.serve());
    key = home.key('C');
  });
  after(async () => {
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
    ((await (await fetch(`${url}/ready`)).json()) as { embedding_model: string }).embedding_model;
  const run = (args: string[], env = {}) => home.run([cli, 'reembed', ...args], env);
  const ends = async (args: string[], env = {}) => {
    const running = run(args, env);
    return { exit: await running.exit, stdout: running.stdout, stderr: running.stderr };
  };
  const drained = () => eventually(async () => (await metric(url, 'l9_embedding_backlog')) === 0);
  const askedOf = (model: string) => provider.asked.filter(({ body }) => body.model === model);

  it('changes nothing because a gateway starts with another model', async () => {
    for (let i = 0; i < 40; i++) await save(`${i} is what memory ${i} speaks of, and of ${i * 37}.`);
    await drained();
    assert.equal(await serving(), 'first-model');
    const { stdout, exit } = await ends([]);
    assert.deepEqual([exit, stdout], [0, 'first-model serves\n']);
  });

  it('says what it lacks: a provider, a model that answers, the right dimensions', async () => {
    const noProvider = await ends(['--model', 'second-model'], { OPENAI_BASE_URL: '', EMBEDDING_MODEL: '' });
    assert.equal(noProvider.exit, 1);
    assert.match(noProvider.stderr, /OPENAI_API_KEY or OPENAI_BASE_URL/);
    const wrong = await ends(['--model', 'second-model', '--dimensions', '7']);
    assert.equal(wrong.exit, 1);
    assert.match(wrong.stderr, /12 dimensions/);
    assert.equal((await ends([])).stdout, 'first-model serves\n');
  });

  it('goes on where it was killed, while the old model serves, and new memories get both', async () => {
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
    assert.equal(await first.exit, 'SIGKILL');
    assert.equal(await serving(), 'first-model');
    const embeddedBefore = askedOf('second-model').length;
    if (home.test.superuserUrl) {
      // What it had claimed would be free in a minute.
      const client = new pg.Client({ connectionString: home.test.superuserUrl });
      await client.connect();
      await client.query('update embeddings.pending_embeddings set leased_until = null');
      await client.end();
    }
    // Between the two: the old model serves until the switch, whoever does the work.
    const found = await search('3 is what memory 3 speaks of, and of 111.');
    assert.equal(found.hits[0]?.content, '3 is what memory 3 speaks of, and of 111.');
    const saving = Promise.all(Array.from({ length: 10 }, (_, i) => save(`${i} was saved on the way`)));
    const second = await ends(['--model', 'second-model']);
    await saving;
    assert.equal(second.exit, 0, second.stderr);
    assert.match(second.stdout, /second-model serves/);
    await eventually(async () => (await serving()) === 'second-model');
    await drained();
    assert.equal(await metric(url, 'l9_reembedding_memories'), 0);
    // What the killed one had stored was not embedded again: 50 memories, a question at either start, a batch lost.
    assert.ok(askedOf('second-model').length > embeddedBefore);
    assert.ok(new Set(askedOf('second-model').map(({ body }) => body.input[0])).size <= 51);
    const after = await search('3 is what memory 3 speaks of, and of 111.');
    assert.equal(after.hits[0]?.content, '3 is what memory 3 speaks of, and of 111.');
    assert.ok((after.hits[0]?.semantic_score ?? 0) > 0.999);
    if (home.test.superuserUrl) {
      // Its people see both runs.
      const client = new pg.Client({ connectionString: home.test.superuserUrl });
      await client.connect();
      const { rows } = await client.query('select type, status, payload, error from public.tasks order by id');
      await client.end();
      const task = { type: 'reembed', payload: { model: 'second-model' } };
      assert.deepEqual(rows, [
        { ...task, status: 'failed', error: 'interrupted' },
        { ...task, status: 'completed', error: null },
      ]);
    }
    const late = await search('7 was saved on the way');
    assert.equal(late.hits[0]?.content, '7 was saved on the way');
  });

  it('leaves nothing of the old model, and may be run again', async () => {
    const again = await ends(['--model', 'second-model']);
    assert.deepEqual([again.exit, again.stderr], [0, '']);
    assert.match(again.stdout, /second-model serves/);
    assert.equal((await ends([])).stdout, 'second-model serves\n');
  });

  it('refuses a second change while one is under way, and gives one up when told to', async () => {
    // Down for good, but for the first question.
    let asked = 0;
    provider.script.splice(0, provider.script.length, (it) =>
      it.body.model !== 'third-model' || asked++ === 0 ? vectors(it, DIMENSIONS) : { status: 400, body: {} },
    );
    const third = await ends(['--model', 'third-model']);
    assert.equal(third.exit, 1);
    assert.match(third.stderr, /50 memories would be lost .* refuses 50\. .*--allow-missing 50/s);
    assert.equal(await serving(), 'second-model');
    assert.match((await ends([])).stdout, /second-model serves\nthird-model arrives: 50 of 50 .* 50 refused/);
    assert.equal(await metric(url, 'l9_reembedding_refused'), 50);
    const fourth = await ends(['--model', 'fourth-model']);
    assert.deepEqual([fourth.exit, /a change to third-model is under way/.test(fourth.stderr)], [1, true]);
    const abandoned = await ends(['--abandon']);
    assert.equal(abandoned.exit, 0);
    assert.match(abandoned.stdout, /the change to third-model is given up/);
    assert.equal((await ends([])).stdout, 'second-model serves\n');
    provider.script.splice(0, provider.script.length);
  });

  it('changes to the model that comes with the gateway, and searches go on all the way', async () => {
    let isDone = false;
    const modes = new Set<string>();
    const searching = (async () => {
      while (!isDone) {
        const { searched, hits } = await search('7 was saved on the way');
        modes.add(`${searched.mode} ${searched.vectors}`);
        assert.equal(hits[0]?.content, '7 was saved on the way');
        await sleep(20);
      }
    })();
    const { exit, stderr } = await ends(['--model', LOCAL]);
    isDone = true;
    await searching;
    assert.equal(exit, 0, stderr);
    assert.deepEqual([...modes], ['semantic used']);
    assert.equal((await search('7 was saved on the way')).hits.length, 10);
    await eventually(async () => (await serving()) === LOCAL);
  });
});

describe('a search whose query vector is of a model that does not serve', () => {
  it('compares it with no other vectors: by words, and says so; the gateway asks again with the right one', async () => {
    const provider = await startProvider(DIMENSIONS);
    const house = await openHouse({
      env: {
        OPENAI_BASE_URL: provider.baseUrl,
        EMBEDDING_MODEL: 'first-model',
        EMBEDDING_DIMENSIONS: String(DIMENSIONS),
      },
    });
    try {
      const worker = house.gateway.database.workerPool;
      await house.tool('C', 'save_memory', { content: 'The lighthouse guides ships.', project_id: 'l9' });
      await house.embedded();
      await worker.query("select embeddings.begin_embedding_change('second-model', $1)", [DIMENSIONS]);
      const [refused] = (await worker.query("select embeddings.switch_embedding_model('second-model') as missing"))
        .rows;
      const vector = JSON.stringify(new Array(1536).fill(0.1));
      const bySql = async (model: string) =>
        (
          await house.sql('C', 'select r.searched from public.search_memory($1, query_vector => $2, model => $3) r', [
            'lighthouse',
            vector,
            model,
          ])
        )[0].searched;
      if (Number(refused.missing) > 0) {
        const arriving = await bySql('second-model');
        assert.deepEqual([arriving.mode, arriving.vectors], ['lexical', 'unavailable']);
        assert.match(arriving.notice, /does not serve/);
      }
      await eventually(
        async () =>
          Number((await worker.query("select embeddings.switch_embedding_model('second-model') as m")).rows[0].m) === 0,
      );
      const former = await bySql('first-model');
      assert.deepEqual([former.mode, former.vectors], ['lexical', 'unavailable']);
      await assert.rejects(
        house.sql(
          'C',
          "select public.search_memory($1, query_vector => $2, model => 'first-model', mode => 'semantic')",
          ['lighthouse', vector],
        ),
        { code: 'L9VAL' },
      );
      // At once: whether it has heard of the switch or not, the gateway answers by meaning.
      const { result } = await house.tool('C', 'search_memory', {
        query: 'The lighthouse guides ships.',
        mode: 'semantic',
      });
      assert.deepEqual([result.searched.vectors, result.hits.length], ['used', 1]);
      assert.ok(result.hits[0].semantic_score > 0.999);

      // A memory saved now waits for the new model alone; the job takes the old one away.
      await house.tool('C', 'save_memory', { content: 'The harbour shelters boats.', project_id: 'l9' });
      await house.embedded();
      await eventually(async () => {
        const { rows } = await worker.query('select model, state from public.embedding_models');
        return rows.length === 1 && rows[0].model === 'second-model' && rows[0].state === 'serving';
      });
      const { rows: left } = await worker.query(
        "select (select count(*)::int from pg_indexes where indexdef like '%''first-model''%') as indexes, (select array_agg(distinct model) from public.memory_embeddings) as models",
      );
      assert.deepEqual(left, [{ indexes: 0, models: ['second-model'] }]);
    } finally {
      await house.close();
      await provider.close();
    }
  });
});

describe('two gateways on one server', { skip: engine === 'embedded' && 'one process' }, () => {
  it('both follow a switch, whichever model each was started with', async () => {
    const provider = await startProvider(DIMENSIONS);
    const env = { OPENAI_BASE_URL: provider.baseUrl, EMBEDDING_DIMENSIONS: String(DIMENSIONS) };
    const one = await openHouse({ env: { ...env, EMBEDDING_MODEL: 'first-model' } });
    await one.tool('C', 'save_memory', { content: 'The lighthouse guides ships.', project_id: 'l9' });
    await one.embedded();
    const other = await openHouse({ home: one.home, env: { ...env, EMBEDDING_MODEL: 'other-model' } });
    try {
      assert.deepEqual([one.gateway.servingModel(), other.gateway.servingModel()], ['first-model', 'first-model']);
      const worker = one.gateway.database.workerPool;
      await worker.query("select embeddings.begin_embedding_change('other-model', $1)", [DIMENSIONS]);
      await eventually(
        async () =>
          Number((await worker.query("select embeddings.switch_embedding_model('other-model') as m")).rows[0].m) === 0,
      );
      for (const house of [one, other]) {
        const { result } = await house.tool('C', 'search_memory', {
          query: 'The lighthouse guides ships.',
          mode: 'semantic',
        });
        assert.equal(result.hits.length, 1);
        assert.equal(house.gateway.servingModel(), 'other-model');
      }
    } finally {
      await other.gateway.close();
      await one.close();
      await provider.close();
    }
  });
});

// A gateway that reads from two streaming replicas: which of them it reads from, and that every read runs there that can.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../db/tests/support/eventually.ts';
import { queries, requestOf, saveForQueries } from '../gateway/tests/support/every-query.ts';
import type { TestGateway } from '../gateway/tests/support/gateway.ts';
import { type Replicated, startReplicated } from './support/replicas.ts';

const READS = 10;

describe('a gateway with two replicas', () => {
  let replicated: Replicated;
  let gateway: TestGateway;

  beforeAll(async () => {
    replicated = await startReplicated(2);
    ({ gateway } = replicated);
    await gateway.save('L', 'The walrus serves staging');
    await gateway.embedded();
    await replicated.caughtUp();
  }, 300_000);
  afterAll(() => replicated?.close());

  const search = async () => {
    const found = await gateway.call('L', 'search_memory', { query: 'walrus', project_id: 'l9', mode: 'lexical' });
    expect(found.hits).toHaveLength(1);
  };
  const stateOf = (replica: number) => gateway.instance.database.replicas!.states()[replica]!;

  /** Where a query does not run on a replica alone: by how much the counts of reads grow. */
  const elsewhere = async (names: readonly string[], ids: Record<string, string>) => {
    const found: Record<string, { answered: number; refused: number }> = {};
    for (const field of queries.filter(({ name }) => names.includes(name))) {
      const { query, variables } = requestOf(field, ids);
      // A replica that is behind is asked again.
      await eventually(async () => {
        const { behind, failed, ...grown } = await replicated.counted(() => gateway.graphql('L', query, variables));
        if (behind > 0) return false;
        expect(failed, field.name).toBe(0);
        if (grown.answered === 0 || grown.refused > 0) found[field.name] = grown;
        return true;
      });
    }
    return found;
  };

  it('answers every query of GraphQL on a replica, but those that write, which it tries there once', async () => {
    const ids = await saveForQueries(gateway);
    await gateway.embedded();
    await replicated.caughtUp();
    const names = queries.map(({ name }) => name);
    const first = await elsewhere(names, ids);
    const refusedToBoth = { auditArchives: { answered: 0, refused: 1 }, auditSeals: { answered: 0, refused: 1 } };
    // The words of the query are weighed on the replica.
    const previews = { previewFind: { answered: 1, refused: 1 }, previewSearch: { answered: 1, refused: 1 } };
    const archived = { retrieveSessionFromCascade: { answered: 0, refused: 0 } };
    expect(first).toStrictEqual({ ...refusedToBoth, ...previews, ...archived });
    const again = await elsewhere(Object.keys(previews), ids);
    expect(Object.values(again).filter(({ refused }) => refused > 0)).toStrictEqual([]);
  });

  it('keeps the connection on which a read wants to write', async () => {
    const { replicas } = gateway.instance.database;
    const connections = async () =>
      (
        await Promise.all(
          replicated.replicas.map((replica) =>
            replica.query(`select pid from pg_stat_activity where application_name = 'l9-memory' order by pid`),
          ),
        )
      ).map(({ rows }) => rows.map(({ pid }) => pid));
    const settings = { role: 'l9_agent', 'jwt.claims.caller': 'connection' };
    const notify = () => replicas!.read('notify', settings, (client) => client.query('notify l9_nothing'));
    const grown = await replicated.counted(async () => {
      // As many as the pool of a replica has, so that no new connection is opened for want of an idle one.
      await Promise.all(Array.from({ length: READS }, search));
      const before = await connections();
      for (let n = 0; n < READS; n++) await notify();
      expect(await connections()).toStrictEqual(before);
    });
    expect(grown.refused).toBe(1);
  });

  it('reads from the replica that has the fewest reads', async () => {
    const [stopped] = replicated.replicas;
    const { rows } = await stopped!.query(`select pid from pg_stat_activity where application_name = 'l9-memory'`);
    const tell = (signal: NodeJS.Signals) => rows.map(({ pid }) => process.kill(pid, signal));
    const waiting: Promise<void>[] = [];
    tell('SIGSTOP');
    try {
      // While neither has a read the choice is left to chance, and one read soon waits for a process that stands still.
      await eventually(() => {
        waiting.push(search());
        return stateOf(0).reads > 0;
      });
      const others = await replicated.counted(async () => {
        const ofStopped = await replicated.counted(async () => {
          for (let n = 0; n < READS; n++) await search();
        }, 0);
        expect(ofStopped).toStrictEqual({ answered: 0, refused: 0, behind: 0, failed: 0 });
        // It is not that the replica is left alone.
        expect(stateOf(0)).toMatchObject({ isUsed: true, reads: 1 });
      }, 1);
      expect(others.answered).toBeGreaterThanOrEqual(READS);
    } finally {
      tell('SIGCONT');
    }
    await Promise.all(waiting);
  });

  it('goes on with the other one when one is killed, and reads from both again when it is back', async () => {
    await replicated.caughtUp();
    const [first] = replicated.replicas;
    let isOver = false;
    const searching = Promise.all(
      [1, 2].map(async () => {
        while (!isOver) await search();
      }),
    );
    await first!.kill();
    await replicated.used(false, 0);
    const { answered } = await replicated.counted(async () => {
      for (let n = 0; n < READS; n++) await search();
    }, 1);
    expect(answered).toBeGreaterThanOrEqual(READS);
    isOver = true;
    await searching;
    expect(await (await fetch(`${gateway.instance.url}/ready`)).json()).toMatchObject({ replicas: '1 of 2' });
    await first!.start();
    await replicated.used(true, 0);
    await eventually(async () => (await replicated.counted(search, 0)).answered > 0);
  });

  it('reads from none of which an index of words or of vectors cannot be read, until it is whole again', async () => {
    const indexes = ['packet_store_words_bm25_7', 'hnsw_reasoning_%_7'];
    const damaged = await Promise.all(
      indexes.map(async (name, n) => {
        const [{ path }] = await gateway.asSuperuser(
          `select pg_relation_filepath(oid) as path from pg_class where relname like $1 and relkind = 'i'`,
          [name],
        );
        return join(replicated.replicas[n]!.folder, path);
      }),
    );
    // After it a replica that is started does not replay how the index was made.
    await gateway.asSuperuser('checkpoint');
    await replicated.caughtUp();
    const restart = (change: (file: string) => void) =>
      Promise.all(
        replicated.replicas.map(async (replica, n) => {
          await replica.query('checkpoint');
          await replica.kill();
          change(damaged[n]!);
          await replica.start();
        }),
      );
    const whole = new Map<string, Buffer>();
    await restart((file) => {
      whole.set(file, readFileSync(file));
      writeFileSync(file, Buffer.alloc(whole.get(file)!.length, 'x'));
    });
    for (const n of replicated.replicas.keys()) await replicated.used(false, n);
    await search();
    expect(await (await fetch(`${gateway.instance.url}/ready`)).json()).toMatchObject({ replicas: '0 of 2' });
    await restart((file) => writeFileSync(file, whole.get(file)!));
    for (const n of replicated.replicas.keys()) await replicated.used(true, n);
  });
});

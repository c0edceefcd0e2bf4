// Searches the whole database for erased contents, table by table and in a dump.

import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { grepDatabase } from '../../../db/tests/support/dump.ts';
import { engine, serverUrl } from '../../../db/tests/support/engine.ts';
import type { Embedder } from '../../src/embeddings/index.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { findClient } from '../support/pg-clients.ts';
import { standIn } from '../support/stand-in.ts';

const tenant = '00000000-0000-7000-8000-000000000001';
const hashOf = (text: string) =>
  createHash('sha256').update(text.replace(/\s+/g, ' ').trim().toLowerCase()).digest('hex');

/** A word that is used nowhere else, and the texts that contain it. */
interface Trace {
  word: string;
  /** Its references, which name the calls in the audit log. */
  reference: string;
  /** All contents that were saved. Not even a hash of them may stay. */
  contents: string[];
  ids: string[];
}
const wordsOf = ({ word, contents }: Trace) => [word, ...contents.map(hashOf)];

// This embedder makes chunks, whose texts are stored too.
const embedder: Embedder = {
  ...standIn,
  chunk: async (text) =>
    text.length <= 500
      ? []
      : Array.from({ length: Math.ceil(text.length / 500) }, (_, i) => {
          const [start, end] = [i * 500, Math.min((i + 1) * 500, text.length)];
          return { text: text.slice(start, end), start, end };
        }),
};

// The dump needs a server and pg_dump of version 18.
const pgDump = serverUrl ? await findClient('pg_dump') : null;

describe('an erased memory', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder });
    // The texts of searches are kept only where a tenant wants that.
    await gateway.sql('L', 'select public.set_query_text_audit(true)');
  });
  afterAll(() => gateway.close());

  const user = '01900000-0000-7000-8000-0000000000aa';
  const claims = { 'jwt.claims.user_id': user };

  /** Saves, changes, embeds, derives from and searches for texts with one word in them, in every place that takes a text. */
  async function leaveTraces(): Promise<Trace> {
    const word = `Zq${randomBytes(8).toString('hex')}`;
    const reference = `Zr${randomBytes(8).toString('hex')}`;
    const contents: string[] = [];
    const content = (text: string) => {
      contents.push(text);
      return text;
    };
    const save = async (caller: string, args: Record<string, unknown>) => {
      const names = Object.keys(args);
      const [{ id }] = await gateway.sql(
        caller,
        `select (memory).packet_id as id from public.save_memory(${names.map((name, i) => `${name} => $${i + 1}`)})`,
        Object.values(args),
        claims,
      );
      return id as string;
    };
    const parent = await save('C', { content: `what came before ${randomBytes(4).toString('hex')}`, project_id: 'l9' });
    const short = await save('C', {
      content: content(`The first words of ${word}`),
      project_id: 'l9',
      parent_ids: [parent],
      tags: [`tag-${word}`],
      metadata: { agent: word, notes: { seen: word } },
      envelope: { title: word },
      routing: { to: word },
      provenance: { from: word },
      thread_id: 'the thread',
      correlation_id: reference,
      session_id: reference,
      trace_id: reference,
      idempotency_key: `key-${word}`,
    });
    for (const text of [`The second words of ${word}`, `The third words of ${word}`]) {
      await gateway.sql('C', 'select public.update_memory($1, content => $2)', [short, content(text)], claims);
    }
    const sentences = Array.from({ length: 24 }, (_, i) => `Sentence ${i} tells of ${word} once more, at some length.`);
    const long = await save('C', { content: content(sentences.join(' ')), project_id: 'l9', kind: 'excerpt' });
    const child = await save('C', {
      content: `what came of it ${randomBytes(4).toString('hex')}`,
      project_id: 'l9',
      parent_ids: [short],
    });
    const derived = { project_id: 'l9', scope: 'developer' };
    // The next memory of the thread has its words in its context, and stays.
    await save('C', {
      content: `what followed ${randomBytes(4).toString('hex')}`,
      project_id: 'l9',
      thread_id: 'the thread',
    });
    const summary = await save('L', {
      ...derived,
      kind: 'summary',
      content: content(`In short: ${word}`),
      parent_ids: [short, long],
    });
    const fact = await save('L', {
      ...derived,
      kind: 'fact',
      content: content(`It is a fact that ${word}`),
      parent_ids: [summary],
    });
    // Relations and aliases are derived from it.
    for (const [text, ...values] of [
      [`select public.relate($2, 'knows', $3, source_packet => $1)`, short, `one ${word}`, `other ${word}`],
      ['select public.add_alias($2, $3, source_packet => $1)', long, `alias ${word}`, `one ${word}`],
    ] as const) {
      await gateway.sql('C', text, [...values], claims);
    }
    await gateway.embedded();
    // Changed once more and not embedded yet: it waits in the embedding queue.
    await gateway.sql('L', 'select public.update_memory($1, content => $2)', [fact, content(`It is: ${word}`)], claims);

    for (const query of [contents[2]!, `what about ${word}?`]) {
      const { result } = await gateway.tool('L', 'search_memory', { query, k: 20 });
      const own = [short, long, summary, fact];
      const hit = result.hits.find(({ packet_id }: { packet_id: string }) => own.includes(packet_id));
      expect(hit).toBeTruthy();
      const { isError } = await gateway.tool('L', 'record_feedback', {
        access_id: hit.access_id,
        was_useful: false,
        reason: `too much of ${word}`,
      });
      expect(isError).toBe(false);
    }
    // Fills the planner's statistics with all samples that they may hold.
    await gateway.inSuperuserSession((client) => client.query('analyze'));
    return { word, reference, contents, ids: [short, long, summary, fact, parent, child] };
  }

  const erase = async (trace: Trace) => {
    for (const id of trace.ids.slice(0, 2)) {
      const { errors } = await gateway.graphql(
        'L',
        'mutation ($id: UUID!) { admin { eraseMemory(packetId: $id, reason: "a test") { memories } } }',
        { id },
      );
      expect(errors).toBeUndefined();
    }
  };
  const grep = (trace: Trace) => gateway.inSuperuserSession((client) => grepDatabase(client, wordsOf(trace)));

  it('leaves neither its words nor a hash of them in any column of any table', async () => {
    const trace = await leaveTraces();
    const held = await grep(trace);
    for (const table of [
      'public.packet_store',
      'public.packet_versions',
      'public.memory_embeddings',
      'public.memory_contexts',
      'public.idempotency_keys',
      'public.audit_query_texts',
      'public.memory_feedback',
      'public.entity_relationships',
      'public.relationship_evidence',
      'public.entity_aliases',
    ]) {
      expect(held[table], `the test leaves traces in ${table}`).toBeTruthy();
    }
    expect(held['pg_catalog.pg_statistic'], 'the planner has no samples of contents').toBeUndefined();
    await erase(trace);
    expect(await grep(trace)).toStrictEqual({});
    const references = await gateway.inSuperuserSession((client) => grepDatabase(client, [trace.reference]));
    expect(Object.keys(references), 'only the audit log still names its call').toStrictEqual([
      expect.stringMatching(/^partitions\.audit_log_/),
    ]);

    // Its parent stays, and so does its child, which is no summary, fact or lesson; the child can still be changed.
    const [, , , , parent, child] = trace.ids;
    const kept = await gateway.sql('L', 'select packet_id from public.packet_store where packet_id = any ($1)', [
      trace.ids,
    ]);
    expect(kept.map(({ packet_id }) => packet_id).sort()).toStrictEqual([parent, child].sort());
    await gateway.sql('C', "select public.update_memory($1, tags => '{changed}')", [child], claims);
  });

  (pgDump ? it : it.skip)('leaves nothing in a dump made by pg_dump', async () => {
    const trace = await leaveTraces();
    const dump = async () => {
      const { stdout } = await promisify(execFile)(pgDump!, ['--statistics', `--dbname=${gateway.home.superuserUrl}`], {
        maxBuffer: 1 << 30,
      });
      return stdout.toLowerCase();
    };
    const before = await dump();
    for (const word of wordsOf(trace)) {
      const isFormer = word === hashOf(trace.contents[0]!) || word === hashOf(trace.contents[1]!);
      // The database never stores a hash of a former version.
      if (!isFormer && word !== hashOf(trace.contents.at(-2)!)) expect(before, word).toContain(word.toLowerCase());
    }
    await erase(trace);
    const after = await dump();
    for (const word of wordsOf(trace)) expect(after, word).not.toContain(word.toLowerCase());
  });

  // The search must be able to fail: without one of the functions it finds what that function removes.
  for (const [name, nothing, where] of [
    ['mark_derived', 'select', 'public.packet_store'],
    ['erase_packets', `select '{"memories": 0}'::jsonb`, 'public.packet_versions'],
    ['erase_query_texts', `select '{}'::jsonb`, 'public.audit_query_texts'],
  ] as const) {
    const skip =
      engine === 'embedded' &&
      name !== 'erase_packets' &&
      'the same search on the server engine is enough, and it is slow in WebAssembly';
    (skip ? it.skip : it)(`leaves something behind if ${name}() does nothing`, async () => {
      const original = await gateway.inSuperuserSession(async (client) => {
        const { rows } = await client.query(
          `select pg_get_functiondef(p.oid) as source,
             format('create or replace function %s(%s) returns %s language sql set search_path = '''' as %L',
               p.oid::regproc, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), $2::text) as empty
           from pg_proc p where p.proname = $1 and p.pronamespace in (select oid from pg_namespace where nspowner = 'l9_owner'::regrole and nspname <> 'graphile_migrate')`,
          [name, nothing],
        );
        await client.query(rows[0].empty);
        return rows[0].source as string;
      });
      try {
        const trace = await leaveTraces();
        await erase(trace);
        expect((await grep(trace))[where], where).toBeTruthy();
      } finally {
        await gateway.inSuperuserSession((client) => client.query(original));
      }
    });
  }

  it('is referenced by a cascading foreign key from every table that stores its id', async () => {
    const strays = await gateway.inSuperuserSession(
      async (client) =>
        (
          await client.query(`
          select c.oid::regclass::text as name from pg_attribute a join pg_class c on c.oid = a.attrelid
          where a.attname = 'packet_id' and c.relkind in ('r', 'p') and c.relispartition = false
            and c.relnamespace in (select oid from pg_namespace where nspowner = 'l9_owner'::regrole and nspname <> 'graphile_migrate')
            -- Tombstones outlive their memory, and the jobs that empty stale_contexts and pending_recounts skip memories that do not
            -- exist. memories_being_deleted is empty at the end of each statement. Voices go with the statistics of their memory. A citation is part of the citing memory, like parent_ids.
            and c.oid not in (
              'public.packet_store'::regclass, 'public.memory_tombstones'::regclass, 'embeddings.stale_contexts'::regclass,
              'derived.memories_being_deleted'::regclass,
              'importance.pending_recounts'::regclass, 'importance.memory_voices'::regclass, 'importance.memory_citations'::regclass)
            and not exists (
              select from pg_constraint k
              where k.conrelid = c.oid and k.contype = 'f' and k.confrelid = 'public.packet_store'::regclass
                and k.confdeltype = 'c' and k.conkey = array[a.attnum])`)
        ).rows,
    );
    expect(strays).toStrictEqual([]);
  });

  it('leaves neither texts, searches, feedback nor the name of an erased subject', async () => {
    const trace = await leaveTraces();
    await gateway.inSuperuserSession(async (client) => {
      await client.query(`
        create table if not exists public.users (
          tenant_id uuid not null, user_id uuid not null, org_id uuid, name text not null, is_active boolean not null default true);
        alter table public.users owner to l9_owner;
        alter table public.users alter column name set statistics 0;`);
      await client.query('insert into public.users (tenant_id, user_id, name) values ($1, $2, $3)', [
        tenant,
        user,
        `Jane ${trace.word}`,
      ]);
    });
    // The subject also gave feedback about the memory of another.
    await gateway.sql('C', "select public.save_memory('a yardstick of everybody', project_id => 'l9')");
    const [feedback] = await gateway.sql(
      'C',
      `select (public.record_feedback((s.hits[1]).access_id, true, $1)).reason
       from public.search_memory('yardstick', mode => 'lexical') s`,
      [`as long as ${trace.word}`],
      claims,
    );
    expect(feedback.reason).toMatch(/as long/);
    // This search finds nothing, and no memory contains its text.
    await gateway.sql(
      'C',
      "select public.search_memory($1, project_id => 'none')",
      [`what else of ${trace.word}?`],
      claims,
    );
    const { data, errors } = await gateway.graphql(
      'L',
      'mutation ($id: UUID!) { admin { eraseSubject(userId: $id, reason: "asked for by the subject") { memories removed } } }',
      { id: user },
    );
    expect(errors).toBeUndefined();
    expect(data.admin.eraseSubject.memories).toBeGreaterThanOrEqual(trace.ids.length);
    expect(data.admin.eraseSubject.removed.names).toBe(1);
    expect(data.admin.eraseSubject.removed.feedback).toBe(3);
    expect(await grep(trace)).toStrictEqual({});
    const [row] = await gateway.inSuperuserSession(
      async (client) =>
        (await client.query('select name, is_active from public.users where user_id = $1', [user])).rows,
    );
    expect(row).toStrictEqual({ name: `erased-${user}`, is_active: false });
  });
});

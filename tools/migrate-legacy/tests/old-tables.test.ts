// Moves the old memory.* tables, including their typical defects, into packet_store.

import { serverUrl } from '../../../db/tests/support/engine.ts';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { DEFAULT_TENANT } from '../../../gateway/src/auth/identity.ts';
import { startTestGateway } from '../../../gateway/tests/support/gateway.ts';
import {
  counts,
  createOldHome,
  DUMP,
  FIRST,
  GIVE_TO_OWNER,
  OLD_ROWS,
  OLD_SCHEMA,
  type OldHome,
  type Rows,
  USER,
  uuid,
} from './old-database.ts';

describe('migrate-legacy on the old tables', () => {
  let old: OldHome;
  let pristine: Rows;
  // The rows after the move. They are read once, because each connection to the embedded engine starts it.
  let now: { packets: Rows; known: Rows; vectors: Rows; waiting: Rows; audit: Rows; dump: Rows };
  beforeAll(async () => {
    old = await createOldHome();
    await old.superuser(async (query) => {
      await query(OLD_SCHEMA);
      await query(OLD_ROWS);
      pristine = await query(DUMP);
    });
  });
  afterAll(() => old.drop());

  const PACKETS = `select packet_id, packet_type, left(content, 100) as content, "timestamp"::text, updated_at::text,
    provenance -> 'legacy' as legacy, metadata, metadata::text as metadata_text, tags, ttl::text, project_id, scope,
    importance_score, user_id, session_id, tenant_id from packet_store`;
  const packet = (which: string) => {
    const found = now.packets.filter(({ packet_id, content }) => packet_id === which || content === which);
    expect(found, which).toHaveLength(1);
    return found[0];
  };

  it('names the missing rights if it may not read the tables', async () => {
    const refused = await old.migrate();
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(
      /grant usage on schema memory to l9_owner;\n\s+grant select on memory.audit_log to l9_owner;/,
    );
    expect(refused.err).toMatch(/grant select on memory."shortTerm" to l9_owner;/);
    expect(refused.out).toBe('');
    const rights = refused.err.match(/grant .*;/g)!.join('\n');
    await old.query(rights);
  });

  it('changes not one byte of the database in a dry run, which is the default', async () => {
    const dry = await old.migrate('--embedding-model', 'old-model');
    expect(dry.code, dry.err).toBe(0);
    expect(dry.report.applied).toBe(false);
    expect(counts(dry)).toStrictEqual(FIRST);
    expect(await old.query(DUMP)).toStrictEqual(pristine);
  });

  it('drops tables only for their owner, and only after all rows are moved', async () => {
    const dry = await old.migrate('--drop');
    expect(dry.code).toBe(1);
    expect(dry.report.drop!.obstacles.some((text) => text.includes('alter schema memory owner to l9_owner;'))).toBe(
      true,
    );
    await old.superuser(async (query) => {
      await query(GIVE_TO_OWNER);
    });
    const again = await old.migrate('--drop', '--skip', 'blank,long,expired,deleted,scope,operation,time,texts');
    expect(again.report.drop).toStrictEqual({
      done: false,
      obstacles: [
        `memory.long_term: 1 rows not moved (project); --skip project accepts their loss (${uuid(3)})`,
        'memory.mediumterm: 1 rows not moved (project); --skip project accepts their loss (4)',
      ],
    });
  });

  it('moves the tables by --apply, as the dry run reported', async () => {
    const applied = await old.migrate('--apply', '--embedding-model', 'old-model');
    expect(applied.code, applied.err).toBe(0);
    await old.superuser(async (query) => {
      now = {
        packets: await query(PACKETS),
        known: await query('select * from legacy.legacy_ids'),
        vectors: await query(
          `select packet_id, model, scope, extensions.vector_norm(vector) as norm, extensions.subvector(vector, 1, 5)::text as start
          from memory_embeddings order by 1`,
        ),
        waiting: await query(
          `select (select count(*)::int from embeddings.pending_embeddings) as waiting,
            (select count(*)::int from pg_indexes where indexdef like '%old-model%') as indexes`,
        ),
        audit: await query("select * from audit_log where table_name <> 'actors' order by occurred_at"),
        dump: await query(DUMP),
      };
    });
    expect(counts(applied)).toStrictEqual(FIRST);
    const { columns } = applied.table('memory.long_term');
    const becomes = Object.fromEntries(columns.map((column) => [column.name, column.becomes]));
    expect(becomes.mood).toBe('unmapped: provenance.legacy.columns');
    expect(becomes.words).toBe('not imported: computed from other columns');
    expect(columns.find(({ name }) => name === 'mood')!.values).toBe(1);
    expect(applied.report.importance).toStrictEqual({ highest: 10, scale: 10 });
    expect(applied.table('memory.long_term').vectors).toStrictEqual({ moved: 3 });
    expect(applied.table('memory.mediumterm').vectors).toStrictEqual({ 'of other dimensions': 1 });
    expect(
      applied.table('memory.long_term').writers.toSorted((a, b) => a.how.localeCompare(b.how) || a.rows - b.rows),
    ).toStrictEqual([
      { creator: 'Cursor-IDE', how: 'named', rows: 1 },
      { creator: 'L-CTO', how: 'named', rows: 1 },
      { creator: 'L-CTO', how: 'nobody named', rows: 3 },
    ]);
  });

  it('keeps ids, times, writers, numbers and notes, and loses no column', async () => {
    const one = packet(uuid(1));
    expect(one.content).toBe('We ship on Tuesdays.');
    expect([one.packet_type, one.scope, one.project_id, one.tenant_id]).toStrictEqual([
      'decision',
      'developer',
      'l9',
      DEFAULT_TENANT,
    ]);
    expect(new Date(one.timestamp).toISOString()).toBe('2024-03-01T10:00:00.123Z');
    expect(one.timestamp).toMatch(/\.123456/);
    expect([one.metadata.creator, one.metadata.source, one.metadata.notes]).toStrictEqual([
      'Cursor-IDE',
      'cursor-ide',
      { by: 'hand' },
    ]);
    expect(one.metadata_text).toMatch(/"ticket": 12345678901234567890/);
    expect(Math.abs(one.importance_score - 0.8)).toBeLessThan(1e-6);
    expect(one.legacy.columns).toStrictEqual({ mood: 'happy' });
    expect([one.legacy.table, one.legacy.id, one.legacy.importance]).toStrictEqual(['memory.long_term', uuid(1), 8]);

    const two = packet(uuid(2));
    expect([two.scope, two.project_id, two.packet_type, two.user_id]).toStrictEqual([
      'global',
      null,
      'user_preference',
      USER,
    ]);
    expect([two.legacy.kind, two.legacy.project, two.legacy.creator]).toStrictEqual([
      'User Preference',
      'l9',
      'somebody else',
    ]);
    expect(two.metadata.creator).toBe('L-CTO');

    const four = packet(uuid(4));
    expect([four.scope, four.metadata.creator], 'metadata written as a string is read').toStrictEqual([
      'l-private',
      'L-CTO',
    ]);
    const nine = packet(uuid(9));
    expect([nine.legacy.metadata, nine.legacy.created]).toStrictEqual([[1, 2], '2999-01-01T00:00:00.000Z']);
    expect(Date.parse(nine.timestamp)).toBeLessThanOrEqual(Date.now());

    const heron = packet('The staging host is called heron.');
    expect(heron.packet_id[14], 'a bigint becomes a version 7 UUID …').toBe('7');
    expect(Number.parseInt(heron.packet_id.replace('-', '').slice(0, 12), 16), '… of its time').toBe(
      Date.parse('2024-01-02T08:00:00Z'),
    );
    expect(heron.legacy.id).toBe('2');
    expect(heron.legacy.session.length).toBe(300);
    expect([heron.user_id, heron.project_id, heron.tags]).toStrictEqual([USER, 'l9', ['infra']]);
    const broken = packet('Meta that is no JSON.');
    expect([broken.legacy.metadata, broken.legacy.tags]).toStrictEqual(['not json {', { a: 1 }]);

    const line = packet('A line of JSON.');
    expect([line.scope, line.tags]).toStrictEqual(['global', ['one', 'two']]);
    expect(new Date(line.timestamp).toISOString()).toBe('2024-01-01T00:00:00.000Z');
    const object = packet('Taken out of an object.');
    expect(object.legacy.content).toStrictEqual({ content: 'Taken out of an object.', lang: 'en' });
    expect(object.ttl, 'an interval counts from when it was made').toMatch(/^3024-/);
  });

  it('merges equal contents into one memory with the latest expiry and highest importance', async () => {
    const one = packet(uuid(1));
    expect([one.tags, one.ttl]).toStrictEqual([['release', 'weekly', 'calendar'], null]);
    const known = now.known.find(
      ({ source_table, source_id }) => source_table === 'memory.mediumterm' && source_id === '1',
    );
    expect([known.new_id, known.outcome]).toStrictEqual([uuid(1), 'merged']);
    expect([known.leftover.importance, known.leftover.columns, known.leftover.metadata.project]).toStrictEqual([
      2.5,
      { big: { n: 1000 } },
      'l9',
    ]);
  });

  it('takes over vectors of the named model, normalised to length 1', async () => {
    const rows = now.vectors;
    expect(rows.map(({ packet_id, model, scope }) => [packet_id, model, scope])).toStrictEqual([
      [uuid(1), 'old-model', 'developer'],
      [uuid(4), 'old-model', 'l-private'],
      [uuid(9), 'old-model', 'developer'],
    ]);
    for (const { norm } of rows) expect(Math.abs(norm - 1)).toBeLessThan(1e-6);
    expect(rows[0].start).toBe('[0.2,0.4,0.4,0.8,0]');
    const [{ waiting, indexes }] = now.waiting;
    // No gateway has started here yet, so no model serves. The one that will then lists all that lacks its vectors.
    expect([waiting, indexes]).toStrictEqual([0, serverUrl ? 48 : 3]);
  });

  it('audits each moved memory, and takes over old audit rows with their times', async () => {
    const legacy = now.audit.filter(({ details }) => details.legacy);
    const others = now.audit.filter(({ details }) => !details.legacy);
    expect(
      others.map(({ caller, tool_name, operation }) => `${operation} ${caller} ${tool_name}`).sort(),
    ).toStrictEqual([...Array(8).fill('INSERT db:l9_owner migrate-legacy'), 'UPDATE db:l9_owner migrate-legacy']);
    expect(
      legacy.map(({ occurred_at, operation, caller, scope, status, sqlstate }) => [
        occurred_at.toISOString(),
        operation,
        caller,
        scope,
        status,
        sqlstate,
      ]),
    ).toStrictEqual([
      ['2024-03-01T10:00:00.000Z', 'INSERT', 'C', 'developer', 'success', null],
      ['2024-03-01T10:05:00.000Z', 'SEARCH', 'legacy:unnamed', 'global', 'error', 'XX000'],
      ['2024-03-01T10:06:00.000Z', 'DELETE', 'L', null, 'success', null],
    ]);
    expect(
      [legacy[0].caller, legacy[0].creator, legacy[0].source, legacy[0].tool_name],
      'those that only its details name',
    ).toStrictEqual(['C', 'Cursor-IDE', 'cursor-ide', 'save_memory']);
    const heron = packet('The staging host is called heron.');
    expect([legacy[0].row_id, legacy[2].row_id], 'a row is about what became of it').toStrictEqual([
      uuid(1),
      heron.packet_id,
    ]);
    expect([legacy[0].details.k, legacy[0].details.ids, legacy[0].details.legacy.id]).toStrictEqual([
      3,
      ['a', 'b'],
      '1',
    ]);
    expect(legacy[0].details.query_sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(legacy), 'the audit log holds no contents').not.toMatch(/heron|short|word/);
  });

  it('moves no row twice', async () => {
    const second = await old.migrate('--apply', '--embedding-model', 'old-model');
    expect(second.code, second.err).toBe(0);
    for (const outcomes of Object.values(counts(second)))
      expect([outcomes.moved, outcomes.merged, outcomes.recorded]).toStrictEqual([undefined, undefined, undefined]);
    expect(counts(second)['memory.long_term']!.kept).toBe(4);
    expect(await old.query(DUMP)).toStrictEqual(now.dump);
  });

  it('accepts options for the rows that were left, and continues from there', async () => {
    const more = await old.migrate('--apply', '--project', 'l9', '--scope', 'team-red=developer', '--scope', '=global');
    expect(more.code, more.err).toBe(0);
    const { 'memory.long_term': long, 'memory.mediumterm': medium, 'memory."shortTerm"': short } = counts(more);
    expect([long!.moved, medium!.moved, short!.moved]).toStrictEqual([2, 1, 1]);
    now.packets = await old.query(PACKETS);
    const three = packet(uuid(3));
    expect([three.metadata.creator, three.project_id, three.importance_score]).toStrictEqual(['Cursor-IDE', 'l9', 0]);
    expect([three.legacy.user, three.legacy.importance]).toStrictEqual(['igor', -3]);
    expect(three.ttl).toMatch(/^2999-/);
  });

  it('lets C find moved memories of developer and global, and L all of them', async () => {
    const gateway = await startTestGateway({ home: { ...old.home, drop: async () => {} } });
    try {
      // The gateway queues memories without a vector, but possibly after this check.
      await gateway.instance.database.workerPool.query(
        "select embeddings.enqueue_missing_embeddings(m.model) from public.embedding_models m where m.state = 'serving'",
      );
      await gateway.embedded();
      const seen = async (caller: string) =>
        (await gateway.sql(caller, 'select content from packet_store order by content')).map(({ content }) => content);
      const ofC = await seen('C');
      expect(ofC).toContain('We ship on Tuesdays.');
      expect(ofC).toContain('A cursor memory without a writer.');
      expect(ofC, 'not private, not of a user').not.toContain('Only for L.');
      expect(
        ofC.some((content) => content.includes('heron')),
        'not private, not of a user',
      ).toBe(false);
      expect(await seen('L')).toContain('Only for L.');
      const found = await gateway.tool('C', 'search_memory', {
        query: 'on which day do releases leave?',
        mode: 'semantic',
        k: 1,
      });
      expect(found.result.hits[0].content, 'found by meaning, with a new vector').toBe('We ship on Tuesdays.');
      // Ids of the old tables say nothing of time; memories can rest on them all the same, and never in a circle.
      const saved = await gateway.tool('C', 'save_memory', {
        content: 'So no release on Friday.',
        project_id: 'l9',
        parent_ids: [uuid(1)],
      });
      expect(saved.result.memory.parent_ids).toStrictEqual([uuid(1)]);
      await expect(
        gateway.sql('C', 'select update_memory($1, parent_ids => $2)', [uuid(1), [saved.result.memory.packet_id]]),
      ).rejects.toMatchObject({ code: 'L9VAL' });
      // C wrote this one, before and now.
      await gateway.tool('C', 'update_memory', { packet_id: uuid(1), content: 'We ship on Wednesdays.' });
      await gateway.tool('L', 'delete_memory', { packet_id: uuid(4) });
      await gateway.embedded();
      // A gateway that closes while a job is being ticked off leaves a connection behind that is waited for in vain.
      const jobs = () => gateway.instance.database.workerPool.query('select 1 from graphile_worker.jobs');
      await eventually(async () => (await jobs()).rowCount === 0);
    } finally {
      await gateway.close();
    }
  });

  // Records of two old audit rows that different callers wrote, each with the audit row of the other.
  const swapRecorded = `update legacy.legacy_ids i set new_id = o.new_id from legacy.legacy_ids o
    where i.source_table = 'memory.audit_log' and o.source_table = i.source_table and o.source = i.source
      and (i.source_id, o.source_id) in (('1', '3'), ('3', '1'))`;

  it('refuses to drop a table while rows of it are unaccounted for, and lists them', async () => {
    let gone: Rows = [];
    let before: Rows = [];
    await old.superuser(async (query) => {
      await query("update memory.long_term set content = 'Changed since.' where id = $1", [uuid(2)]);
      // Who wrote these is not the same any more.
      await query(swapRecorded);
      await query(`update memory.long_term set metadata = '{"creator": "L-CTO"}' where id = $1`, [uuid(3)]);
      await query('create view memory.recent as select id from memory.long_term');
      await query(
        "create function memory.report() returns bigint language sql as 'select count(*) from memory.long_term'",
      );
      gone = await query('select source_hash, leftover from legacy.legacy_ids where new_id = $1', [uuid(4)]);
      before = await query(DUMP);
    });
    expect(gone, 'with a memory goes what was known of its content').toStrictEqual([
      { source_hash: null, leftover: null },
    ]);
    const refused = await old.migrate(
      '--apply',
      '--project',
      'l9',
      '--scope',
      'team-red=developer',
      '--scope',
      '=global',
      '--drop',
    );
    expect(refused.code).toBe(1);
    const { done, obstacles } = refused.report.drop!;
    expect(done).toBe(false);
    for (const expected of [
      /^function memory.report\(\) is also in schema memory/,
      /^view memory.recent is also in schema memory/,
      /^memory.long_term: 1 rows were changed in the old table after they were moved; --skip changed accepts their loss \(f0000002-/,
      /^memory.long_term: 1 rows were moved, and have been deleted here since; --skip gone accepts their loss/,
      /^memory.long_term: 1 rows not moved \(long\); --skip long/,
      /^memory."shortTerm": 1 rows not moved \(deleted\); --skip deleted/,
      /^memory.audit_log: 1 rows not moved \(operation\); --skip operation/,
      /^memory.audit_log: 2 rows were moved, but name another caller, creator, source or tool here.*--skip actors accepts their loss/,
      /^memory.long_term: 1 rows were moved, but name another caller/,
      /^memory.audit_log: texts in audit rows would be lost; --skip texts accepts that \(content, said\)/,
    ]) {
      expect(
        obstacles.some((text) => expected.test(text)),
        `${expected} in\n${obstacles.join('\n')}`,
      ).toBe(true);
    }
    expect(
      obstacles.some((text) => text.includes(uuid(1))),
      'changed by its writer here: accounted for',
    ).toBe(false);
    expect(await old.query(DUMP)).toStrictEqual(before);
  });

  it('drops a table once every row is accounted for', async () => {
    const skip = 'changed,gone,long,blank,expired,deleted,operation,time,texts';
    const args = [
      '--apply',
      '--project',
      'l9',
      '--scope',
      'team-red=developer',
      '--scope',
      '=global',
      '--drop',
      '--skip',
      skip,
    ];
    await old.superuser(async (query) => {
      await query('drop function memory.report()');
      await query(swapRecorded);
      await query('update memory.long_term set metadata = null where id = $1', [uuid(3)]);
      await query('drop view memory.recent');
      await query('create view public.of_old as select id from memory.long_term');
    });
    const depended = await old.migrate(...args);
    expect(depended.report.drop!.obstacles.join()).toMatch(/view of_old depends on table memory.long_term/);
    await old.query('drop view public.of_old');

    const dropped = await old.migrate(...args);
    expect(dropped.report.drop).toStrictEqual({ done: true, obstacles: [] });
    expect(dropped.code).toBe(0);
    const [{ left, audit }] = await old.query(
      `select (select count(*)::int from pg_namespace where nspname = 'memory') as left,
        (select to_jsonb(a) from audit_log a where operation = 'CLEANUP' and table_name = 'memory') as audit`,
    );
    expect(left).toBe(0);
    expect(audit.caller).toBe('db:l9_owner');
    expect(audit.details.dropped_tables.length).toBe(4);
  });
});

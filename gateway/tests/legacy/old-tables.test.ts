// The old memory.* tables, with all that had gone wrong in them, into packet_store.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DEFAULT_TENANT } from '../../src/auth/identity.ts';
import { serverUrl } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { openHouse } from '../support/house.ts';
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

describe('the old tables', () => {
  let old: OldHome;
  let pristine: Rows;
  // What there is after the move; each look into the embedded engine starts it anew.
  let now: { packets: Rows; known: Rows; vectors: Rows; waiting: Rows; audit: Rows; dump: Rows };
  before(async () => {
    old = await createOldHome();
    await old.superuser(async (query) => {
      await query(OLD_SCHEMA);
      await query(OLD_ROWS);
      pristine = await query(DUMP);
    });
  });
  after(() => old.drop());

  const PACKETS = `select packet_id, packet_type, left(content, 100) as content, "timestamp"::text, updated_at::text,
    provenance -> 'legacy' as legacy, metadata, metadata::text as metadata_text, tags, ttl::text, project_id, scope,
    importance_score, user_id, session_id, tenant_id from packet_store`;
  const packet = (which: string) => {
    const found = now.packets.filter(({ packet_id, content }) => packet_id === which || content === which);
    assert.equal(found.length, 1, which);
    return found[0];
  };

  it('are not read without the rights to, which are named', async () => {
    const refused = await old.migrate();
    assert.equal(refused.code, 1);
    assert.match(
      refused.err,
      /grant usage on schema memory to l9_owner;\n\s+grant select on memory.audit_log to l9_owner;/,
    );
    assert.match(refused.err, /grant select on memory."shortTerm" to l9_owner;/);
    assert.equal(refused.out, '');
    const rights = refused.err.match(/grant .*;/g)!.join('\n');
    await old.query(rights);
  });

  it('are only looked at by a dry run, which is the default: the database is the same to the last byte', async () => {
    const dry = await old.migrate('--embedding-model', 'old-model');
    assert.equal(dry.code, 0, dry.err);
    assert.equal(dry.report.applied, false);
    assert.deepEqual(counts(dry), FIRST);
    assert.deepEqual(await old.query(DUMP), pristine);
  });

  it('are dropped by nobody but their owner, and not before all is moved', async () => {
    const dry = await old.migrate('--drop');
    assert.equal(dry.code, 1);
    assert.ok(dry.report.drop!.obstacles.some((text) => text.includes('alter schema memory owner to l9_owner;')));
    await old.superuser(async (query) => {
      await query(GIVE_TO_OWNER);
    });
    const again = await old.migrate('--drop', '--skip', 'blank,long,expired,deleted,scope,operation,time,texts');
    assert.deepEqual(again.report.drop, {
      done: false,
      obstacles: [
        `memory.long_term: 1 rows not moved (project); --skip project lets them go (${uuid(3)})`,
        'memory.mediumterm: 1 rows not moved (project); --skip project lets them go (4)',
      ],
    });
  });

  it('are moved by --apply, and the report of the dry run held', async () => {
    const applied = await old.migrate('--apply', '--embedding-model', 'old-model');
    assert.equal(applied.code, 0, applied.err);
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
        audit: await query('select * from audit_log order by occurred_at'),
        dump: await query(DUMP),
      };
    });
    assert.deepEqual(counts(applied), FIRST);
    const { columns } = applied.table('memory.long_term');
    const becomes = Object.fromEntries(columns.map((column) => [column.name, column.becomes]));
    assert.equal(becomes.mood, 'unmapped: provenance.legacy.columns');
    assert.equal(becomes.words, 'left behind: made from other columns');
    assert.equal(columns.find(({ name }) => name === 'mood')!.values, 1);
    assert.deepEqual(applied.report.importance, { highest: 10, scale: 10 });
    assert.deepEqual(applied.table('memory.long_term').vectors, { moved: 3 });
    assert.deepEqual(applied.table('memory.mediumterm').vectors, { 'of other dimensions': 1 });
    assert.deepEqual(
      applied.table('memory.long_term').writers.toSorted((a, b) => a.how.localeCompare(b.how) || a.rows - b.rows),
      [
        { creator: 'Cursor-IDE', how: 'named', rows: 1 },
        { creator: 'L-CTO', how: 'named', rows: 1 },
        { creator: 'L-CTO', how: 'nobody named', rows: 3 },
      ],
    );
  });

  it('keep ids, times, writers, numbers and notes, and lose no column', async () => {
    const one = packet(uuid(1));
    assert.equal(one.content, 'We ship on Tuesdays.');
    assert.deepEqual(
      [one.packet_type, one.scope, one.project_id, one.tenant_id],
      ['decision', 'developer', 'l9', DEFAULT_TENANT],
    );
    assert.equal(new Date(one.timestamp).toISOString(), '2024-03-01T10:00:00.123Z');
    assert.match(one.timestamp, /\.123456/);
    assert.deepEqual(
      [one.metadata.creator, one.metadata.source, one.metadata.notes],
      ['Cursor-IDE', 'cursor-ide', { by: 'hand' }],
    );
    assert.match(one.metadata_text, /"ticket": 12345678901234567890/);
    assert.ok(Math.abs(one.importance_score - 0.8) < 1e-6);
    assert.deepEqual(one.legacy.columns, { mood: 'happy' });
    assert.deepEqual([one.legacy.table, one.legacy.id, one.legacy.importance], ['memory.long_term', uuid(1), 8]);

    const two = packet(uuid(2));
    assert.deepEqual(
      [two.scope, two.project_id, two.packet_type, two.user_id],
      ['global', null, 'user_preference', USER],
    );
    assert.deepEqual(
      [two.legacy.kind, two.legacy.project, two.legacy.creator],
      ['User Preference', 'l9', 'somebody else'],
    );
    assert.equal(two.metadata.creator, 'L-CTO');

    const four = packet(uuid(4));
    assert.deepEqual(
      [four.scope, four.metadata.creator],
      ['l-private', 'L-CTO'],
      'metadata written as a string is read',
    );
    const nine = packet(uuid(9));
    assert.deepEqual([nine.legacy.metadata, nine.legacy.created], [[1, 2], '2999-01-01T00:00:00+00:00']);
    assert.ok(Date.parse(nine.timestamp) <= Date.now());

    const heron = packet('The staging host is called heron.');
    assert.equal(heron.packet_id[14], '7', 'a bigint becomes a version 7 UUID …');
    assert.equal(
      Number.parseInt(heron.packet_id.replace('-', '').slice(0, 12), 16),
      Date.parse('2024-01-02T08:00:00Z'),
      '… of its time',
    );
    assert.equal(heron.legacy.id, '2');
    assert.equal(heron.legacy.session.length, 300);
    assert.deepEqual([heron.user_id, heron.project_id, heron.tags], [USER, 'l9', ['infra']]);
    const broken = packet('Meta that is no JSON.');
    assert.deepEqual([broken.legacy.metadata, broken.legacy.tags], ['not json {', { a: 1 }]);

    const line = packet('A line of JSON.');
    assert.deepEqual([line.scope, line.tags], ['global', ['one', 'two']]);
    assert.equal(new Date(line.timestamp).toISOString(), '2024-01-01T00:00:00.000Z');
    const object = packet('Taken out of an object.');
    assert.deepEqual(object.legacy.content, { content: 'Taken out of an object.', lang: 'en' });
    assert.match(object.ttl, /^3024-/, 'an interval counts from when it was made');
  });

  it('with the same content become one memory, which lives as long and weighs as much as any of them', async () => {
    const one = packet(uuid(1));
    assert.deepEqual([one.tags, one.ttl], [['release', 'weekly', 'calendar'], null]);
    const known = now.known.find(
      ({ source_table, source_id }) => source_table === 'memory.mediumterm' && source_id === '1',
    );
    assert.deepEqual([known.new_id, known.outcome], [uuid(1), 'merged']);
    assert.deepEqual(
      [known.leftover.importance, known.leftover.columns, known.leftover.metadata.project],
      [2.5, { big: { n: 1000 } }, 'l9'],
    );
  });

  it('bring vectors of the named model, at length 1; what waits for another is for the first gateway to say', async () => {
    const rows = now.vectors;
    assert.deepEqual(
      rows.map(({ packet_id, model, scope }) => [packet_id, model, scope]),
      [
        [uuid(1), 'old-model', 'developer'],
        [uuid(4), 'old-model', 'l-private'],
        [uuid(9), 'old-model', 'developer'],
      ],
    );
    for (const { norm } of rows) assert.ok(Math.abs(norm - 1) < 1e-6);
    assert.equal(rows[0].start, '[0.2,0.4,0.4,0.8,0]');
    const [{ waiting, indexes }] = now.waiting;
    // No gateway has started here yet, so no model serves. The one that will then lists all that lacks its vectors.
    assert.deepEqual([waiting, indexes], [0, serverUrl ? 50 : 5]);
  });

  it('leave an audit row for each memory, and bring their own, at the time they had', async () => {
    const legacy = now.audit.filter(({ details }) => details.legacy);
    const others = now.audit.filter(({ details }) => !details.legacy);
    assert.deepEqual(others.map(({ caller, tool_name, operation }) => `${operation} ${caller} ${tool_name}`).sort(), [
      ...Array(8).fill('INSERT db:l9_owner migrate-legacy'),
      'UPDATE db:l9_owner migrate-legacy',
    ]);
    assert.deepEqual(
      legacy.map(({ occurred_at, operation, caller, scope, status, sqlstate }) => [
        occurred_at.toISOString(),
        operation,
        caller,
        scope,
        status,
        sqlstate,
      ]),
      [
        ['2024-03-01T10:00:00.000Z', 'INSERT', 'C', 'developer', 'success', null],
        ['2024-03-01T10:05:00.000Z', 'SEARCH', 'legacy:unnamed', 'global', 'error', 'XX000'],
        ['2024-03-01T10:06:00.000Z', 'DELETE', 'L', null, 'success', null],
      ],
    );
    const heron = packet('The staging host is called heron.');
    assert.deepEqual(
      [legacy[0].row_id, legacy[2].row_id],
      [uuid(1), heron.packet_id],
      'a row is about what became of it',
    );
    assert.deepEqual([legacy[0].details.k, legacy[0].details.ids, legacy[0].details.legacy.id], [3, ['a', 'b'], '1']);
    assert.match(legacy[0].details.query_sha256, /^[0-9a-f]{64}$/);
    assert.ok(!/heron|short|word/.test(JSON.stringify(legacy)), 'no words of anybody are on the record');
  });

  it('move nothing twice', async () => {
    const second = await old.migrate('--apply', '--embedding-model', 'old-model');
    assert.equal(second.code, 0, second.err);
    for (const outcomes of Object.values(counts(second)))
      assert.deepEqual([outcomes.moved, outcomes.merged, outcomes.recorded], [undefined, undefined, undefined]);
    assert.equal(counts(second)['memory.long_term']!.kept, 4);
    assert.deepEqual(await old.query(DUMP), now.dump);
  });

  it('take options for what was left, and go on from there', async () => {
    const more = await old.migrate('--apply', '--project', 'l9', '--scope', 'team-red=developer', '--scope', '=global');
    assert.equal(more.code, 0, more.err);
    const { 'memory.long_term': long, 'memory.mediumterm': medium, 'memory."shortTerm"': short } = counts(more);
    assert.deepEqual([long!.moved, medium!.moved, short!.moved], [2, 1, 1]);
    now.packets = await old.query(PACKETS);
    const three = packet(uuid(3));
    assert.deepEqual([three.metadata.creator, three.project_id, three.importance_score], ['Cursor-IDE', 'l9', 0]);
    assert.deepEqual([three.legacy.user, three.legacy.importance], ['igor', -3]);
    assert.match(three.ttl, /^2999-/);
  });

  it('are found by whoever may see them: C what is developer and global, L all', async () => {
    const house = await openHouse({ home: { ...old.home, drop: async () => {} } });
    try {
      // The gateway lists what has no vector yet by itself, but perhaps after we have looked.
      await house.gateway.database.workerPool.query(
        "select embeddings.enqueue_missing_embeddings(m.model) from public.embedding_models m where m.state = 'serving'",
      );
      await house.embedded();
      const seen = async (caller: string) =>
        (await house.sql(caller, 'select content from packet_store order by content')).map(({ content }) => content);
      const ofC = await seen('C');
      assert.ok(ofC.includes('We ship on Tuesdays.') && ofC.includes('A cursor memory without a writer.'));
      assert.ok(
        !ofC.includes('Only for L.') && !ofC.some((content) => content.includes('heron')),
        'not private, not of a user',
      );
      assert.ok((await seen('L')).includes('Only for L.'));
      const found = await house.tool('C', 'search_memory', {
        query: 'on which day do releases leave?',
        mode: 'semantic',
        k: 1,
      });
      assert.equal(found.result.hits[0].content, 'We ship on Tuesdays.', 'by meaning, embedded anew');
      // Ids of the old tables say nothing of time; memories can rest on them all the same, and never in a circle.
      const saved = await house.tool('C', 'save_memory', {
        content: 'So no release on Friday.',
        project_id: 'l9',
        parent_ids: [uuid(1)],
      });
      assert.deepEqual(saved.result.memory.parent_ids, [uuid(1)]);
      await assert.rejects(
        house.sql('C', 'select update_memory($1, parent_ids => $2)', [uuid(1), [saved.result.memory.packet_id]]),
        { code: 'L9VAL' },
      );
      // C wrote this one, before and now.
      await house.tool('C', 'update_memory', { packet_id: uuid(1), content: 'We ship on Wednesdays.' });
      await house.tool('L', 'delete_memory', { packet_id: uuid(4) });
      await house.embedded();
      // A house that closes while a job is being ticked off leaves a connection behind that is waited for in vain.
      const jobs = () => house.gateway.database.workerPool.query('select 1 from graphile_worker.jobs');
      await eventually(async () => (await jobs()).rowCount === 0);
    } finally {
      await house.close();
    }
  });

  it('stay while anything in them is unaccounted for, which is said', async () => {
    let gone: Rows = [];
    let before: Rows = [];
    await old.superuser(async (query) => {
      await query("update memory.long_term set content = 'Changed since.' where id = $1", [uuid(2)]);
      await query('create view memory.recent as select id from memory.long_term');
      await query(
        "create function memory.report() returns bigint language sql as 'select count(*) from memory.long_term'",
      );
      gone = await query('select source_hash, leftover from legacy.legacy_ids where new_id = $1', [uuid(4)]);
      before = await query(DUMP);
    });
    assert.deepEqual(gone, [{ source_hash: null, leftover: null }], 'with a memory goes what was known of its content');
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
    assert.equal(refused.code, 1);
    const { done, obstacles } = refused.report.drop!;
    assert.equal(done, false);
    for (const expected of [
      /^function memory.report\(\) is in schema memory too/,
      /^view memory.recent is in schema memory too/,
      /^memory.long_term: 1 rows changed in the old table after they were moved; --skip changed lets them go \(f0000002-/,
      /^memory.long_term: 1 rows moved, and deleted here since; --skip gone lets them go/,
      /^memory.long_term: 1 rows not moved \(long\); --skip long/,
      /^memory."shortTerm": 1 rows not moved \(deleted\); --skip deleted/,
      /^memory.audit_log: 1 rows not moved \(operation\); --skip operation/,
      /^memory.audit_log: texts in audit rows would be lost; --skip texts lets them go \(content, said\)/,
    ]) {
      assert.ok(
        obstacles.some((text) => expected.test(text)),
        `${expected} in\n${obstacles.join('\n')}`,
      );
    }
    assert.ok(!obstacles.some((text) => text.includes(uuid(1))), 'changed by its writer here: accounted for');
    assert.deepEqual(await old.query(DUMP), before);
  });

  it('go by --drop once every row is accounted for', async () => {
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
      await query('drop view memory.recent');
      await query('create view public.of_old as select id from memory.long_term');
    });
    const depended = await old.migrate(...args);
    assert.match(depended.report.drop!.obstacles.join(), /view of_old depends on table memory.long_term/);
    await old.query('drop view public.of_old');

    const dropped = await old.migrate(...args);
    assert.deepEqual(dropped.report.drop, { done: true, obstacles: [] });
    assert.equal(dropped.code, 0);
    const [{ left, audit }] = await old.query(
      `select (select count(*)::int from pg_namespace where nspname = 'memory') as left,
        (select to_jsonb(a) from audit_log a where operation = 'CLEANUP' and table_name = 'memory') as audit`,
    );
    assert.equal(left, 0);
    assert.equal(audit.caller, 'db:l9_owner');
    assert.equal(audit.details.dropped_tables.length, 4);
  });
});

// What an old row becomes, value by value; the whole way is in old-tables.test.ts.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { auditMapper, operationOf } from '../../src/commands/migrate-legacy/audit.ts';
import {
  type Column,
  type Family,
  mapAuditColumns,
  mapMemoryColumns,
} from '../../src/commands/migrate-legacy/columns.ts';
import { parseJson } from '../../src/commands/migrate-legacy/json.ts';
import { type Judged, type MemoryRules, memoryMapper } from '../../src/commands/migrate-legacy/memory.ts';
import { createTally } from '../../src/commands/migrate-legacy/tally.ts';
import { instantOf, lifetimeOf } from '../../src/commands/migrate-legacy/time.ts';

const column = (name: string, family: Family): Column => ({
  name,
  family,
  type: family,
  isGenerated: false,
  dimensions: null,
});
const L = { caller: 'L', creator: 'L-CTO', source: 'l9-kernel', agent: 'l-cto' };
const C = { caller: 'C', creator: 'Cursor-IDE', source: 'cursor-ide', agent: 'cursor' };
const rules: MemoryRules = {
  source: 'old',
  now: Date.parse('2026-01-01T00:00:00Z'),
  scopes: new Map([
    ['developer', true],
    ['global', false],
  ]),
  scopeNames: new Map([['shared', 'global']]),
  defaultProject: null,
  actors: [C, L],
  writerByScope: new Map([['cursor', C]]),
  writer: L,
  importanceScale: 10,
  keepUsers: true,
  model: { name: 'm', dimensions: 3 },
};

function judge(
  rest: Record<string, [Family, unknown]>,
  more: Partial<MemoryRules> = {},
  embedding: string | null = null,
): Judged {
  const columns = [
    column('id', 'number'),
    column('content', 'text'),
    column('embedding', 'vector'),
    ...Object.entries(rest).map(([name, [family]]) => column(name, family)),
  ];
  const map = memoryMapper('memory.x', mapMemoryColumns(columns, 'id'), { ...rules, ...more }, createTally());
  return map({
    key: '1',
    hash: '',
    bytes: 1,
    content: 'x',
    embedding,
    rest: { scope: null, ...Object.fromEntries(Object.entries(rest).map(([name, [, value]]) => [name, value])) },
  });
}
function moved(
  rest: Record<string, [Family, unknown]>,
  more: Partial<MemoryRules> = {},
  embedding: string | null = null,
) {
  const judged = judge({ scope: ['text', 'global'], ...rest }, more, embedding);
  assert.ok('record' in judged, JSON.stringify(judged));
  return judged.record;
}

describe('columns of old tables', () => {
  const mapped = (names: Record<string, Family>) =>
    Object.fromEntries(
      Object.entries(
        mapMemoryColumns(
          Object.entries(names).map(([name, family]) => column(name, family)),
          'id',
        ),
      ).map(([field, { name }]) => [field, name]),
    );

  it('are known by many names, in any spelling', () => {
    assert.deepEqual(
      mapped({ userid: 'uuid', memoryType: 'text', body: 'text', Importance: 'number', created: 'local time' }),
      {
        user: 'userid',
        kind: 'memoryType',
        content: 'body',
        importance: 'Importance',
        created: 'created',
      },
    );
  });

  it('are not taken for what their type can not hold, nor twice', () => {
    assert.deepEqual(mapped({ content: 'number', text: 'text', timestamp: 'boolean', created_at: 'instant' }), {
      content: 'text',
      created: 'created_at',
    });
    assert.deepEqual(
      Object.keys(
        mapAuditColumns([column('id', 'number'), column('timestamp', 'instant'), column('type', 'text')], 'id'),
      ),
      ['operation', 'time'],
    );
  });
});

describe('times', () => {
  it('are read as they are written, without a zone as UTC, and from numbers of any size', () => {
    assert.equal(instantOf('2024-01-02T03:04:05.123456+02:00', 'instant'), '2024-01-02T03:04:05.123456+02:00');
    assert.equal(instantOf('2024-01-02T03:04:05', 'local time'), '2024-01-02T03:04:05Z');
    assert.equal(instantOf('2024-01-02 03:04', 'text'), '2024-01-02T03:04Z');
    assert.equal(instantOf('2024-01-02', 'local time'), '2024-01-02T00:00:00Z');
    for (const epoch of [1704067200, 1704067200000, 1704067200000000, '1704067200'])
      assert.equal(instantOf(epoch, 'number'), '2024-01-01T00:00:00.000Z');
  });

  it('that are none are null, not another time', () => {
    for (const value of ['yesterday', '2024-02-31', '2024-13-01', '', null, {}, 'infinity', '0044-03-15T00:00:00 BC'])
      assert.equal(instantOf(value, 'text'), null);
  });

  it('of expiry may be spans', () => {
    const created = '2024-01-01T00:00:00Z';
    assert.equal(lifetimeOf(60, column('ttl', 'number'), created), '2024-01-01T00:01:00.000Z');
    assert.equal(
      lifetimeOf(1704067200, column('ttl', 'number'), created),
      '2024-01-01T00:00:00.000Z',
      'a date of this age',
    );
    assert.equal(lifetimeOf(86400, column('expires', 'interval'), created), '2024-01-02T00:00:00.000Z');
    assert.equal(lifetimeOf('infinity', column('expires_at', 'instant'), created), 'infinity');
    assert.equal(lifetimeOf(60, column('ttl', 'number'), null), null);
    assert.equal(lifetimeOf(null, column('ttl', 'number'), created), null);
  });
});

describe('an old memory', () => {
  it('keeps numbers that no double holds', () => {
    const { metadata } = moved({
      metadata: ['json', parseJson('{"id": 12345678901234567890, "one": 1.0, "tiny": 1e-400}')],
    });
    assert.equal(JSON.stringify(metadata).match(/"id":(\d+)/)![1], '12345678901234567890');
    assert.match(JSON.stringify(metadata), /"one":1.0,"tiny":1e-400/);
  });

  it('is of the actor that its metadata names, by any of its names; else of whose scope it was', () => {
    const creator = (metadata: object, scope = 'global') =>
      moved(
        { metadata: ['json', metadata], scope: ['text', scope], project: ['text', 'p'] },
        { scopeNames: new Map([['cursor', 'developer']]) },
      ).metadata.creator;
    assert.equal(creator({ creator: 'cursor-ide' }), 'Cursor-IDE');
    assert.equal(creator({ creator: 'c' }), 'Cursor-IDE');
    assert.equal(creator({ source: 'l9-kernel' }, 'cursor'), 'L-CTO');
    assert.equal(creator({ creator: 'alice' }, 'cursor'), 'Cursor-IDE');
    assert.equal(creator({ creator: 'alice' }), 'L-CTO');
    assert.equal(creator({ creator: { not: 'a name' } }), 'L-CTO');
  });

  it('says why it can not be moved', () => {
    const reason = (rest: Record<string, [Family, unknown]>, more = {}) => {
      const judged = judge(rest, more);
      return 'reason' in judged ? judged.reason : 'none';
    };
    assert.equal(reason({}), 'scope');
    assert.equal(reason({ scope: ['text', 'mars'] }), 'scope');
    assert.equal(reason({ scope: ['text', 'developer'] }), 'project');
    assert.equal(
      reason({ scope: ['text', 'developer'], project: ['text', 'two words'] }, { defaultProject: 'p' }),
      'project',
    );
    assert.equal(reason({ scope: ['text', 'developer'] }, { defaultProject: 'p' }), 'none');
    assert.equal(reason({ scope: ['text', 'shared'], deleted_at: ['instant', '2020-01-01T00:00:00Z'] }), 'deleted');
    assert.equal(reason({ scope: ['text', 'shared'], is_deleted: ['boolean', false] }), 'none');
    assert.equal(reason({ scope: ['text', 'shared'], expires: ['instant', '2025-01-01T00:00:00Z'] }), 'expired');
    assert.equal(reason({ scope: ['text', 'shared'], expires: ['instant', '-infinity'] }), 'expired');
    assert.equal(reason({ metadata: ['json', { scope: 'shared' }] }), 'none', 'its metadata may know');
  });

  it('has its importance scaled to 1 and cut off there', () => {
    const importance = (value: unknown, scale: number | null = 10) => {
      const record = moved({ importance: ['number', value] }, { importanceScale: scale });
      return [record.importance, record.legacy.importance];
    };
    assert.deepEqual(importance(5), [0.5, 5]);
    assert.deepEqual(importance(0.25, 1), [0.25, undefined]);
    assert.deepEqual(importance(99), [1, 99]);
    assert.deepEqual(importance(-1), [0, -1]);
    assert.deepEqual(importance('high'), [0.5, 'high']);
    assert.deepEqual(importance('NaN'), [0.5, 'NaN']);
    assert.deepEqual(importance(700, null), [0.5, 700]);
    assert.deepEqual(importance(null), [0.5, undefined]);
  });

  it('has its tags read from any form, and none lost', () => {
    const tags = (family: Family, value: unknown) => moved({ tags: [family, value] }).tags;
    assert.deepEqual(tags('texts', ['a', ' a ', null, 'b']), ['a', 'b']);
    assert.deepEqual(tags('text', '["a","b"]'), ['a', 'b']);
    assert.deepEqual(tags('text', 'a, b ,,a'), ['a', 'b']);
    assert.deepEqual(tags('text', '{a,"b c"}'), ['a', 'b c']);
    assert.deepEqual(tags('text', '2024'), ['2024']);
    const many = Array.from({ length: 70 }, (_, i) => `t${i}`);
    const record = moved({ tags: ['json', many] });
    assert.deepEqual([record.tags.length, record.legacy.tags], [64, many]);
    assert.deepEqual(moved({ tags: ['json', { a: 1 }] }).legacy.tags, { a: 1 });
  });

  it('has its metadata read wherever it is an object', () => {
    const { creator: _, source: __, agent: ___, ...rest } = moved({ metadata: ['json', '"{\\"a\\": 1}"'] }).metadata;
    assert.deepEqual(rest, { a: 1 }, 'written as a string, twice');
    assert.deepEqual(moved({ metadata: ['json', { notes: 'text' }] }).metadata.notes, { legacy: 'text' });
    assert.equal(moved({ metadata: ['text', 'plain words'] }).legacy.metadata, 'plain words');
    assert.equal(moved({ metadata: ['json', { agent: 'claude' }] }).metadata.agent, 'claude');
  });

  it('belongs to a user only by a UUID, and only where that is wanted', () => {
    const id = '12345678-1111-4222-8333-444444444444';
    assert.equal(moved({ user_id: ['text', id] }).user_id, id);
    assert.deepEqual(
      [
        moved({ user_id: ['text', id] }, { keepUsers: false }).user_id,
        moved({ user_id: ['text', id] }, { keepUsers: false }).legacy.user,
      ],
      [null, id],
    );
    assert.deepEqual(
      [moved({ user_id: ['number', 7] }).user_id, moved({ user_id: ['number', 7] }).legacy.user],
      [null, 7],
    );
  });

  it('brings a vector of the model named, in any form, and no other', () => {
    assert.equal(moved({}, {}, '[1,2,3]').embedding, '[1,2,3]');
    assert.equal(moved({}, {}, '{1,2,3}').embedding, '[1,2,3]');
    assert.equal(moved({}, {}, '[1,2]').embedding, null);
    assert.equal(moved({ embedding_model: ['text', 'other'] }, {}, '[1,2,3]').embedding, null);
    assert.equal(moved({}, { model: null }, '[1,2,3]').embedding, null);
  });

  it('has the columns that nobody knows in its provenance', () => {
    assert.deepEqual(moved({ mood: ['text', 'grim'], empty: ['text', null] }).legacy, {
      source: 'old',
      table: 'memory.x',
      id: '1',
      columns: { mood: 'grim' },
    });
  });
});

describe('an old audit row', () => {
  it('is of the operation that its words name', () => {
    for (const [old, operation] of Object.entries({
      'memory.save': 'INSERT',
      saveMemory: 'INSERT',
      UPDATE: 'UPDATE',
      search_memory: 'SEARCH',
      'get-stats': 'STATS',
      deleteExpired: 'CLEANUP',
      DELETED: 'DELETE',
      access_denied: 'DENIED',
      recall: 'SEARCH',
      fetch: 'READ',
      frobnicate: null,
    })) {
      assert.equal(operationOf(old), operation, old);
    }
  });

  it('brings no words of anybody', () => {
    const columns = [
      column('id', 'number'),
      column('action', 'text'),
      column('at', 'instant'),
      column('details', 'json'),
      column('old_content', 'text'),
      column('ip', 'text'),
    ];
    const tally = createTally();
    const map = auditMapper('memory.audit', mapAuditColumns(columns, 'id'), rules, ['memory.long_term'], tally);
    const judged = map({
      key: '1',
      hash: '',
      bytes: 0,
      content: null,
      embedding: null,
      rest: {
        action: 'search',
        at: '2024-01-01T00:00:00Z',
        details: {
          k: 5,
          q: 'where',
          title: 'Plan',
          said: 'two words',
          ids: ['a', 'b'],
          nested: { a: 1 },
          hits: [1, { text: 'x' }],
        },
        old_content: 'hush',
        ip: '10.0.0.1',
      },
    });
    assert.ok('record' in judged);
    const { legacy, query_sha256, ...details } = judged.record.details;
    assert.deepEqual(details, { k: 5, ids: ['a', 'b'], ip: '10.0.0.1' });
    assert.match(String(query_sha256), /^[0-9a-f]{64}$/);
    assert.deepEqual(legacy, { source: 'old', table: 'memory.audit', id: '1', operation: 'search' });
    assert.ok(Object.keys(tally.notes).includes('texts in audit rows: left out (old_content)'));
  });
});

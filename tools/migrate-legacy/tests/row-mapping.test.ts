// The conversion of old rows, value by value. old-tables.test.ts tests the whole move.
import { auditMapper, operationOf } from '../audit.ts';
import { type Column, type Family, mapAuditColumns, mapMemoryColumns } from '../columns.ts';
import { parseJson } from '../json.ts';
import { type Judged, type MemoryRules, memoryMapper } from '../memory.ts';
import { createTally } from '../tally.ts';
import { instantOf, lifetimeOf } from '../time.ts';

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
  if (!('record' in judged)) throw new Error(JSON.stringify(judged));
  return judged.record;
}

describe('the columns of old tables', () => {
  const mapped = (names: Record<string, Family>) =>
    Object.fromEntries(
      Object.entries(
        mapMemoryColumns(
          Object.entries(names).map(([name, family]) => column(name, family)),
          'id',
        ),
      ).map(([field, { name }]) => [field, name]),
    );

  it('recognises columns by many names, in any spelling', () => {
    expect(
      mapped({ userid: 'uuid', memoryType: 'text', body: 'text', Importance: 'number', created: 'local time' }),
    ).toStrictEqual({
      user: 'userid',
      kind: 'memoryType',
      content: 'body',
      importance: 'Importance',
      created: 'created',
    });
  });

  it('assigns no column whose type does not fit, and none twice', () => {
    expect(mapped({ content: 'number', text: 'text', timestamp: 'boolean', created_at: 'instant' })).toStrictEqual({
      content: 'text',
      created: 'created_at',
    });
    expect(
      Object.keys(
        mapAuditColumns([column('id', 'number'), column('timestamp', 'instant'), column('type', 'text')], 'id'),
      ),
    ).toStrictEqual(['operation', 'time']);
  });
});

describe('times in old rows', () => {
  it('reads times as written, in UTC if they have no zone, and from numbers of any unit', () => {
    expect(instantOf('2024-01-02T03:04:05.123456+02:00')).toBe('2024-01-02T01:04:05.123456Z');
    expect(instantOf('2024-01-02T03:04:05')).toBe('2024-01-02T03:04:05.000Z');
    expect(instantOf('2024-01-02 03:04')).toBe('2024-01-02T03:04:00.000Z');
    expect(instantOf('2024-01-02')).toBe('2024-01-02T00:00:00.000Z');
    for (const epoch of [1704067200, 1704067200000, 1704067200000000, '1704067200'])
      expect(instantOf(epoch)).toBe('2024-01-01T00:00:00.000Z');
  });

  it('reads an invalid time as null', () => {
    for (const value of ['yesterday', '2024-02-31', '2024-13-01', '', null, {}, 'infinity', '0044-03-15T00:00:00 BC'])
      expect(instantOf(value)).toBeNull();
  });

  it('accepts a duration as an expiry', () => {
    const created = '2024-01-01T00:00:00Z';
    expect(lifetimeOf(60, column('ttl', 'number'), created)).toBe('2024-01-01T00:01:00.000Z');
    expect(lifetimeOf(1704067200, column('ttl', 'number'), created), 'a date of this age').toBe(
      '2024-01-01T00:00:00.000Z',
    );
    expect(lifetimeOf(86400, column('expires', 'interval'), created)).toBe('2024-01-02T00:00:00.000Z');
    expect(lifetimeOf('infinity', column('expires_at', 'instant'), created)).toBe('infinity');
    expect(lifetimeOf(60, column('ttl', 'number'), null)).toBeNull();
    expect(lifetimeOf(null, column('ttl', 'number'), created)).toBeNull();
  });
});

describe('an old memory', () => {
  it('keeps numbers that no double holds', () => {
    const { metadata } = moved({
      metadata: ['json', parseJson('{"id": 12345678901234567890, "one": 1.0, "tiny": 1e-400}')],
    });
    expect(JSON.stringify(metadata).match(/"id":(\d+)/)![1]).toBe('12345678901234567890');
    expect(JSON.stringify(metadata)).toMatch(/"one":1.0,"tiny":1e-400/);
  });

  it('belongs to the actor that its metadata names, or else to the owner of its scope', () => {
    const creator = (metadata: object, scope = 'global') =>
      moved(
        { metadata: ['json', metadata], scope: ['text', scope], project: ['text', 'p'] },
        { scopeNames: new Map([['cursor', 'developer']]) },
      ).metadata.creator;
    expect(creator({ creator: 'cursor-ide' })).toBe('Cursor-IDE');
    expect(creator({ creator: 'c' })).toBe('Cursor-IDE');
    expect(creator({ source: 'l9-kernel' }, 'cursor')).toBe('L-CTO');
    expect(creator({ creator: 'alice' }, 'cursor')).toBe('Cursor-IDE');
    expect(creator({ creator: 'alice' })).toBe('L-CTO');
    expect(creator({ creator: { not: 'a name' } })).toBe('L-CTO');
  });

  it('says why it cannot be moved', () => {
    const reason = (rest: Record<string, [Family, unknown]>, more = {}) => {
      const judged = judge(rest, more);
      return 'reason' in judged ? judged.reason : 'none';
    };
    expect(reason({})).toBe('scope');
    expect(reason({ scope: ['text', 'mars'] })).toBe('scope');
    expect(reason({ scope: ['text', 'developer'] })).toBe('project');
    expect(reason({ scope: ['text', 'developer'], project: ['text', 'two words'] }, { defaultProject: 'p' })).toBe(
      'project',
    );
    expect(reason({ scope: ['text', 'developer'] }, { defaultProject: 'p' })).toBe('none');
    expect(reason({ scope: ['text', 'shared'], deleted_at: ['instant', '2020-01-01T00:00:00Z'] })).toBe('deleted');
    expect(reason({ scope: ['text', 'shared'], is_deleted: ['boolean', false] })).toBe('none');
    expect(reason({ scope: ['text', 'shared'], expires: ['instant', '2025-01-01T00:00:00Z'] })).toBe('expired');
    expect(reason({ scope: ['text', 'shared'], expires: ['instant', '-infinity'] })).toBe('expired');
    expect(reason({ metadata: ['json', { scope: 'shared' }] }), 'its metadata may know').toBe('none');
  });

  it('has its importance scaled to at most 1', () => {
    const importance = (value: unknown, scale: number | null = 10) => {
      const record = moved({ importance: ['number', value] }, { importanceScale: scale });
      return [record.importance, record.legacy.importance];
    };
    expect(importance(5)).toStrictEqual([0.5, 5]);
    expect(importance(0.25, 1)).toStrictEqual([0.25, undefined]);
    expect(importance(99)).toStrictEqual([1, 99]);
    expect(importance(-1)).toStrictEqual([0, -1]);
    expect(importance('high')).toStrictEqual([0.5, 'high']);
    expect(importance('NaN')).toStrictEqual([0.5, 'NaN']);
    expect(importance(700, null)).toStrictEqual([0.5, 700]);
    expect(importance(null)).toStrictEqual([0.5, undefined]);
  });

  it('keeps all its tags, in whichever form they are stored', () => {
    const tags = (family: Family, value: unknown) => moved({ tags: [family, value] }).tags;
    expect(tags('texts', ['a', ' a ', null, 'b'])).toStrictEqual(['a', 'b']);
    expect(tags('text', '["a","b"]')).toStrictEqual(['a', 'b']);
    expect(tags('text', 'a, b ,,a')).toStrictEqual(['a', 'b']);
    expect(tags('text', '{a,"b c"}')).toStrictEqual(['a', 'b c']);
    expect(tags('text', '2024')).toStrictEqual(['2024']);
    const many = Array.from({ length: 70 }, (_, i) => `t${i}`);
    const record = moved({ tags: ['json', many] });
    expect([record.tags.length, record.legacy.tags]).toStrictEqual([64, many]);
    expect(moved({ tags: ['json', { a: 1 }] }).legacy.tags).toStrictEqual({ a: 1 });
  });

  it('keeps its metadata if that is an object', () => {
    const { creator: _, source: __, agent: ___, ...rest } = moved({ metadata: ['json', '"{\\"a\\": 1}"'] }).metadata;
    expect(rest, 'written as a string, twice').toStrictEqual({ a: 1 });
    expect(moved({ metadata: ['json', { notes: 'text' }] }).metadata.notes).toStrictEqual({ legacy: 'text' });
    expect(moved({ metadata: ['text', 'plain words'] }).legacy.metadata).toBe('plain words');
    expect(moved({ metadata: ['json', { agent: 'claude' }] }).metadata.agent).toBe('claude');
  });

  it('belongs to a user only by a UUID, and only if the option asks for it', () => {
    const id = '12345678-1111-4222-8333-444444444444';
    expect(moved({ user_id: ['text', id] }).user_id).toBe(id);
    expect([
      moved({ user_id: ['text', id] }, { keepUsers: false }).user_id,
      moved({ user_id: ['text', id] }, { keepUsers: false }).legacy.user,
    ]).toStrictEqual([null, id]);
    expect([moved({ user_id: ['number', 7] }).user_id, moved({ user_id: ['number', 7] }).legacy.user]).toStrictEqual([
      null,
      7,
    ]);
  });

  it('keeps a vector of the named model in any form, and no other', () => {
    expect(moved({}, {}, '[1,2,3]').embedding).toBe('[1,2,3]');
    expect(moved({}, {}, '{1,2,3}').embedding).toBe('[1,2,3]');
    expect(moved({}, {}, '[1,2]').embedding).toBeNull();
    expect(moved({ embedding_model: ['text', 'other'] }, {}, '[1,2,3]').embedding).toBeNull();
    expect(moved({}, { model: null }, '[1,2,3]').embedding).toBeNull();
  });

  it('keeps unknown columns in its provenance', () => {
    expect(moved({ mood: ['text', 'grim'], empty: ['text', null] }).legacy).toStrictEqual({
      source: 'old',
      table: 'memory.x',
      id: '1',
      columns: { mood: 'grim' },
    });
  });
});

describe('an old audit row', () => {
  it('has the operation that its text names', () => {
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
      expect(operationOf(old), old).toBe(operation);
    }
  });

  it('keeps the caller, creator, source and tool that only its details name', () => {
    const columns = [
      column('id', 'number'),
      column('user_id', 'text'),
      column('action', 'text'),
      column('at', 'instant'),
      column('details', 'json'),
    ];
    const judge = (user_id: string | null, details: object) => {
      const tally = createTally();
      const map = auditMapper('memory.audit', mapAuditColumns(columns, 'id'), rules, ['memory.long_term'], tally);
      const rest = { user_id, action: 'save', at: '2024-01-01T00:00:00Z', details };
      const judged = map({ key: '1', hash: '', bytes: 0, content: null, embedding: null, rest });
      if (!('record' in judged)) throw new Error(judged.reason);
      expect(Object.keys(tally.notes), 'no text is lost').toStrictEqual([]);
      const { caller, creator, source, tool_name, details: kept } = judged.record;
      return [caller, creator, source, tool_name, (kept.legacy as Record<string, unknown>).caller];
    };
    const given = { caller: 'C', creator: 'Cursor-IDE', source: 'cursor-ide', tool_name: 'save_memory' };
    expect(judge('u-77', given)).toStrictEqual(['C', 'Cursor-IDE', 'cursor-ide', 'save_memory', 'u-77']);
    const unknown = { caller: 'Figma', creator: 'Figma Bot', source: 'figma', tool_name: 'paint' };
    expect(judge('u-77', unknown)).toStrictEqual(['legacy:Figma', 'Figma Bot', 'figma', 'paint', 'u-77']);
    expect(judge(null, { creator: 'L-CTO' })).toStrictEqual(['L', 'L-CTO', 'l9-kernel', 'legacy', undefined]);
    expect(judge('u-77', {})).toStrictEqual(['legacy:u-77', null, null, 'legacy', undefined]);
  });

  it('takes over no contents', () => {
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
    if (!('record' in judged)) throw new Error(judged.reason);
    const { legacy, query_sha256, ...details } = judged.record.details;
    expect(details).toStrictEqual({ k: 5, ids: ['a', 'b'], ip: '10.0.0.1' });
    expect(String(query_sha256)).toMatch(/^[0-9a-f]{64}$/);
    expect(legacy).toStrictEqual({ source: 'old', table: 'memory.audit', id: '1', operation: 'search' });
    expect(Object.keys(tally.notes)).toContain('texts in audit rows: not imported (old_content)');
  });
});

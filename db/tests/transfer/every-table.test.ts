// Each table is in an export, or follows from what is in it, or is left out for a reason that stands here.
import { ALWAYS_EMPTY, contentsOf, fillEveryTable, MODEL } from '../../../gateway/tests/upgrade/fill.ts';
import { serveModel } from '../support/embeddings.ts';
import { openTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { exportAll, importAll, kindOf } from './support.ts';

/** Rows that the import makes again, from lines about other tables. */
const MADE_AGAIN = [
  'derived.derived_tables', // by migrations
  'duplicates.telling_words',
  'entities.tables_with_names',
  'public.tenants',
  'importance.memory_citations', // of parent_ids and versions
  'importance.pending_recounts', // the roll-up job counts once more
  'embeddings.stale_contexts',
  'public.embedding_models', // of the model that serves
  'public.field_values', // of the fields of memories
  'world_model.worlds', // of the versions of updates and snapshots; not of those that an erasure took
];

const LEFT_OUT = {
  'administration.call_counts': 'counts of this minute',
  'administration.program_versions': 'programs that ran here',
  'archive.pending_deletions': 'a queue for the stores of this place',
  'archive.prepared_sessions': 'sessions that are being stored',
  'archive.wrapped_keys': 'the gateway carries keys, with --with-keys',
  'public.archive_blobs': 'the gateway carries bytes, from whichever store has them',
  'embeddings.embedding_changes': 'a change of the model of this place',
  'embeddings.pending_embeddings': 'a queue',
  'extraction.pending_extractions': 'a queue',
  'extraction.summary_leases': 'a queue',
  'forgetting.words_to_rebuild': 'a queue',
  'identity.active_actors': 'a copy of actors for who calls',
  'identity.api_key_hashes': 'keys are not carried',
  'public.api_keys': 'keys are not carried',
  'importance.access_roll_up': 'how far the job is in the log of this place',
  'importance.memory_access_log': 'who read what in this place',
  'public.audit_archives': 'months that were taken out of the log of this place',
  'public.audit_log': 'its sealed rows arrive in transfer.imported_audit_log',
  'public.audit_seals': 'what they say of the rows arrives in transfer.imported_audit_seals',
  'public.audit_query_texts': 'texts of searches, which an erasure of this place could not find elsewhere',
  'public.extraction_usage': 'the bill of this place',
  'public.idempotency_keys': 'calls that may be sent again to this place',
  'public.memory_tombstones': 'what was erased in this place',
  'ranking.audience_words': 'a sample that a job takes',
  'ranking.audiences': 'a sample that a job takes',
  'views.memory_view_refreshes': 'when views were refreshed',
  'world_model.stale_worlds': 'worlds that a statement is about to compute',
  'world_model.removed_entities': 'version numbers of entities that are gone',
} satisfies Record<string, string>;

describe('each table of the database', () => {
  let from: TestDatabase;
  let to: TestDatabase;
  beforeAll(async () => {
    [from, to] = [await openTestDatabase(), await openTestDatabase()];
    await fillEveryTable(from);
    await serveModel(to, MODEL);
  });
  afterAll(async () => {
    await from.close();
    await to.close();
  });

  const carried = async () =>
    (
      await from.asSuperuser(
        'select distinct transfer.relation(t.name)::regclass::text as name from transfer.kinds() k, unnest(array[k.target, k.parts_table]) as t (name) where t.name is not null',
      )
    ).map(({ name }) => (String(name).includes('.') ? name : `public.${name}`));

  it('is in an export, or follows from it, or is left out on purpose', async () => {
    const known = [...new Set([...(await carried()), ...MADE_AGAIN, ...Object.keys(LEFT_OUT), ...ALWAYS_EMPTY])];
    expect(known.sort()).toStrictEqual(Object.keys(await contentsOf(from)).sort());
  });

  it('has the same rows where the export was imported', async () => {
    const options = ['vectors', 'audit'];
    const first = await exportAll(from, 'L', {}, 1000, options);
    const isOfAudit = (line: string) => /^(imported_)?audit_/.test(kindOf(line));
    const kinds = new Set(first.lines.map(kindOf));
    for (const kind of [
      'world_update',
      'world_entity',
      'world_snapshot',
      'attestation',
      'merge',
      'archive',
      'audit_row',
    ])
      expect(kinds).toContain(kind);
    const counted = first.header.counts.reduce((sum: number, { lines }: { lines: number }) => sum + lines, 0);
    expect(counted).toBe(first.lines.length);

    expect((await importAll(to, first.lines)).left_out).toBe(0);
    const second = await exportAll(to, 'L', {}, 1000, options);
    const withoutAudit = (lines: string[]) => lines.filter((line) => !isOfAudit(line));
    expect(withoutAudit(second.lines)).toStrictEqual(withoutAudit(first.lines));
    // The log of the other database is there beside the own one, to the byte.
    const imported = second.lines.filter((line) => kindOf(line).startsWith('imported_audit_'));
    expect(imported.map((line) => line.replace('{"imported_', '{"'))).toStrictEqual(
      first.lines.filter(isOfAudit).sort((a, b) => imported.indexOf(a) - imported.indexOf(b)),
    );
    expect((await importAll(to, first.lines)).stored).toBe(0);

    const [before, after] = [await contentsOf(from), await contentsOf(to)];
    const isFilled = (tables: Record<string, string[]>) => (name: string) => tables[name]!.length > 0;
    const names = [...(await carried()), ...MADE_AGAIN].filter(isFilled(before));
    // Queues, and runs of jobs, which belong to one place.
    const others = ['embeddings.stale_contexts', 'importance.pending_recounts', 'public.tasks'];
    expect(names.filter((name) => !others.includes(name) && !isFilled(after)(name))).toStrictEqual([]);
    for (const name of ['importance.memory_citations', 'importance.memory_voices', 'public.world_model_entities'])
      expect([name, after[name]]).toStrictEqual([name, before[name]]);
  });
});

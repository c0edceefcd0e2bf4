// `l9-memory migrate-legacy`: moves the old memory.* tables into packet_store. It is a dry run without --apply.
import { DEFAULT_TENANT } from '../../gateway/src/auth/identity.ts';
import { SQLSTATE, sqlstateOf } from '../../gateway/src/base/errors.ts';
import { startProgress } from '../../gateway/src/commands/support/progress.ts';
import { stopSignal } from '../../gateway/src/commands/support/stop-signal.ts';
import { type Config, ConfigError, loadConfig } from '../../gateway/src/config/config.ts';
import { STORED_DIMENSIONS } from '../../gateway/src/embeddings/embedder.ts';
import { embeddingConfig } from '../../gateway/src/embeddings/index.ts';
import { HomeLocked } from '../../gateway/src/home/lock.ts';
import { isProject } from '../../gateway/src/input/names.ts';
import { type Connection, connectOwner, connectTo, lockMove } from './connect.ts';
import { dropOldSchema, missingRights, SKIPPABLE, unaccounted, unknownObjects, unknownProblem } from './drop.ts';
import { install, uninstall } from './install.ts';
import { type Actor, isUuid, type MemoryRules } from './memory.ts';
import { type Move, moveTable } from './move.ts';
import { type Report, reportTable, reportText } from './report.ts';
import { countDimensions, findTables, highestImportance, LegacyProblem, type Query } from './source.ts';

export interface MigrateLegacyOptions {
  from?: string;
  apply?: boolean;
  dryRun?: boolean;
  drop?: boolean;
  skip?: string[];
  tenant?: string;
  project?: string;
  scope?: string[];
  embeddingModel?: string;
  importanceScale?: string;
  users: string;
  label?: string;
  json?: boolean;
}

const STOPPED = 'Stopped between two batches. Run it again: it continues where it stopped.\n';
const OLDEST_SOURCE = 11;

/** Returns 0 if all was done or can be done, 1 if a person has to check something. */
export async function migrateLegacy(env: NodeJS.ProcessEnv, options: MigrateLegacyOptions): Promise<number> {
  const connections: Connection[] = [];
  const { signal, forget } = stopSignal({ exitCode: 130, onLimit: () => process.stderr.write(STOPPED) });
  try {
    const config = loadConfig(env);
    check(options);
    const target = await connectOwner(config);
    connections.push(target);
    const source = options.from ? await connectTo(options.from, '--from') : target;
    if (source !== target) connections.push(source);
    const report = await withSchema(target.query, () => run(config, source.query, target.query, options, signal));
    process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : reportText(report));
    return report.drop && report.drop.obstacles.length > 0 ? 1 : 0;
  } catch (error) {
    if (signal.aborted) {
      process.stderr.write(STOPPED);
      return 130;
    }
    process.stderr.write(`${reasonOf(error)}\n`);
    return 1;
  } finally {
    for (const connection of connections.reverse()) await connection.close().catch(() => {});
    forget();
  }
}

async function withSchema(query: Query, work: () => Promise<Report>): Promise<Report> {
  await lockMove(query);
  await install(query);
  try {
    return await work();
  } finally {
    await uninstall(query).catch((error: Error) =>
      process.stderr.write(`Schema legacy_import remains until the next run: ${error.message}\n`),
    );
  }
}

function check({
  from,
  apply,
  dryRun,
  tenant,
  project,
  scope = [],
  skip = [],
  importanceScale,
  users,
}: MigrateLegacyOptions) {
  if (apply && dryRun) throw new ConfigError('--apply, --dry-run: use only one of them');
  if (tenant !== undefined && !isUuid(tenant)) throw new ConfigError('--tenant: must be a UUID');
  if (project !== undefined && !isProject(project))
    throw new ConfigError('--project: must be 1 to 200 letters, digits or ._/@:+-');
  if (scope.some((pair) => !/^[^=]*=[^=]+$/.test(pair)))
    throw new ConfigError('--scope: must have the form old=new, such as team=developer');
  const known = [...SKIPPABLE, 'texts'];
  const unknown = skip.find((one) => !known.includes(one));
  if (unknown !== undefined) throw new ConfigError(`--skip: ${unknown} is not one of ${known.join(', ')}`);
  if (from !== undefined && (!URL.canParse(from) || !/^postgres(ql)?:$/.test(new URL(from).protocol)))
    throw new ConfigError('--from: must be the URL of a PostgreSQL database, such as postgres://user:…@host/database');
  if (importanceScale !== undefined && !(Number(importanceScale) > 0 && Number.isFinite(Number(importanceScale))))
    throw new ConfigError('--importance-scale: must be a number, the highest importance of the old tables');
  if (users !== 'own' && users !== 'note') throw new ConfigError('--users: must be own or note');
}

/** The message of an expected error. Messages of the database are shown only if they quote no content. */
function reasonOf(error: unknown): string {
  const { message } = error as Error;
  const code = sqlstateOf(error);
  if (error instanceof LegacyProblem || error instanceof ConfigError || error instanceof HomeLocked) return message;
  if (/^(08|57|40|53|E[A-Z]+$)/.test(code ?? '') || /connection/i.test(message))
    return `${message}. Run it again: it continues where it stopped.`;
  if (code === SQLSTATE.insufficientPrivilege || code?.startsWith('L9')) return message;
  throw error;
}

async function run(
  config: Config,
  source: Query,
  target: Query,
  options: MigrateLegacyOptions,
  signal: AbortSignal,
): Promise<Report> {
  const apply = options.apply === true;
  const tenantId = options.tenant ?? DEFAULT_TENANT;
  const isSame = source === target;
  const [server] = await source(
    "select pg_catalog.current_setting('server_version_num')::integer / 10000 as version, pg_catalog.current_database() as name",
  );
  if (server.version < OLDEST_SOURCE)
    throw new LegacyProblem(`--from: needs PostgreSQL ${OLDEST_SOURCE} or later, not ${server.version}`);

  await target(
    "select pg_catalog.set_config('l9.legacy_import', 'on', false), pg_catalog.set_config('l9.tool_name', 'migrate-legacy', false)",
  );
  // The database enforces that a dry run changes nothing.
  if (!apply) await target('set default_transaction_read_only = on');
  if (!apply || !isSame) await source('set default_transaction_read_only = on');

  const tables = await findTables(source);
  const memories = tables.filter(({ holds }) => holds === 'memories');
  const highest = await highestImportance(source, memories);
  const scale = options.importanceScale ? Number(options.importanceScale) : scaleOf(highest);
  const found = await countDimensions(source, memories);
  const model = await chooseModel(target, options.embeddingModel ?? null, found);
  const rules: MemoryRules = {
    source: options.label ?? server.name,
    now: Date.now(),
    ...(await tenantRules(target, tenantId, options.scope ?? [])),
    defaultProject: options.project ?? null,
    importanceScale: scale,
    keepUsers: options.users === 'own',
    model,
  };
  if (apply && model) {
    // The indexes are built after the vectors are imported, which takes a fraction of the time.
    await target(
      `insert into public.embedding_models (model, dimensions, relevance_midpoint, relevance_slope, relevance_word_slope)
       select $1, $2, r.midpoint, r.slope, r.word_slope from embeddings.default_relevance($1) r on conflict (model) do nothing`,
      [model.name, model.dimensions],
    );
  }

  const total = tables.reduce((sum, { rows }) => sum + rows, 0);
  const began = performance.now();
  const progress = startProgress(apply ? 'moving' : 'checking', total);
  let done = 0;
  const move: Move = {
    source,
    target,
    tenantId,
    rules,
    presentModel: embeddingConfig(config.embedding).model,
    memoryTables: memories.map(({ name }) => name),
    apply,
    comparesAgain: options.drop === true && !apply,
    signal,
    onProgress: (rows) => {
      done += rows;
      progress.update(done, `${Math.round((done / (performance.now() - began)) * 1_000)} rows/s`);
    },
  };
  const seen = new Set<string>();
  const report: Report = {
    applied: apply,
    source: isSame ? `this database (${server.name})` : server.name,
    importance: { highest, scale },
    vectors: { model: options.embeddingModel ?? null, dimensions: model?.dimensions ?? null, found },
    tables: [],
    unknownObjects: await unknownObjects(source, tables),
    seconds: 0,
    rowsPerSecond: 0,
    drop: null,
  };
  const obstacles: string[] = [];
  try {
    for (const table of tables) {
      const tally = await moveTable(move, table, seen);
      report.tables.push(reportTable(table, tally, model !== null));
      obstacles.push(...unaccounted(table, tally, [...(options.skip ?? []), 'moved', 'merged', 'recorded']));
    }
    if (apply && model) await target('select public.register_embedding_model($1, $2)', [model.name, model.dimensions]);
  } finally {
    progress.stop();
  }
  report.seconds = (performance.now() - began) / 1_000;
  report.rowsPerSecond = total / report.seconds;

  if (options.drop && tables.length === 0 && report.unknownObjects.length === 0) return report;
  if (options.drop && apply) {
    const left = await dropOldSchema(move, options.skip ?? []);
    report.drop = { done: left.length === 0, obstacles: left };
  } else if (options.drop) {
    const unknown = report.unknownObjects.map(unknownProblem);
    report.drop = { done: false, obstacles: [...(await missingRights(source, tables)), ...unknown, ...obstacles] };
  }
  return report;
}

/** The scale of importance in the old tables. */
function scaleOf(highest: number | null): number | null {
  return highest === null ? 1 : ([1, 5, 10, 100].find((scale) => highest <= scale) ?? null);
}

/** The model of the old vectors and its dimensions; null if no vectors are imported. */
async function chooseModel(target: Query, name: string | null, found: { dimensions: number }[]) {
  if (name === null) return null;
  if (!/^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,99}$/.test(name))
    throw new ConfigError('--embedding-model: must be 1 to 100 letters, digits or ._/:@-');
  const [known] = await target('select dimensions from public.embedding_models where model = $1', [name]);
  const fitting = found.find(({ dimensions }) =>
    known ? dimensions === known.dimensions : dimensions <= STORED_DIMENSIONS && dimensions > 0,
  );
  return fitting ? { name, dimensions: fitting.dimensions } : null;
}

async function tenantRules(target: Query, tenantId: string, pairs: string[]) {
  const actors: Actor[] = await target(
    'select caller, creator, source, agent from public.actors where tenant_id = $1 order by caller',
    [tenantId],
  );
  const actor = (caller: string) => {
    const found = actors.find((one) => one.caller === caller);
    if (!found)
      throw new LegacyProblem(
        `--tenant: ${tenantId} has no actor ${caller}, who is needed as the writer of memories without one`,
      );
    return found;
  };
  const scopes = new Map<string, boolean>(
    (
      await target('select scope, is_project_scoped as has_projects from public.scopes where tenant_id = $1', [
        tenantId,
      ])
    ).map(({ scope, has_projects }) => [scope, has_projects]),
  );
  const scopeNames = new Map([
    ['shared', 'global'],
    ['cursor', 'developer'],
    ...pairs.map((pair) => pair.split('=') as [string, string]),
  ]);
  for (const pair of pairs) {
    const [, name] = pair.split('=');
    if (!scopes.has(name!))
      throw new ConfigError(`--scope: ${name} is not a scope of this tenant (${[...scopes.keys()].join(', ')})`);
  }
  return { actors, scopes, scopeNames, writerByScope: new Map([['cursor', actor('C')]]), writer: actor('L') };
}

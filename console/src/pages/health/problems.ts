// What is wrong now, and what to do about it: each rule looks at the figures and says so in words.
import { formatBytes, formatDuration, formatNumber } from '../../lib/format.ts';
import { present } from '../../lib/me.ts';
import type { Gateway, Health } from './query.ts';

export interface Problem {
  /** `bad`: something does not work; `warn`: it will not, or works badly; `info`: worth a look. */
  tone: 'bad' | 'warn' | 'info';
  title: string;
  /** What to do. */
  advice: string;
  /** Something to run, to be copied. */
  command?: string;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const MANY_ROWS = 10_000;
const LITTLE_DISK = 512 * 1024 ** 2;
const LARGE = 256 * 1024 ** 2;

const plural = (count: number, one: string, many = `${one}s`) => `${formatNumber(count)} ${count === 1 ? one : many}`;
const sinceSeconds = (time: string | null, now: number) => (time ? (now - Date.parse(time)) / 1_000 : null);

function* ofQueues(health: Health): Iterable<Problem> {
  const waiting = health.embeddingWaiting ?? 0;
  const failing = health.embeddingFailing ?? 0;
  if (failing > 0) {
    yield {
      tone: 'warn',
      title: `${plural(failing, 'memory', 'memories')} could not be embedded${health.embeddingError ? `: ${health.embeddingError}` : ''}`,
      advice:
        'They are found by words meanwhile, and are tried again. If the number stays, look for this error in the log of the gateway.',
    };
  } else if (waiting > 0 && (health.embeddingOldestSeconds ?? 0) > 15 * MINUTE) {
    yield {
      tone: 'warn',
      title: `${plural(waiting, 'memory waits', 'memories wait')} for vectors, the first for ${formatDuration(health.embeddingOldestSeconds ?? 0)}`,
      advice:
        'They are found by words meanwhile. The plot below shows whether the queue gets shorter; if not, a faster model or a second worker helps.',
    };
  }
  if (health.arrivingModel) {
    yield {
      tone: 'info',
      title: `The embedding model changes to ${health.arrivingModel}: ${formatNumber(health.arrivingRemaining ?? 0)} of ${formatNumber(health.arrivingMemories ?? 0)} memories are left`,
      advice: 'The former model serves until all are done. An interrupted change goes on with the same command.',
      command: `l9-memory reembed --model ${health.arrivingModel}`,
    };
  }
  if ((health.extractionGivenUp ?? 0) > 0) {
    yield {
      tone: 'warn',
      title: `The chat model could not read ${plural(health.extractionGivenUp ?? 0, 'memory', 'memories')}`,
      advice:
        'Nothing is lost but the facts that it would have found. Check the model; a memory that is changed is read again.',
    };
  }
  if ((health.extractionWaiting ?? 0) > 0 && (health.extractionOldestSeconds ?? 0) > HOUR) {
    yield {
      tone: 'warn',
      title: `${plural(health.extractionWaiting ?? 0, 'memory waits', 'memories wait')} for the chat model, the first for ${formatDuration(health.extractionOldestSeconds ?? 0)}`,
      advice: 'The budget of tokens may be used up until midnight UTC, or the model does not answer: see the log.',
    };
  }
  if ((health.unsealedOldestSeconds ?? 0) > 10 * MINUTE) {
    yield {
      tone: 'bad',
      title: `The audit log has not been sealed for ${formatDuration(health.unsealedOldestSeconds ?? 0)}`,
      advice:
        'The job seal_audit does it every ten seconds, and tampering can be shown only for what is sealed. See its error below, or in the log.',
    };
  }
  if ((health.accessesOldestSeconds ?? 0) > HOUR) {
    yield {
      tone: 'warn',
      title: `Accesses have not counted towards importance for ${formatDuration(health.accessesOldestSeconds ?? 0)}`,
      advice: 'The job roll_up_accesses does it: see its error below, or in the log.',
    };
  }
}

function* ofJobs(health: Health, now: number): Iterable<Problem> {
  const age = sinceSeconds(health.viewsRefreshedAt, now);
  if (age !== null && age > 49 * HOUR) {
    yield {
      tone: 'warn',
      title: `The materialized views are ${formatDuration(age)} old`,
      advice: 'They are refreshed once a day. An administrator can do it now.',
      command: 'call refresh_memory_views();',
    };
  }
  for (const { type, lastFailedAt, lastCompletedAt, lastError, runningSince } of present(health.jobs)) {
    const running = sinceSeconds(runningSince, now);
    if (lastFailedAt && (!lastCompletedAt || lastFailedAt > lastCompletedAt)) {
      yield {
        tone: 'warn',
        title: `The job ${type} failed when it last ran${lastError ? `: ${lastError}` : ''}`,
        advice: 'It runs again by itself when it is due. The log of the gateway has more.',
      };
    } else if (running !== null && running > 6 * HOUR) {
      yield {
        tone: 'warn',
        title: `The job ${type} has been running for ${formatDuration(running)}`,
        advice: 'If its process died, the row is closed when the job starts again.',
      };
    }
  }
}

function* ofStorage(health: Health): Iterable<Problem> {
  for (const { indexName, isValid, scans, bytes, isUnique } of present(health.indexes)) {
    if (isValid === false) {
      yield {
        tone: 'bad',
        title: `The index ${indexName} is not valid, so no query uses it`,
        advice: 'Its creation was interrupted. Build it again, as the owner.',
        command: `reindex index concurrently ${indexName};`,
      };
    } else if (Number(scans) === 0 && !isUnique && Number(bytes) > LARGE) {
      yield {
        tone: 'info',
        title: `The index ${indexName} takes ${formatBytes(Number(bytes))} and was never used`,
        advice:
          'Since the statistics were reset. It may serve a search that nobody has made yet: look again in a month.',
      };
    }
  }
  for (const { tableName, liveRows, deadRows, lastAnalyzeAt } of present(health.tables)) {
    const [live, dead] = [Number(liveRows), Number(deadRows)];
    if (dead > MANY_ROWS && dead > live / 2) {
      yield {
        tone: 'warn',
        title: `${tableName} holds ${formatNumber(dead)} dead rows beside ${formatNumber(live)} live ones`,
        advice: 'Autovacuum is off, too slow, or kept from it by an old transaction.',
        command: `vacuum (analyze) ${tableName};`,
      };
    } else if (live > MANY_ROWS && !lastAnalyzeAt && health.gateway?.engine === 'server') {
      yield {
        tone: 'warn',
        title: `${tableName} was never analyzed, so the planner guesses`,
        advice: 'Autovacuum does it by itself where it runs.',
        command: `analyze ${tableName};`,
      };
    }
  }
  const rate = health.cacheHitRate ?? 1;
  if (rate < 0.9 && Number(health.databaseBytes ?? 0) > LARGE && health.gateway?.engine === 'server') {
    yield {
      tone: 'warn',
      title: `Only ${formatNumber(Math.round(rate * 1_000) / 10)} % of reads find their block in memory`,
      advice: 'More shared_buffers, or more memory for the server, makes searches faster.',
    };
  }
}

function* ofGateway(gateway: Gateway): Iterable<Problem> {
  for (const warning of gateway.warnings) yield { tone: 'warn', title: 'The start found something', advice: warning };
  const free = gateway.diskFreeBytes;
  if (gateway.diskState !== 'ok') {
    yield {
      tone: 'bad',
      title:
        gateway.diskState === 'full'
          ? 'The disk is full: calls are refused'
          : 'The disk is nearly full: saves are refused',
      advice: 'Make room on the disk of the database. Nothing needs a restart then.',
    };
  } else if (free !== null && free < LITTLE_DISK) {
    yield {
      tone: 'warn',
      title: `Only ${formatBytes(free)} are left on the disk`,
      advice: 'Below 64 MiB saves are refused, below 32 MiB everything.',
    };
  }
  if (!gateway.isEmbedderReady) {
    yield {
      tone: 'bad',
      title: 'The embedding model does not answer',
      advice:
        'Saves work, and searches go by words until it does. Check its provider and key; the log says what it answered.',
    };
  }
  const waiting = gateway.pools.reduce((sum, pool) => sum + pool.waiting, 0);
  if (waiting > 20) {
    yield {
      tone: 'warn',
      title: `${plural(waiting, 'request waits', 'requests wait')} for a connection to the database`,
      advice:
        'Each waits ten seconds at most. See which operations take long below; on a server DATABASE_POOL_SIZE sets the connections.',
    };
  }
  const calls = gateway.operations.reduce((sum, operation) => sum + operation.calls, 0);
  const failed = gateway.operations.reduce((sum, operation) => sum + operation.failed, 0);
  if (failed > 0) {
    yield {
      tone: failed > calls / 20 ? 'bad' : 'warn',
      title: `${plural(failed, 'call')} failed in the last hour, of ${formatNumber(calls)}`,
      advice: 'The server was busy, away, or at fault. The log has each under the id that its caller was given.',
    };
  }
  if (gateway.slowCalls.length >= 10 && gateway.slowCalls.length > calls / 20) {
    yield {
      tone: 'warn',
      title: `${plural(gateway.slowCalls.length, 'call')} took longer than ${formatNumber(gateway.slowQueryMs ?? 0)} ms in the last hour`,
      advice: 'The list of slow calls below names the operations and how they searched.',
    };
  }
  for (const { limit, refused } of gateway.limits) {
    yield {
      tone: limit === 'wrong_keys' ? 'warn' : 'info',
      title: `${plural(refused, 'request was', 'requests were')} refused by the limit ${limit} in the last hour`,
      advice:
        limit === 'wrong_keys'
          ? 'Somebody sends wrong keys. The audit log has the address.'
          : 'The audit log names the caller. Limits of a caller are set in Settings, those of a tenant by an operator.',
    };
  }
  if ((gateway.longestTransactionSeconds ?? 0) > 5 * MINUTE) {
    yield {
      tone: 'warn',
      title: `A transaction has been open for ${formatDuration(gateway.longestTransactionSeconds ?? 0)}`,
      advice: 'It keeps dead rows from being removed, and jobs from sealing. A superuser finds it in pg_stat_activity.',
      command:
        "select pid, usename, xact_start from pg_stat_activity where state = 'idle in transaction' order by xact_start;",
    };
  }
  for (const { name, lagSeconds } of gateway.replicas) {
    if (lagSeconds > 30)
      yield {
        tone: 'warn',
        title: `The replica ${name} is ${formatDuration(lagSeconds)} behind`,
        advice: 'Its disk or network does not keep up, or a long query on it holds up the replay.',
      };
  }
  for (const { name, failed: jobs, error } of gateway.queuedJobs ?? []) {
    if (jobs > 0)
      yield {
        tone: 'warn',
        title: `The job ${name} failed${error ? `: ${error}` : ''}`,
        advice: 'It is queued again when it is due. If this stays, the log says why.',
      };
  }
}

const ORDER = { bad: 0, warn: 1, info: 2 };

/** The worst first. */
export function findProblems(health: Health, now = Date.now()): Problem[] {
  return [
    ...ofQueues(health),
    ...ofJobs(health, now),
    ...ofStorage(health),
    ...(health.gateway ? ofGateway(health.gateway) : []),
  ].sort((a, b) => ORDER[a.tone] - ORDER[b.tone]);
}

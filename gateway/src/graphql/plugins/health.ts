// The field `gateway` of `health`: the database has decided who sees the figures of a whole server, and this process adds its own.
import type { PgSelectSingleStep } from 'postgraphile/@dataplan/pg';
import { lambda, list } from 'postgraphile/grafast';
import { parse } from 'postgraphile/graphql';
import { extendSchema } from 'postgraphile/utils';
import { gatewayOf } from '../context.ts';

const typeDefs = `
  extend type Health {
    """How the gateway is that answers. Null unless is_whole_server, because it counts the calls of every tenant."""
    gateway: GatewayHealth
  }
  """How a gateway is, and what it did in the last hour: numbers and names, never contents. A restart forgets it."""
  type GatewayHealth {
    version: String!
    """embedded or server: the engine of the database."""
    engine: String!
    startedAt: Datetime!
    """What the start found that somebody should look at."""
    warnings: [String!]!
    servingModel: String!
    """Whether the embedding model answers. Without it saves still work, and searches go by words."""
    isEmbedderReady: Boolean!
    """Memory that the process takes."""
    residentBytes: Float!
    """Free space on the disk of the embedded engine. Null on a server, whose disk SQL can't see."""
    diskFreeBytes: Float
    """ok; low: saves are refused and jobs pause; full: reads are refused, too."""
    diskState: String!
    """Connections to the database."""
    pools: [ConnectionPool!]!
    """Background jobs that wait, run or have failed. Null while the database does not answer."""
    queuedJobs: [QueuedJobs!]
    """Age of the oldest open transaction of any login. Null on the embedded engine, which has one session."""
    longestTransactionSeconds: Float
    replicas: [Replica!]!
    """From this duration of its SQL on a call is slow. Null: no call is."""
    slowQueryMs: Int
    """Slow calls of the last hour, the newest first, at most 50."""
    slowCalls: [SlowCall!]!
    """Operations that were called in the last hour, by the time that they took in all."""
    operations: [OperationCalls!]!
    """Limits that refused requests in the last hour."""
    limits: [LimitRefusals!]!
    """The minutes of the last hour since the start, oldest first."""
    minutes: [HealthMinute!]!
  }
  type ConnectionPool {
    pool: String!
    inUse: Int!
    idle: Int!
    """How many requests wait for a connection."""
    waiting: Int!
  }
  """Jobs of one name in the queue."""
  type QueuedJobs {
    name: String!
    waiting: Int!
    running: Int!
    """How many failed and are not tried again."""
    failed: Int!
    """The name of an error."""
    error: String
  }
  type Replica {
    name: String!
    """How old what it replayed last is."""
    lagSeconds: Float!
    """How much of the write-ahead log it has yet to replay."""
    lagBytes: Float
  }
  type SlowCall {
    at: Datetime!
    operation: String!
    """How long its SQL took, without the wait for a connection."""
    sqlMs: Float!
    """How a search was done."""
    route: String
  }
  type OperationCalls {
    operation: String!
    calls: Int!
    """Calls that were refused for a reason that lies with the caller."""
    refused: Int!
    """Calls that failed for a reason that lies with the server."""
    failed: Int!
    meanMs: Float!
    slowestMs: Float!
  }
  type LimitRefusals {
    """reads or writes of a key, tenant_reads or tenant_writes of a tenant, wrong_keys of an address."""
    limit: String!
    refused: Int!
  }
  """What a gateway did in one minute, and three figures that are measured once in it; null if they were not."""
  type HealthMinute {
    at: Datetime!
    calls: Int!
    refused: Int!
    failed: Int!
    """Requests that a limit refused."""
    limited: Int!
    slow: Int!
    meanMs: Float!
    slowestMs: Float!
    """Memories that wait for their vectors."""
    embeddingWaiting: Int
    """Requests that wait for a connection."""
    connectionsWaiting: Int
    residentBytes: Float
  }
`;

export const healthPlugin = extendSchema({
  typeDefs: parse(typeDefs),
  objects: {
    Health: {
      plans: {
        gateway: ($health: PgSelectSingleStep) =>
          lambda(
            list([gatewayOf(), $health.get('is_whole_server')]),
            ([gateway, isWhole]) => (isWhole === true ? gateway.health.read() : null),
            false,
          ),
      },
    },
  },
});

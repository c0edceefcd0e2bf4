-- Where several gateways count the calls of a minute together (RATE_LIMIT_STORE=database). Only gateways read and write it.

-- The layout that rate-limiter-flexible writes. What a crash loses is counted again within a minute.
create unlogged table administration.call_counts (
  key text primary key,
  points integer not null,
  expire bigint
);
call identity.describe('administration.call_counts', 'Calls of the current minute, where several gateways count together
    (RATE_LIMIT_STORE=database). Rows are deleted a few minutes after their minute.
  key: What is limited: the kind of limit, and a hash of the key, tenant or address, so that the table names nobody.
  points: The number of calls.
  expire: End of the minute, in milliseconds since 1970.');

call identity.keep_private('administration.call_counts', jobs => 'Gateways count calls. No caller can read the table.');

grant select, insert (key, points, expire), update (points, expire), delete on administration.call_counts to l9_worker;

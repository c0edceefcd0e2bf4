// Pairs of realistic memories, judged by hand as duplicates or not.
export const same: [string, string][] = [
  ['We deploy on Tuesdays, never on Fridays.', 'We deploy on Tuesdays and never on Fridays'],
  ['We deploy on Tuesdays, never on Fridays.', 'We always deploy on Tuesdays, never on Fridays!'],
  [
    'The gateway retries failed webhooks three times with exponential backoff.',
    'The gateway retries a failed webhook three times, with exponential backoff.',
  ],
  [
    'Use pnpm instead of npm in the monorepo because of workspaces.',
    'In the monorepo, use pnpm instead of npm, because of workspaces.',
  ],
  [
    'The staging database is rebuilt from the nightly dump every Monday morning.',
    'Staging database is rebuilt every Monday morning from the nightly dump',
  ],
  [
    'Integration tests need Docker running, otherwise they hang at start-up.',
    'The integration tests need Docker running; otherwise they hang on start-up.',
  ],
  ['The user prefers short answers with code examples.', 'User prefers short answers, with code examples'],
  [
    'Feature flags live in the config service and are cached for 60 seconds.',
    'Feature flags live in the config service, and they are cached for 60 seconds.',
  ],
  [
    'Row-level security is a filter behind the BM25 index, so filters do not shorten a result.',
    'Row-level security is only a filter behind the BM25 index, so that filters do not shorten a result.',
  ],
  [
    'The login page is slow because the session table has no index on user_id.',
    'The login page is slow since the sessions table has no index on user_id.',
  ],
  [
    'Never commit generated files; CI regenerates the GraphQL schema and compares it.',
    'Never commit generated files: the CI regenerates the GraphQL schema and compares.',
  ],
  [
    'Payments are reconciled at midnight by a cron job on the billing host.',
    'Payments are reconciled by a cron job on the billing host at midnight (UTC).',
  ],
];

export const different: [string, string][] = [
  ['We deploy on Friday.', 'We deploy on Monday.'],
  ['deploy on Friday', 'deploy on Monday'],
  ['We deploy on Fridays.', 'We never deploy on Fridays.'],
  ['Always run the migrations before deploying.', 'Never run the migrations before deploying.'],
  ['The API limit is 500 requests per minute.', 'The API limit is 600 requests per minute.'],
  [
    'The rate limit is 500 requests a minute for each API key.',
    'The rate limit is 100 requests a minute for each API key.',
  ],
  ['Alice owns the billing service.', 'Bob owns the billing service.'],
  ['Alice owns the billing service and its on-call rota.', 'Bob owns the billing service and its on-call rota.'],
  ['Use tabs for indentation.', "Don't use tabs for indentation."],
  ['Release 1.4.2 was cut on 2026-03-01.', 'Release 1.4.3 was cut on 2026-03-08.'],
  ['The cache expires after 60 seconds.', 'The cache expires after 60 minutes.'],
  ['Port 8080 is used by the gateway.', 'Port 9001 is used by the gateway.'],
  ['The staging database runs PostgreSQL 17.', 'The production database runs PostgreSQL 18.'],
  ['Staging is rebuilt every night.', 'Production is rebuilt every night.'],
  ['The test suite passes on Linux.', 'The test suite fails on Linux.'],
  ['Enable the feature flag for new users.', 'Disable the feature flag for new users.'],
  ['The login page is slow.', 'The logout page is slow.'],
  ['Use Redis for the session cache.', 'Use Postgres for the session cache.'],
  [
    'The invoice service writes to the ledger topic in Kafka.',
    'The invoice service reads from the ledger topic in Kafka.',
  ],
  ['Ticket 4711 is fixed in the next release.', 'Ticket 4712 is fixed in the next release.'],
];

-- Which versions of l9-memory have opened this database. Each start notes its own, so that an older program, which lacks the
-- migrations of a newer one, can say which version to install.
create table administration.program_versions (
  version text primary key,
  first_opened_at timestamptz not null default clock_timestamp()
);
call identity.describe('administration.program_versions', 'Versions of l9-memory that have opened this database.
  version: As package.json has it, such as 1.0.0.
  first_opened_at: When a program of this version opened the database for the first time.');

call identity.keep_private('administration.program_versions', functions => 'The owner reads them before it migrates.',
  jobs => 'Gateways note their version when they start. No caller can read the table.');

grant select, insert (version) on administration.program_versions to l9_worker;

// What can have happened to a home folder that was used, and what a start says of it.
import {
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

export interface Damage {
  what: string;
  damage(home: string): void;
  /** What the sentence names, in the home folder. */
  path: string;
  cause: RegExp;
}

export const MARKER = 'data/l9-memory.json';
const TABLE = 'data/base/5/1255';
const CONTROL = 'data/global/pg_control';
const CREDENTIALS = 'credentials.json';
const GARBAGE = Buffer.alloc(8192, 'not what was here');

const remove = (path: string) => rmSync(path, { recursive: true });

/** Puts a folder, a file with this content, or a link in the place of a part. */
const replaced = (path: string, by: { file?: string; link?: string }) => (home: string) => {
  const part = join(home, path);
  remove(part);
  if (by.file !== undefined) writeFileSync(part, by.file);
  else if (by.link !== undefined) symlinkSync(by.link, part);
  else mkdirSync(part);
};
const removed = (path: string) => (home: string) => remove(join(home, path));
const cut = (path: string, bytes: number) => (home: string) => truncateSync(join(home, path), bytes);
const overwritten = (path: string, at: number, bytes: Buffer) => (home: string) => {
  const content = readFileSync(join(home, path));
  bytes.copy(content, at);
  writeFileSync(join(home, path), content);
};
const changed = (path: string, change: (content: Record<string, unknown>) => void) => (home: string) => {
  const content = JSON.parse(readFileSync(join(home, path), 'utf8'));
  change(content);
  writeFileSync(join(home, path), JSON.stringify(content));
};
const inLog = (damage: (path: string) => (home: string) => void) => (home: string) => {
  const [first] = readdirSync(join(home, 'data', 'pg_wal'))
    .filter((name) => name.length === 24)
    .sort();
  damage(join('data', 'pg_wal', first!))(home);
};
const all =
  (...damages: ((home: string) => void)[]) =>
  (home: string) => {
    for (const damage of damages) damage(home);
  };

const OF_DATA: Damage[] = [
  {
    what: 'PG_VERSION is missing, as after an interrupted copy',
    damage: removed('data/PG_VERSION'),
    path: 'data',
    cause: /neither empty nor a whole database, without PG_VERSION/,
  },
  {
    what: 'PG_VERSION is of another major version',
    damage: replaced('data/PG_VERSION', { file: '17\n' }),
    path: 'data/PG_VERSION',
    cause: /PostgreSQL 17/,
  },
  { what: 'PG_VERSION is empty', damage: cut('data/PG_VERSION', 0), path: 'data/PG_VERSION', cause: /damaged/ },
  { what: 'pg_control is missing', damage: removed(CONTROL), path: CONTROL, cause: /is missing/ },
  { what: 'pg_control is cut', damage: cut(CONTROL, 200), path: CONTROL, cause: /200 of 8192 bytes/ },
  {
    what: 'pg_control has other bytes',
    damage: overwritten(CONTROL, 40, GARBAGE.subarray(0, 8)),
    path: CONTROL,
    cause: /checksum/,
  },
  { what: 'base is missing', damage: removed('data/base'), path: 'data', cause: /without base/ },
  {
    what: 'base is a file',
    damage: replaced('data/base', { file: '' }),
    path: 'data/base',
    cause: /it is not a folder|is not a folder|is a file/,
  },
  {
    what: 'the folder of the database is missing',
    damage: removed('data/base/5'),
    path: 'data/base/5',
    cause: /is missing/,
  },
  {
    what: 'empty folders are missing, as after a copy of files alone',
    damage: (home) => rmdirSync(join(home, 'data/pg_notify')),
    path: 'data/pg_notify',
    cause: /is missing/,
  },
  {
    what: 'the write-ahead log is missing',
    damage: removed('data/pg_wal'),
    path: 'data/pg_wal',
    cause: /is missing/,
  },
  { what: 'the write-ahead log has no files', damage: inLog(removed), path: 'data/pg_wal/0', cause: /is missing/ },
  {
    what: 'a file of the write-ahead log is cut',
    damage: inLog((path) => cut(path, 8192)),
    path: 'data/pg_wal/0',
    cause: /8192 of 16777216 bytes/,
  },
  {
    what: 'a file of the write-ahead log begins with other bytes',
    damage: inLog((path) => overwritten(path, 0, GARBAGE)),
    path: 'data/pg_wal/0',
    cause: /does not belong to this database/,
  },
  {
    what: 'the last checkpoint in the write-ahead log is overwritten',
    damage: inLog((path) => overwritten(path, 8192, Buffer.alloc(16_769_024, 'x'))),
    path: 'data/pg_wal/0',
    cause: /its last checkpoint cannot be read/,
  },
  {
    what: 'a table is cut between two pages',
    damage: cut(TABLE, 16_384),
    path: TABLE,
    cause: /has 16384 of \d+ bytes/,
  },
  { what: 'a table is empty', damage: cut(TABLE, 0), path: TABLE, cause: /has 0 of \d+ bytes/ },
  { what: 'a table is missing', damage: removed(TABLE), path: TABLE, cause: /is missing/ },
  {
    what: 'the state of transactions is missing',
    damage: removed('data/pg_xact/0000'),
    path: 'data/pg_xact/0000',
    cause: /is missing/,
  },
  {
    what: 'a table is cut within a page, and an older version left no marker',
    damage: all(removed(MARKER), cut(TABLE, 20_000)),
    path: TABLE,
    cause: /is cut/,
  },
  {
    what: 'the marker is not one',
    damage: replaced(MARKER, { file: '{' }),
    path: MARKER,
    cause: /not the file that l9-memory writes/,
  },
  { what: 'the marker is a folder', damage: replaced(MARKER, {}), path: MARKER, cause: /it is a folder/ },
  {
    what: 'data is of a newer version of l9-memory',
    damage: changed(MARKER, (marker) => {
      Object.assign(marker, { version: '9.1.0', migrations: { '999999-later.sql': 'sha1:x' } });
    }),
    path: 'data',
    cause: /another version of l9-memory \(9\.1\.0; .* newer version: install l9-memory 9\.1\.0 or later/,
  },
  {
    what: 'data is of a version before 1.0',
    damage: changed(MARKER, (marker) => {
      Object.assign(marker, { version: '0.0.9', migrations: { '000001-the-first-schema.sql': 'sha1:x' } });
    }),
    path: 'data',
    cause:
      /another version of l9-memory \(0\.0\.9; .*000001-the-first-schema\.sql is not the one .*: start that version/,
  },
  {
    what: 'data is the database of another program',
    damage: all(removed(MARKER), (home) => {
      const roles = join(home, 'data/global/1260');
      writeFileSync(roles, readFileSync(roles, 'latin1').replaceAll('l9_gateway', 'an_other_1'), 'latin1');
    }),
    path: 'data',
    cause: /l9-memory did not make/,
  },
  { what: 'data is a file', damage: replaced('data', { file: 'x' }), path: 'data', cause: /is not a folder/ },
  {
    what: 'data is a link to a disk that is not there',
    damage: replaced('data', { link: '/nowhere/at/all' }),
    path: 'data',
    cause: /is a link to \/nowhere\/at\/all, and it does not exist/,
  },
  {
    what: 'data holds files of somebody else',
    damage: all(replaced('data', {}), (home) => writeFileSync(join(home, 'data/notes.txt'), 'mine')),
    path: 'data',
    cause: /neither empty nor a whole database/,
  },
  {
    what: 'data was renamed to the draft of a first start',
    damage: (home) => renameSync(join(home, 'data'), join(home, 'data.draft')),
    path: 'data.draft',
    cause: /is a whole database, which a start would delete/,
  },
];

const OF_CREDENTIALS: Damage[] = [
  { what: 'it is a folder', damage: replaced(CREDENTIALS, {}), cause: /it is a folder/ },
  { what: 'it is a link to nothing', damage: replaced(CREDENTIALS, { link: '/nowhere' }), cause: /it does not exist/ },
  { what: 'it is empty', damage: cut(CREDENTIALS, 0), cause: /is not valid JSON/ },
  { what: 'it is not JSON', damage: replaced(CREDENTIALS, { file: 'jwt_secret: x' }), cause: /is not valid JSON/ },
  { what: 'it is a list', damage: replaced(CREDENTIALS, { file: '[]' }), cause: /its content/ },
  {
    what: 'a key is short',
    damage: changed(CREDENTIALS, (content) => Object.assign(content, { archive_key: 'short' })),
    cause: /archive_key: .*32 characters/,
  },
  ...['jwt_secret', 'mcp_api_keys', 'archive_key'].map((field) => ({
    what: `${field} is missing`,
    damage: changed(CREDENTIALS, (content) => delete content[field]),
    cause: new RegExp(`${field} is missing`),
  })),
].map(({ what, ...damage }) => ({ ...damage, what: `credentials.json: ${what}`, path: CREDENTIALS }));

const OF_HOME: Damage[] = [
  {
    what: 'lock has other bytes',
    damage: replaced('lock', { file: 'garbage' }),
    path: 'lock',
    cause: /cannot be locked/,
  },
  { what: 'lock is a folder', damage: replaced('lock', {}), path: 'lock', cause: /cannot be locked/ },
  { what: 'the home folder is a file', damage: replaced('', { file: 'x' }), path: '', cause: /is not a folder/ },
  {
    what: 'the home folder is a link to nothing',
    damage: replaced('', { link: '/nowhere' }),
    path: '',
    cause: /is a link to \/nowhere, and it does not exist/,
  },
];

/** Only root can give a folder to somebody else. */
const OF_OWNER: Damage[] = [
  {
    what: 'data belongs to another user',
    damage: (home) => chownSync(join(home, 'data'), 12_345, 12_345),
    path: 'data',
    cause: /belongs to user 12345, and this process runs as user 0/,
  },
  {
    what: 'root starts it in the home folder of a user, where there is no data yet',
    damage: all(removed('data'), (home) => chownSync(home, 12_345, 12_345)),
    path: '',
    cause: /belongs to user 12345/,
  },
];

export const DAMAGES = [...OF_DATA, ...OF_CREDENTIALS, ...OF_HOME, ...(process.getuid?.() === 0 ? OF_OWNER : [])];

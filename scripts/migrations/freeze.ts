// `npm run db:freeze`: from now on the first migration never changes. Its hash is kept in db/migrations/frozen.json.
import { writeFileSync } from 'node:fs';
import { committedFile, firstMigrationHash, frozenFile, frozenHash } from '../generate/migration.ts';

if (frozenHash() === null) {
  writeFileSync(frozenFile, `${JSON.stringify({ [committedFile]: firstMigrationHash() }, null, 2)}\n`);
  console.log(`${committedFile} is frozen.`);
} else {
  console.log(`${committedFile} was frozen before, and stays as it is.`);
}

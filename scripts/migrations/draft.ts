// `npm run db:draft`: what leads from the committed migrations to db/schema. It writes that to db/migrations/current, if nothing
// waits there; else it prints what is still missing, and fails if something is. It needs no server.
import { writeFileSync } from 'node:fs';
import { committedBodies, currentFile, currentSql, frozenHash, sourceSql } from '../generate/migration.ts';
import { differencesOf } from './catalogue.ts';
import { schemaInMemory } from './engine.ts';

if (frozenHash() === null) {
  console.log('The first migration is not frozen: change db/schema and run `npm run generate`.');
} else {
  const waiting = await currentSql();
  const before = await schemaInMemory([...committedBodies(), ...(waiting ? [waiting] : [])]);
  const differences = differencesOf(before, await schemaInMemory([await sourceSql()]));
  if (differences.length === 0) {
    console.log(`db/schema is what the committed migrations${waiting ? ' and the current one' : ''} make.`);
  } else if (waiting) {
    console.log(differences.join('\n\n'));
    console.error(`${differences.length} differences are left: add them to db/migrations/current.`);
    process.exitCode = 1;
  } else {
    writeFileSync(currentFile, `${differences.join('\n\n')}\n`);
    console.log(`${differences.length} differences were written to db/migrations/current: read each of them.`);
  }
}

// A program that runs the migrations of a folder, for a test that kills it in the middle.
import { migrate } from './first-version.ts';

const tell = (text: string) => process.stdout.write(`${text}\n`);
await migrate(JSON.parse(process.argv[2]!), { error: tell, debug: tell });
tell('it was not killed');

// `npm run template`, which `npm install` runs too: makes the data folder that a first start on the embedded engine copies.
// Without it the first start makes it, so a failure is told and ends nothing.
import { pino } from 'pino';
import { keepCompiledModules } from '../gateway/src/home/cache.ts';

keepCompiledModules();
const { ensureTemplate } = await import('../gateway/src/server/template.ts');
try {
  const folder = await ensureTemplate(pino({ level: 'error' }, pino.destination(2)));
  // A start loads this, and finds it compiled.
  await import('../gateway/src/gateway.ts');
  console.log(folder ? `the database template is ${folder}` : 'no folder can be written to for the database template');
} catch (error) {
  console.error(`the database template could not be made, the first start will do it: ${(error as Error).message}`);
}

// `npm run template`, which `npm install` runs too: makes the data folder that a first start on the embedded engine copies.
// Without it the first start makes it, so a failure is told and ends nothing: not even if Node itself crashes, as some versions
// now and then do where much WebAssembly is compiled (https://github.com/nodejs/node/issues/64500). Hence a process of its own.
import { spawnSync } from 'node:child_process';
import { pino } from 'pino';
import { keepCompiledModules } from '../gateway/src/home/cache.ts';

const IN_THIS_PROCESS = '--in-this-process';
const failed = (reason: string) =>
  console.error(`the database template could not be made, the first start will do it: ${reason}`);

async function make() {
  keepCompiledModules();
  const { ensureTemplate } = await import('../gateway/src/server/template.ts');
  const folder = await ensureTemplate(pino({ level: 'error' }, pino.destination(2)));
  // A start loads this, and finds it compiled.
  await import('../gateway/src/gateway.ts');
  console.log(folder ? `the database template is ${folder}` : 'no folder can be written to for the database template');
}

if (process.argv.includes(IN_THIS_PROCESS)) {
  await make().catch((error: Error) => failed(error.message));
} else {
  const args = [...process.execArgv, import.meta.filename, IN_THIS_PROCESS];
  const { error, signal, status } = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (status !== 0) failed(error?.message ?? `Node was ended by ${signal ?? `status ${status}`}`);
}

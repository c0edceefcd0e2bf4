// Loaded first by the processes of tests: WebAssembly keeps the code that it is compiled to at first. Few of them run long enough to gain
// from a second compilation with optimisations: that of PostgreSQL's parser of SQL alone takes .7 s of processor time and 600 MB.
const { setFlagsFromString } = require('node:v8');
for (const flag of ['--liftoff-only', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering']) setFlagsFromString(flag);

// Loaded first by the processes of tests: WebAssembly keeps the code that it is compiled to at first.
require('node:v8').setFlagsFromString('--wasm-tiering-budget=200000000');

#!/usr/bin/env node
// The command `l9-memory`, and what editors start for MCP: the gateway's commands on a Node that is recent enough. A clone runs the
// sources, and a package what `npm run build` made of them.
'use strict';
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { run } = require('../scripts/with-node.cjs');

const root = join(__dirname, '..');
// Hooks run with each prompt, and load no other command.
const isHook = process.argv[2] === 'hook' && process.argv.length > 4;
const program = isHook ? 'hook' : 'cli';
const source = join(root, 'gateway', 'src', `${program}.ts`);
run([
  existsSync(source) ? source : join(root, 'dist', 'gateway', `${program}.js`),
  ...process.argv.slice(isHook ? 3 : 2),
]);

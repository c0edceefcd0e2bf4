#!/usr/bin/env node
// The command `l9-memory`, and what editors start for MCP: the gateway's commands on a Node that is recent enough. A clone runs the
// sources, and a package what `npm run build` made of them.
'use strict';
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { run } = require('../scripts/with-node.cjs');

const root = join(__dirname, '..');
const source = join(root, 'gateway', 'src', 'cli.ts');
run([existsSync(source) ? source : join(root, 'dist', 'gateway', 'cli.js'), ...process.argv.slice(2)]);

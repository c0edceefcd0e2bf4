#!/usr/bin/env node
// The command `l9-memory`, and what editors start for MCP: the gateway's commands on a Node that is recent enough.
'use strict';
const { join } = require('node:path');
const { run } = require('../scripts/with-node.cjs');

run([join(__dirname, '..', 'gateway', 'src', 'cli.ts'), ...process.argv.slice(2)]);

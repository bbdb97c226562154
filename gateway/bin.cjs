#!/usr/bin/env node
require('./commands/require-node.cjs');
require('./commands/launch.cjs');

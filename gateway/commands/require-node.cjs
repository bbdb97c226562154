// Ends the process where Node is older than the package wants, before anything that such a Node could not read: what it would
// say by itself is which export of which package is missing. Written so that every Node can run it.
'use strict';

var wanted = /(\d+)\.(\d+)/.exec(require('../../package.json').engines.node);
var version = process.version.slice(1);
var found = /(\d+)\.(\d+)/.exec(version);
var major = Number(found[1]) - Number(wanted[1]);

if (major < 0 || (major === 0 && Number(found[2]) < Number(wanted[2]))) {
  console.error(`helper-gateway needs Node ${wanted[0]} or later; this is ${version}`);
  process.exit(1);
}

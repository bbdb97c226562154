// Prints the long tests whose sources changed since a commit (all of them without one): where a file of the folder that the test
// mirrors changed, the test itself, what it imports of test/, or what these import of the product. Those of test/ and test/gateway
// mirror everything, or all of the gateway. Needs built tests. Usage: node .ci/long-tests.mjs [commit]
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { importsOf, sources } from '../dist/test/import-graph.js';

const lines = importsOf(['gateway', 'plugins', 'pool', 'schemas', 'test'].flatMap(sources));
const long = sources('test').filter((file) => file.endsWith('.long.test.ts'));

/** Folders whose tests these are. */
function mirrored(test) {
  let folder = relative('test', dirname(test));
  if (folder === 'deploy') return ['.deploy', '.build'];
  while (!existsSync(folder || '.')) folder = relative('.', dirname(folder));
  return [folder];
}

/** The test, the files of test/ that it reaches, and what they import of the product. */
function sourcesOf(test) {
  const found = new Set([test]);
  for (const file of found) {
    if (!file.startsWith('test/')) continue;
    for (const { from, to } of lines) if (from === file) found.add(to);
  }
  return found;
}

const [since] = process.argv.slice(2);
const changed =
  since && execFileSync('git', ['diff', '--name-only', since], { encoding: 'utf8' }).split('\n');
for (const test of long) {
  const itsFolders = mirrored(test);
  const itsSources = sourcesOf(test);
  const isDue = (file) =>
    itsSources.has(file) || itsFolders.some((folder) => join(file, '.').startsWith(folder && `${folder}/`));
  if (!changed || changed.filter(Boolean).some(isDue)) console.log(test);
}

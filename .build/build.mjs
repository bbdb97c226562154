// Builds a TypeScript project into dist/ and removes what is left there of sources that are gone: a deleted plugin must
// not be served. It never empties dist/, because a gateway may be running from it. Usage: node .build/build.mjs [project]
import '../gateway/commands/require-node.cjs';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = join(dirname(typescript()), 'bin', 'tsc');

const { status } = spawnSync(process.execPath, [tsc, '-p', process.argv[2] || '.'], {
  cwd: root,
  stdio: 'inherit',
});
if (status !== 0) process.exit(status || 1);

const output = join(root, 'dist');
for (const name of readdirSync(output, { recursive: true, encoding: 'utf8' })) {
  const built = /^(.*?)(?:\.d\.ts|\.js|\.js\.map)$/.exec(name);
  if (!built) continue;
  const exists = ['.ts', '.tsx'].some((extension) => existsSync(join(root, built[1] + extension)));
  if (!exists) rmSync(join(output, name));
}

// "npm start" begins with the shell's own "exec", because npm gives signals to its shell, and not every sh becomes its last
// command by itself. Windows' cmd has neither that word nor those signals: there it is a command that runs the rest.
if (process.platform === 'win32') writeFileSync(join(root, 'node_modules', '.bin', 'exec.cmd'), '@%*\r\n');

function typescript() {
  try {
    return createRequire(import.meta.url).resolve('typescript/package.json');
  } catch {
    console.error('What the build needs is not installed: run "npm ci" first.');
    process.exit(1);
  }
}

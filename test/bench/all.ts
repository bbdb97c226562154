/** `npm run bench`: every bench, one after the other. A file name is handed to those that work on a picture. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

for (const name of ['image', 'gateway', 'keys', 'limits']) {
  console.log(`\n${name}`);
  const script = fileURLToPath(new URL(`./${name}.js`, import.meta.url));
  const { status } = spawnSync(process.execPath, [script, ...process.argv.slice(2)], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}

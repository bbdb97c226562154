import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const register = fileURLToPath(
  new URL('dist/bundle/register.js', import.meta.resolve('helper-gateway/package.json')),
);
const isTest = /\.test\.(?:[cm]?js|m?ts)$/;
const leftAlone = /^[._]|^node_modules$/;

/** The tests that lie beside a folder's plugins. */
export async function findTests(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  const tests = names.filter(
    (name) => isTest.test(name) && !name.split(sep).some((part) => leftAlone.test(part)),
  );
  return tests.sort().map((name) => join(folder, name));
}

/**
 * Runs them with Node's own runner, which finds `helper-gateway/…` and reads TypeScript as the gateway does. What it says goes to
 * stderr. Gives whether all passed.
 */
export async function runTests(files: readonly string[], cwd: string): Promise<boolean> {
  // Inside another runner's test it would report to that, and not to people.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--import', register, '--test', '--test-reporter=spec', ...files];
  const child = spawn(process.execPath, args, {
    cwd,
    env,
    stdio: ['ignore', process.stderr, process.stderr],
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0;
}

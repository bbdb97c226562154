import { spawnSync } from 'node:child_process';

/** Whether promtool (Debian: `prometheus`) is here. */
export function hasPromtool(): boolean {
  return spawnSync('promtool', ['--version']).status === 0;
}

/** Runs it to its end. */
export function promtool(args: string[], { input, cwd }: { input?: string; cwd?: string } = {}) {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, cwd, encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

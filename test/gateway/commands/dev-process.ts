import type { ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { bin, type Child, startChild } from '../harness.js';

/** A `helper-gateway dev` in an empty folder, which makes its folder `helpers` there. */
export interface DevProcess extends Pick<Child, 'stdout' | 'stderr' | 'until' | 'ended'> {
  child: ChildProcess;
  folder: string;
  url: string;
  key: string;
  /** Saves a plugin as editors do it, and waits for the line that tells of it. */
  save(name: string, text: string, line: RegExp): Promise<void>;
  end(): Promise<void>;
}

export async function startDev(): Promise<DevProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'dev-'));
  const {
    process: child,
    stdout,
    stderr,
    until,
    ended,
  } = startChild(process.execPath, [bin, 'dev'], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: '0', CONNECT_PORT: '0', HELPER_RATE: '0', LOG_LEVEL: 'error' },
  });
  await until(() => stdout().includes('Watching'));
  return {
    child,
    folder,
    url: /(http:\S+)\/text\/diff-two-strings/.exec(stdout())?.[1] ?? '',
    key: /\bhg_\w+/.exec(stdout())?.[0] ?? '',
    stdout,
    stderr,
    until,
    ended,
    async save(name, text, line) {
      const [out, err] = [stdout().length, stderr().length];
      const file = join(folder, 'helpers', name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(join(folder, 'new~'), text);
      await rename(join(folder, 'new~'), file);
      await until(() => line.test(stdout().slice(out)) || line.test(stderr().slice(err)));
    },
    async end() {
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

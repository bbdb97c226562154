import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const bin = fileURLToPath(new URL('../../../../gateway/bin.cjs', import.meta.url));

/** A `helper-gateway dev` in an empty folder, which makes its folder `helpers` there. */
export interface DevProcess {
  child: ChildProcess;
  folder: string;
  url: string;
  key: string;
  stdout(): string;
  stderr(): string;
  /** Waits for what the process is to write. */
  until(condition: () => boolean): Promise<void>;
  /** Saves a plugin as editors do it, and waits for the line that tells of it. */
  save(name: string, text: string, line: RegExp): Promise<void>;
  end(): Promise<void>;
}

export async function startDev(): Promise<DevProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'dev-'));
  const child = spawn(process.execPath, [bin, 'dev'], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: '0', CONNECT_PORT: '0', HELPER_RATE: '0', LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  let heard: () => void = () => undefined;
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
    heard();
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
    heard();
  });

  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
    }
  }

  await until(() => stdout.includes('Watching'));
  return {
    child,
    folder,
    url: /(http:\S+)\/text\/diff-two-strings/.exec(stdout)?.[1] ?? '',
    key: /\bhg_\w+/.exec(stdout)?.[0] ?? '',
    stdout: () => stdout,
    stderr: () => stderr,
    until,
    async save(name, text, line) {
      const [out, err] = [stdout.length, stderr.length];
      const file = join(folder, 'helpers', name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(join(folder, 'new~'), text);
      await rename(join(folder, 'new~'), file);
      await until(() => line.test(stdout.slice(out)) || line.test(stderr.slice(err)));
    },
    async end() {
      child.kill('SIGKILL');
      await rm(folder, { recursive: true });
    },
  };
}

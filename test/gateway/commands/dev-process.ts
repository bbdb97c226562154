import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { bin, startChild } from '../harness.js';

export type DevProcess = Awaited<ReturnType<typeof startDev>>;

/** Starts `helper-gateway dev` in an empty folder, which makes its folder `helpers` there. */
export async function startDev() {
  const folder = await mkdtemp(join(tmpdir(), 'dev-'));
  const { process: child, ...dev } = startChild(process.execPath, [bin, 'dev'], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: '0', CONNECT_PORT: '0', HELPER_RATE: '0', LOG_LEVEL: 'error' },
  });
  const { stdout, stderr, until } = dev;
  await until(() => stdout().includes('Watching'));
  return {
    ...dev,
    child,
    folder,
    url: /(http:\S+)\/text\/diff-two-strings/.exec(stdout())?.[1] ?? '',
    key: /\bhg_\w+/.exec(stdout())?.[0] ?? '',
    /** Saves a plugin as editors do it, and waits for the line that names it. */
    async save(name: string, text: string, line: RegExp) {
      const [out, err] = [stdout().length, stderr().length];
      const file = join(folder, 'helpers', name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(join(folder, 'new~'), text);
      await rename(join(folder, 'new~'), file);
      await until(() => line.test(stdout().slice(out)) || line.test(stderr().slice(err)));
    },
    async end() {
      child.kill('SIGKILL');
      await dev.ended;
      await rm(folder, { recursive: true });
    },
  };
}

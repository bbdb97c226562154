import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { type Server, startScript } from './servers.js';

const version = '3.1.1';

/**
 * IPX, the image server of the Nuxt and UnJS projects, on a folder with these pictures; undefined where npm cannot install it. It runs
 * on the very sharp that the gateway runs on, so that servers are compared and not versions of libvips.
 */
export async function startIpx(files: Record<string, Uint8Array>): Promise<Server | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'ipx-'));
  const needs = { private: true, dependencies: { ipx: version }, overrides: { sharp: sharp.versions.sharp } };
  await writeFile(join(folder, 'package.json'), JSON.stringify(needs));
  const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  const { status, stderr } = spawnSync('npm', ['install', ...quietly], { cwd: folder, encoding: 'utf8' });
  if (status !== 0) {
    console.log(`  IPX ${version} could not be installed and is left out: ${stderr?.trim().split('\n')[0]}`);
    await rm(folder, { recursive: true });
    return undefined;
  }
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes);
  const server = await startScript('./ipx-server.js', [folder]);
  console.log(
    `  IPX ${version} reads the picture from its disk; the gateway takes it as an upload. Both on sharp ${sharp.versions.sharp}.`,
  );
  return {
    ...server,
    async close() {
      await server.close();
      await rm(folder, { recursive: true });
    },
  };
}

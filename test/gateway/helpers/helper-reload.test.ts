import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Config } from '../../../gateway/config.js';
import { createHelperReload } from '../../../gateway/helpers/helper-reload.js';
import { HelperShelf } from '../../../gateway/helpers/live-registry.js';
import { createPool } from '../../../pool/pool.js';
import { workerSettings } from '../../pool/worker-settings.js';
import { answering } from './reload-world.js';

describe('the reload of a gateway’s helpers', () => {
  it('succeeds again after one that could not read the fonts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    const font = join(folder, '_font.ttf');
    const pool = createPool({ threads: 1, queue: 9, worker: workerSettings });
    const shelf = new HelperShelf();
    const failures: unknown[] = [];
    const reloader = createHelperReload({
      config: { pluginDirs: [folder], fonts: [font] } as unknown as Config,
      env: {},
      shelf,
      pool,
      engine: { engine: 'jimp' },
      logger: {
        info: () => undefined,
        error: ({ err }: { err: Error }) => failures.push(err.message),
      } as unknown as Parameters<typeof createHelperReload>[0]['logger'],
      dev: { onReload: () => undefined },
    });
    try {
      await pool.start();
      await writeFile(join(folder, 'x.mjs'), answering(1));
      await reloader.reload();
      expect(failures).to.have.length(1);
      expect(failures[0]).to.include(font);
      await copyFile(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf'), font);
      await reloader.reload();
      expect(failures).to.have.length(1);
      expect([...shelf.keys()]).to.deep.equal(['x']);
    } finally {
      await reloader.close();
      await pool.close();
      await rm(folder, { recursive: true });
    }
  });
});

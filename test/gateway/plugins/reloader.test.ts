import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Config } from '../../../gateway/config.js';
import { HelperShelf } from '../../../gateway/plugins/registry.js';
import type { Reload, ReloadReport } from '../../../gateway/plugins/reload.js';
import { createHelperReload, createReloader } from '../../../gateway/plugins/reloader.js';
import { createPool } from '../../../pool/pool.js';
import { workerSettings } from '../../pool/worker-settings.js';
import { answering } from './reload-world.js';

const report: ReloadReport = { added: [], reloaded: [], removed: [], problems: [], skipped: [], ms: 0 };

/** A reload that ends when it is told to, or is given up. */
function controlled() {
  const asked: (string[] | 'all')[] = [];
  const waiting: ((error?: Error) => void)[] = [];
  const reload: Reload = (changed, signal) => {
    asked.push(changed ? [...changed] : 'all');
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
      waiting.push((error) => (error ? reject(error) : resolve(report)));
    });
  };
  return { asked, reload, end: (error?: Error) => waiting.shift()?.(error) };
}

function make(patienceMs: number) {
  const { asked, reload, end } = controlled();
  const failures: unknown[] = [];
  let reports = 0;
  const reloader = createReloader({
    reload,
    patienceMs,
    onReport: () => {
      reports += 1;
    },
    onFailure: (error) => failures.push(error),
  });
  return { asked, end, failures, reloader, reports: () => reports };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a reloader', () => {
  it('does one after another, and together what was wished meanwhile', async () => {
    const { asked, end, reloader, reports } = make(60_000);
    const first = reloader.reload(['a']);
    const others = [reloader.reload(['b']), reloader.reload(['c', 'b'])];
    expect(asked).to.deep.equal([['a']]);
    end();
    await turn();
    expect(asked).to.deep.equal([['a'], ['c', 'b']]);
    end();
    await Promise.all([first, ...others]);
    expect(reports()).to.equal(2);
  });

  it('takes everything for more than any files', async () => {
    const { asked, end, reloader } = make(60_000);
    void reloader.reload(['a']);
    void reloader.reload(['b']);
    // A burst of hangups.
    const all = [reloader.reload(), reloader.reload(), reloader.reload()];
    end();
    await turn();
    expect(asked).to.deep.equal([['a'], 'all']);
    end();
    await Promise.all(all);
    expect(asked).to.have.length(2);
  });

  it('tells a failure, and tries what it missed with the next wish', async () => {
    const { asked, end, failures, reloader } = make(60_000);
    const first = reloader.reload(['a']);
    end(new Error('no threads'));
    await first;
    expect(failures).to.have.length(1);
    const second = reloader.reload(['b']);
    expect(asked.at(-1)).to.have.members(['a', 'b']);
    end();
    await second;
  });

  it('has one that takes long give way to a newer wish, and does it after that', async () => {
    const { asked, end, failures, reloader } = make(0);
    const first = reloader.reload(['slow', 'both']);
    void reloader.reload(['quick', 'both']);
    while (asked.length < 2) await turn();
    // Of the one that was given up nothing is waited for.
    end();
    end();
    while (asked.length < 3) await turn();
    expect(asked).to.deep.equal([['slow', 'both'], ['quick', 'both'], ['slow']]);
    end();
    await first;
    expect(failures).to.deep.equal([]);
  });

  it('has none give way for ever', async () => {
    const { asked, end, reloader } = make(0);
    const first = reloader.reload(['slow']);
    for (let times = 1; times <= 10; times += 1) {
      void reloader.reload([`quick-${times}`]);
      while (asked.length < times + 1) await turn();
    }
    void reloader.reload(['last']);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(asked).to.have.length(11);
    expect(asked.at(-1)).to.include.members(['slow', 'quick-1', 'quick-10']);
    for (let times = 0; times < 11; times += 1) end();
    while (asked.length < 12) await turn();
    expect(asked.at(-1)).to.deep.equal(['last']);
    end();
    await first;
  });

  it('gives up what is under way when it closes, and takes no more wishes', async () => {
    const { asked, failures, reloader } = make(60_000);
    const first = reloader.reload(['a']);
    void reloader.reload(['b']);
    await reloader.close();
    await first;
    await reloader.reload(['c']);
    expect(asked).to.deep.equal([['a']]);
    expect(failures).to.deep.equal([]);
  });
});

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

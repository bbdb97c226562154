import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { holdVersion } from '../../../gateway/pipeline/admit.js';
import { type Helper, HelperShelf } from '../../../gateway/plugins/registry.js';
import { createReload, type ReloadReport } from '../../../gateway/plugins/reload.js';
import { importTimeoutMs } from '../../../pool/plugin.js';
import { createPool, type Pool } from '../../../pool/pool.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { workerSettings } from '../../pool/worker-settings.js';

/** A folder of plugins that are reloaded, without a server around them. */
export interface ReloadWorld {
  folder: string;
  shelf: HelperShelf;
  pool: Pool;
  path(name: string): string;
  write(name: string, text: string): Promise<void>;
  /** Of these files, or of everything. */
  reload(...names: string[]): Promise<ReloadReport>;
  /** What a helper answers with as it is now, or of the version that is given. */
  call(id: string, version?: Helper): Promise<unknown>;
  close(): Promise<void>;
}

export interface WorldOptions {
  env?: Record<string, string>;
  /** Milliseconds that an import may take; default what it may in a gateway. */
  importMs?: number;
  together?: boolean;
  shipped?: Helper[];
}

const never = new AbortController().signal;

/** The source of a plugin that answers with this. */
export function answering(value: unknown, more = ''): string {
  const answer = JSON.stringify({ value });
  return `export default { summary: 'x', input: { type: 'object', properties: {} }, handler: () => (${answer}), ${more} };`;
}

export async function createReloadWorld(options: WorldOptions = {}): Promise<ReloadWorld> {
  const { env = {}, importMs = importTimeoutMs, together = false, shipped = [] } = options;
  const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
  const pool = createPool({ threads: 1, queue: 50, worker: workerSettings });
  await pool.start();
  const shelf = new HelperShelf(shipped.map((helper) => [helper.id, { ...helper, group: pool.first }]));
  const reload = createReload({
    folders: [folder],
    shelf,
    pool,
    first: pool.first,
    together,
    env,
    createVocabulary: () => createVocabulary(),
    worker: { lean: true },
    importMs,
  });
  const path = (name: string) => join(folder, name);

  return {
    folder,
    shelf,
    pool,
    path,
    async write(name, text) {
      await mkdir(dirname(path(name)), { recursive: true });
      await writeFile(path(name), text);
    },
    reload: (...names) => reload(names.length > 0 ? new Set(names.map(path)) : undefined, never),
    async call(id, version = shelf.get(id)) {
      if (!version) throw new Error(`there is no ${id}`);
      const outcome = await holdVersion(version, async () => {
        const turn = pool.ticket({ tenant: 'a', weight: 1, most: null }, version.group);
        const context = { service: id, request_id: 'r' };
        const task = { kind: 'call', plugin: version.url, does: 'handler', input: {}, context } as const;
        return turn.run(task).finally(turn.release);
      });
      if (!outcome.ok) throw new Error(outcome.message);
      return JSON.parse(Buffer.from((outcome.value as { bytes: Uint8Array }).bytes).toString()).value;
    },
    async close() {
      await pool.close();
      await rm(folder, { recursive: true });
    },
  };
}

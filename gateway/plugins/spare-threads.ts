import type { Group } from '../../pool/group.js';
import type { PluginModule } from '../../pool/plugin.js';
import type { Pool } from '../../pool/pool.js';
import type { WorkerSettings } from '../../pool/task.js';
import { type Inspector, type InspectorData, openInspector } from './inspect-plugins.js';

/** The threads that one reload needs, started before it comes. They have imported nothing that may change. */
export interface SpareThreads {
  inspector: Inspector;
  /** Loads plugins into the others, as `Pool.open` does. */
  open(plugins: Promise<readonly PluginModule[]>): Promise<Group>;
}

/** Keeps threads ready for the next reload, so that whoever has saved a file does not wait for their start. */
export interface Spares {
  /** Undefined where there are none. Whoever takes them has them open plugins. */
  take(): SpareThreads | undefined;
  /** Has some started soon, where there are none. */
  refill(): void;
  close(): void;
}

export interface SparesOptions {
  pool: Pick<Pool, 'open'>;
  worker: Partial<WorkerSettings>;
  inspector: InspectorData;
  /** Milliseconds before they are started: the calls that follow a save come first. */
  restMs?: number;
}

interface Spare extends SpareThreads {
  /** Whether the threads of the group are still to be had. */
  isSound(): boolean;
  end(): void;
}

/** Keeps none before the first `refill`. */
export function createSpares({ restMs = 300, ...options }: SparesOptions): Spares {
  let spare: Spare | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function take(): Spare | undefined {
    const taken = spare;
    spare = undefined;
    if (taken?.isSound()) return taken;
    taken?.end();
    return undefined;
  }

  return {
    take,
    refill() {
      clearTimeout(timer);
      if (spare || closed) return;
      timer = setTimeout(() => {
        spare = openSpare(options);
      }, restMs);
      timer.unref();
    },
    close() {
      closed = true;
      clearTimeout(timer);
      take()?.end();
    },
  };
}

function openSpare({ pool, worker, inspector: data }: SparesOptions): Spare {
  const inspector = openInspector(data);
  inspector.worker.unref();
  let isSound = true;
  let give: (plugins: Promise<readonly PluginModule[]>) => void = () => undefined;
  const plugins = new Promise<readonly PluginModule[]>((resolve) => {
    give = resolve;
  });
  const opening = pool.open({ ...worker, plugins }, { attempts: 1 });
  opening.catch(() => {
    isSound = false;
  });
  return {
    inspector,
    isSound: () => isSound,
    open(known) {
      inspector.worker.ref();
      give(known);
      return opening;
    },
    end() {
      void inspector.worker.terminate();
      give(Promise.reject(new Error('the threads are not needed any more')));
    },
  };
}

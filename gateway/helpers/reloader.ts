import type { Reload, ReloadReport } from './reload.js';

/** Reloads one after another, however the wishes come. */
export interface Reloader {
  /**
   * Loads anew what a change of these files concerns, or everything; resolves when no wish is left, and never
   * rejects. Wishes that come while it works are met together.
   */
  reload(changed?: Iterable<string>): Promise<void>;
  /** Gives up what is under way. */
  close(): Promise<void>;
}

export interface ReloaderOptions {
  reload: Reload;
  onReport: (report: ReloadReport) => void;
  /** Told where a reload could not be done at all. */
  onFailure: (error: unknown) => void;
  /** A reload that has taken so long gives way to a newer wish: it may wait for an import that never ends, and is mended by now. */
  patienceMs?: number;
}

/** Files that have changed, or everything. */
type Wish = ReadonlySet<string> | 'all';

/** Makes a reloader. Of two reloads one after the other only the first gives way, or files that change all the time would stop them all. */
export function createReloader(options: ReloaderOptions): Reloader {
  const { reload, onReport, onFailure, patienceMs = 1_000 } = options;
  const closing = new AbortController();
  let wish: Wish | undefined;
  /** What was not done when it was tried. */
  let missed: Wish | undefined;
  let working: Promise<void> | undefined;
  let onNewer: (() => void) | undefined;

  async function work(): Promise<void> {
    let mayGiveWay = true;
    while (wish !== undefined && !closing.signal.aborted) {
      const wanted = both(wish, missed);
      [wish, missed] = [undefined, undefined];
      const gaveWay = await attempt(wanted, mayGiveWay);
      mayGiveWay = !gaveWay;
    }
    working = undefined;
  }

  /** Gives whether it gave way. */
  async function attempt(wanted: Wish, mayGiveWay: boolean): Promise<boolean> {
    const control = new AbortController();
    const patientUntil = Date.now() + patienceMs;
    let timer: NodeJS.Timeout | undefined;
    if (mayGiveWay) {
      onNewer = () => {
        timer ??= setTimeout(() => control.abort(), Math.max(0, patientUntil - Date.now()));
      };
    }
    const signal = AbortSignal.any([control.signal, closing.signal]);
    try {
      onReport(await reload(wanted === 'all' ? undefined : wanted, signal));
      return false;
    } catch (error) {
      missed = wanted;
      if (!signal.aborted) onFailure(error);
      return control.signal.aborted;
    } finally {
      onNewer = undefined;
      clearTimeout(timer);
    }
  }

  return {
    reload(changed) {
      if (closing.signal.aborted) return Promise.resolve();
      wish = both(changed ? new Set(changed) : 'all', wish);
      onNewer?.();
      working ??= work();
      return working;
    },
    async close() {
      closing.abort();
      await working;
    },
  };
}

function both(one: Wish, other: Wish | undefined): Wish {
  return one === 'all' || other === 'all' ? 'all' : new Set([...one, ...(other ?? [])]);
}

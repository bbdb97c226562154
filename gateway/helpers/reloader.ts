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

/** A reload gives way so often at most before all are done together: files that change all the time must not stop the rest. */
const mostGivings = 10;

/**
 * Makes a reloader. One that takes long gives way to a newer wish, which is met alone, and is done after it: a slow `setup` of one helper
 * holds up no other.
 */
export function createReloader(options: ReloaderOptions): Reloader {
  const { reload, onReport, onFailure, patienceMs = 1_000 } = options;
  const closing = new AbortController();
  let wish: Wish | undefined;
  /** What failed when it was tried; it is tried again with the next wish. */
  let missed: Wish | undefined;
  /** What gave way; it is tried again when no newer wish is left. */
  let postponed: Wish | undefined;
  let working: Promise<void> | undefined;
  let onNewer: (() => void) | undefined;

  async function work(): Promise<void> {
    let givings = 0;
    for (;;) {
      const newest = givings < mostGivings ? wish : wish && both(wish, postponed);
      const wanted = newest ?? postponed;
      if (wanted === undefined || closing.signal.aborted) break;
      postponed = newest && without(postponed, newest);
      const all = both(wanted, missed);
      [wish, missed] = [undefined, undefined];
      const gaveWay = await attempt(all, givings < mostGivings);
      if (gaveWay) givings += 1;
      else if (postponed === undefined) givings = 0;
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
      if (control.signal.aborted) {
        postponed = both(wanted, postponed);
        return true;
      }
      missed = wanted;
      if (!signal.aborted) onFailure(error);
      return false;
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

/** What is left of a wish when another has been met. */
function without(wish: Wish | undefined, met: Wish): Wish | undefined {
  if (wish === undefined || met === 'all') return undefined;
  if (wish === 'all') return wish;
  const left = [...wish].filter((file) => !met.has(file));
  return left.length > 0 ? new Set(left) : undefined;
}

function both(one: Wish, other: Wish | undefined): Wish {
  return one === 'all' || other === 'all' ? 'all' : new Set([...one, ...(other ?? [])]);
}

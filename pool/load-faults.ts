import { setTimeout as sleep } from 'node:timers/promises';
import { PoolError } from './errors.js';
import { pluginsOf, type Task } from './task.js';

interface LoadErrorOptions {
  /** The helper whose plugin is to blame, where one is. */
  service?: string | undefined;
  /** Whether it was the plugin's `setup`. */
  inSetup?: boolean;
  /** Whether the thread has ended of it, or is blocked, and is of no use to other helpers either. */
  endsThread?: boolean;
  cause?: unknown;
}

/** Why a worker thread never became ready. `message` is for the operator. */
export class LoadError extends Error {
  readonly service: string | undefined;
  readonly inSetup: boolean;
  readonly endsThread: boolean;

  constructor(message: string, options: LoadErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'LoadError';
    this.service = options.service;
    this.inSetup = options.inSetup ?? false;
    this.endsThread = options.endsThread ?? false;
  }
}

interface Fault {
  service: string | undefined;
  /** When it is tried again. */
  at: number;
  /** Whether that may well fail, too: calls wait through what passes, such as too many open files, but not for that. */
  isDoubtful: boolean;
}

/** Of the fault that concerns every plugin. */
const all = '';

/** What threads that were to replace another could not load. */
export class LoadFaults {
  readonly #faults = new Map<string, Fault>();

  get isEmpty(): boolean {
    return this.#faults.size === 0;
  }

  /** Helpers whose plugins could not be loaded. */
  get services(): string[] {
    return [...this.#faults.values()].flatMap(({ service }) => service ?? []);
  }

  /** Whether the plugin of this url could not be loaded. */
  has(url: string): boolean {
    return this.#faults.has(url);
  }

  /** Notes why a try has failed: by the urls of plugins, or for all of them. */
  note(errors: ReadonlyMap<string, LoadError> | undefined, at: number, isDoubtful: boolean): void {
    if (errors) this.#faults.delete(all);
    for (const [url, error] of errors ?? [[all, undefined]]) {
      const wasDoubtful = this.#faults.get(url)?.isDoubtful === true;
      this.#faults.set(url, { service: error?.service, at, isDoubtful: isDoubtful || wasDoubtful });
    }
  }

  /** A thread has loaded everything. */
  clear(): void {
    this.#faults.clear();
  }

  /** Why a task that no thread can run is not to wait for one: `busy`, with a time to retry after. Undefined where it may run soon. */
  refusal(task: Task): PoolError | undefined {
    const url = pluginsOf(task).find((each) => this.#faults.has(each)) ?? all;
    const fault = this.#faults.get(url) ?? this.#faults.get(all);
    if (!fault?.isDoubtful) return undefined;
    const retryAfter = Math.max(1, Math.ceil((fault.at - Date.now()) / 1000));
    const what = fault.service ? `${fault.service} cannot be loaded` : 'No worker thread can be started';
    const message = `${what} at the moment; the gateway tries again by itself.`;
    return new PoolError('busy', message, { retryAfter, expose: true });
  }
}

/** The pause after a first failure; each further one doubles it. */
export const firstPauseMs = 250;
const longestPauseMs = 30_000;
/** So many failures in a row are no passing shortage of files or memory. */
const doubtfulFrom = 3;
/** After so long without a failure the pauses begin again with the shortest. */
const soundAfterMs = 60_000;

/** Paces the tries to start threads, after some have ended or could not load. */
export class RetryPacing {
  /** Whether the next try has to `rest` first. */
  mustRest = false;
  #failures = 0;
  #failedAt = 0;

  get isDoubtful(): boolean {
    return this.#failures >= doubtfulFrom;
  }

  get pauseMs(): number {
    return Math.min(longestPauseMs, firstPauseMs * 2 ** Math.max(0, this.#failures - 1));
  }

  fail(): void {
    if (Date.now() - this.#failedAt > soundAfterMs) this.#failures = 0;
    this.#failures += 1;
    this.#failedAt = Date.now();
    this.mustRest = true;
  }

  /** Rejects when the signal is aborted. */
  async rest(signal: AbortSignal): Promise<void> {
    this.mustRest = false;
    await sleep(this.pauseMs, undefined, { ref: false, signal });
  }
}

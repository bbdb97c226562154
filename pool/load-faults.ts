import { PoolError } from './errors.js';
import type { Task } from './task.js';

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

  constructor(
    message: string,
    { service, inSetup = false, endsThread = false, cause }: LoadErrorOptions = {},
  ) {
    super(message, { cause });
    this.name = 'LoadError';
    this.service = service;
    this.inSetup = inSetup;
    this.endsThread = endsThread;
  }
}

/** What threads that were to take another's place could not load, and when it is tried again. */
interface LoadFaults {
  /** Takes down why a try has failed: by the urls of plugins, or for all of them. */
  note(errors: ReadonlyMap<string, LoadError> | undefined, next: NextTry): void;
  /** Says that a thread has loaded everything. */
  clear(): void;
  isEmpty(): boolean;
  /** Whether this plugin, by its url, could not be loaded. */
  has(url: string): boolean;
  /** Helpers whose plugins could not be loaded. */
  services(): string[];
  /**
   * Why a task that no thread can run is not to wait for one: `busy`, with the time after which to come back. Undefined where it
   * may be had soon.
   */
  refusal(task: Task): PoolError | undefined;
}

interface NextTry {
  /** When it is. */
  at: number;
  /** Whether it may well fail, too: calls wait through what passes, such as too many open files, but not for that. */
  isDoubtful: boolean;
}

interface Fault extends NextTry {
  service: string | undefined;
}

/** Of the fault that concerns every plugin. */
const all = '';

export function createLoadFaults(): LoadFaults {
  const faults = new Map<string, Fault>();

  function noteOne(url: string, service: string | undefined, { at, isDoubtful }: NextTry): void {
    const wasDoubtful = faults.get(url)?.isDoubtful === true;
    faults.set(url, { service, at, isDoubtful: isDoubtful || wasDoubtful });
  }

  function faultOf(task: Task): Fault | undefined {
    return (task.kind === 'call' ? faults.get(task.plugin) : undefined) ?? faults.get(all);
  }

  return {
    note(errors, next) {
      if (!errors) return noteOne(all, undefined, next);
      faults.delete(all);
      for (const [url, { service }] of errors) noteOne(url, service, next);
    },
    clear: () => faults.clear(),
    isEmpty: () => faults.size === 0,
    has: (url) => faults.has(url),
    services: () => [...faults.values()].flatMap(({ service }) => service ?? []),
    refusal(task) {
      const fault = faultOf(task);
      if (!fault?.isDoubtful) return undefined;
      const retryAfter = Math.max(1, Math.ceil((fault.at - Date.now()) / 1000));
      const what =
        fault.service === undefined ? 'No worker thread can be started' : `${fault.service} cannot be loaded`;
      const message = `${what} at the moment; the gateway tries again by itself.`;
      return new PoolError('busy', message, { retryAfter, expose: true });
    },
  };
}

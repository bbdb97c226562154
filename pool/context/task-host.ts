import type { Fetched, FetchRequest, Refusal } from './messages.js';

/** What a call that runs in a worker asks of the main thread, which does all network. */
export interface TaskHost {
  /** Rejects with an error that has a `code` of the gateway's table and a public message. */
  fetch(request: FetchRequest, signal: AbortSignal): Promise<Fetched>;
}

/** What stands around a task while it waits and runs. */
export interface TaskCall {
  host?: TaskHost | undefined;
  /** Set while it runs: to be called when nobody waits for the answer any more. */
  onLeave?: (() => void) | undefined;
}

/** An error of the gateway's table as data; any other is a fault, of which a handler learns nothing. */
export function codeOf(error: unknown): Refusal {
  const { code, message } = (error ?? {}) as Partial<Refusal>;
  return typeof code === 'string' && typeof message === 'string'
    ? { code, message }
    : { code: 'internal', message: 'The gateway could not fetch this.' };
}

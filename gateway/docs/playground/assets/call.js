/** One call at a time: a second press while it runs ends it. */
import { fetchOptions } from './request.js';

/**
 * Sends a request; gives what came, or undefined where it was cancelled:
 * `{ status, statusText, headers, bytes, ms }`. Rejects where the gateway could not be reached.
 */
export async function send(request, { key, signal }) {
  const started = performance.now();
  try {
    const response = await fetch(request.url, fetchOptions(request, { key, signal }));
    const bytes = await response.blob();
    return {
      status: response.status,
      headers: response.headers,
      bytes,
      ms: performance.now() - started,
    };
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

/** Runs `work(signal)` unless one is running already, which is cancelled instead; `end()` cancels it without another. */
export function oneAtATime({ started, ended }) {
  let running;
  async function run(work) {
    if (running) {
      running.abort();
      return;
    }
    running = new AbortController();
    started();
    try {
      await work(running.signal);
    } finally {
      running = undefined;
      ended();
    }
  }
  return Object.assign(run, { end: () => running?.abort() });
}

import type { ServerResponse } from 'node:http';

/** `draining`: all is served, but not for long; `closing`: only what is under way is finished. */
export type Phase = 'open' | 'draining' | 'closing';

/** Where the gateway stands between its start and its end, for all of its servers. */
export interface Lifecycle {
  phase(): Phase;
  /** Goes on to a later phase: answers that are not on their way yet, and all that follow, end their connection. */
  enter(phase: Exclude<Phase, 'open'>): void;
  /** To be called with each answer before anything is sent of it. */
  watch(response: ServerResponse): void;
}

/**
 * A balancer must hear of the end before a connection is closed under a request that it has just sent on it: `Connection:
 * close` tells it with an answer, `/readyz` with its next health check.
 */
export function createLifecycle(): Lifecycle {
  let phase: Phase = 'open';
  const awaited = new Set<ServerResponse>();
  return {
    phase: () => phase,
    enter(next) {
      phase = next;
      for (const response of awaited) endConnection(response);
      awaited.clear();
    },
    watch(response) {
      if (phase !== 'open') return endConnection(response);
      awaited.add(response);
      response.once('close', () => awaited.delete(response));
    },
  };
}

function endConnection(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}

import type { ServerResponse } from 'node:http';

/** `draining`: all is served, but not for long; `closing`: only what is under way is finished. */
export type Phase = 'open' | 'draining' | 'closing';

/** Where the gateway stands between its start and its end, for all of its servers. */
export interface Lifecycle {
  phase(): Phase;
  enter(phase: Exclude<Phase, 'open'>): void;
  /** Has an answer end its connection where the gateway is no longer open when its head is sent. */
  watch(response: ServerResponse): void;
}

/**
 * A balancer must hear of the end before a connection is closed under a request that it has just sent on it: `Connection:
 * close` tells it with an answer, `/readyz` with its next health check.
 */
export function createLifecycle(): Lifecycle {
  let phase: Phase = 'open';
  return {
    phase: () => phase,
    enter(next) {
      phase = next;
    },
    watch(response) {
      const writeHead = response.writeHead;
      // Node calls it for every answer, in the moment in which its head is made.
      response.writeHead = function endingWriteHead(this: ServerResponse, ...head: unknown[]) {
        if (phase !== 'open') this.setHeader('connection', 'close');
        return writeHead.apply(this, head as Parameters<typeof writeHead>);
      } as typeof writeHead;
    },
  };
}

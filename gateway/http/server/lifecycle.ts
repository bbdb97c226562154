import { type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** `draining`: all is served, but not for long; `closing`: only what is under way is finished. */
export type Phase = 'open' | 'draining' | 'closing';

/** Where the gateway stands between its start and its end, for all of its servers. */
export interface Lifecycle {
  phase(): Phase;
  enter(phase: Exclude<Phase, 'open'>): void;
  /** For servers to answer with: ends its connection where the gateway is no longer open when its head is sent. */
  readonly Response: typeof ServerResponse;
}

/**
 * A balancer must hear of the end before a connection is closed under a request that it has just sent on it: `Connection:
 * close` tells it with an answer, `/readyz` with its next health check.
 */
export function createLifecycle(): Lifecycle {
  let phase: Phase = 'open';

  class Response<R extends IncomingMessage> extends ServerResponse<R> {
    /** Node calls it for every answer, in the moment in which its head is made. */
    override writeHead(
      status: number,
      reason?: string | OutgoingHttpHeaders | unknown[],
      headers?: OutgoingHttpHeaders | unknown[],
    ): this {
      if (phase !== 'open') this.setHeader('connection', 'close');
      return super.writeHead(status, reason as string, headers as OutgoingHttpHeaders);
    }
  }

  return {
    phase: () => phase,
    enter(next) {
      phase = next;
    },
    Response,
  };
}

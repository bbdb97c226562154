import type { IncomingMessage, RequestListener } from 'node:http';

/** Starts in one iteration of the event loop: some milliseconds of work. */
const startsPerIteration = 16;

/** Balancers ask these with little patience, and they cost nothing. */
const healthProbe = /^\/(?:healthz|readyz)(?:$|\?)/;

/**
 * Starts the first few at once and the others in the next iterations of the event loop: round robin by requester, in order for
 * each.
 */
export function createRoundRobin(): (start: () => void, requesterOf?: () => string) => void {
  const waiting = new Map<string, (() => void)[]>();
  let started = 0;
  let ticking = false;

  function next(): (() => void)[] {
    const chosen: (() => void)[] = [];
    for (const [requester, starts] of waiting) {
      if (chosen.length === startsPerIteration) break;
      waiting.delete(requester);
      chosen.push(...starts.splice(0, 1));
      // Re-inserted at the end, where this loop reaches it again.
      if (starts.length > 0) waiting.set(requester, starts);
    }
    return chosen;
  }

  function tick(): void {
    const chosen = next();
    started = chosen.length;
    ticking = started > 0;
    if (ticking) setImmediate(tick);
    for (const start of chosen) start();
  }

  return function roundRobin(start, requesterOf = () => '') {
    if (started >= startsPerIteration) {
      const requester = requesterOf();
      const starts = waiting.get(requester);
      if (starts) starts.push(start);
      else waiting.set(requester, [start]);
      return;
    }
    started += 1;
    if (!ticking) setImmediate(tick);
    ticking = true;
    start();
  };
}

/**
 * Yields to the event loop while hundreds of requests come at once: Node hands over all that have arrived before it does
 * anything else. Requests with one key queue behind each other, not before those with another; health probes never queue.
 */
export function serveRoundRobin(listener: RequestListener): RequestListener {
  const roundRobin = createRoundRobin();

  return function serve(request, response) {
    if (healthProbe.test(request.url ?? '')) return listener(request, response);
    roundRobin(
      () => {
        if (!request.socket.destroyed) listener(request, response);
      },
      () => keyText(request),
    );
  };
}

/** The key or its id as sent: the tenant is known only once the call has started. */
function keyText({ headers, url = '' }: IncomingMessage): string {
  return headers.authorization ?? /[?&](?:ak|kid)=([^&]*)/.exec(url)?.[1] ?? '';
}

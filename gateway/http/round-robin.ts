import type { IncomingMessage, RequestListener } from 'node:http';

/** What is begun in one turn of the event loop: some milliseconds of work. */
const startsPerIteration = 16;

/** What balancers ask, often with little patience; it costs nothing. */
const healthProbe = /^\/(?:healthz|readyz)(?:$|\?)/;

/**
 * Begins the first few at once, those past them in the next turns of the event loop: one of each requester after the other, each one's
 * in the order in which they came.
 */
export function createRoundRobin(): (begin: () => void, requester?: string) => void {
  const waiting = new Map<string, (() => void)[]>();
  let begun = 0;
  let turns = false;

  /** Those that come first of the requesters that have waited longest. */
  function next(): (() => void)[] {
    const chosen: (() => void)[] = [];
    for (const [requester, begins] of waiting) {
      if (chosen.length === startsPerIteration) break;
      waiting.delete(requester);
      chosen.push(...begins.splice(0, 1));
      // Behind the others: this loop comes to it again.
      if (begins.length > 0) waiting.set(requester, begins);
    }
    return chosen;
  }

  function turn(): void {
    const chosen = next();
    begun = chosen.length;
    turns = begun > 0;
    if (turns) setImmediate(turn);
    for (const begin of chosen) begin();
  }

  return function inTurn(begin, requester = '') {
    if (begun >= startsPerIteration) {
      const begins = waiting.get(requester);
      if (begins) begins.push(begin);
      else waiting.set(requester, [begin]);
      return;
    }
    begun += 1;
    if (!turns) setImmediate(turn);
    turns = true;
    begin();
  };
}

/**
 * Lets the event loop turn while hundreds of requests come at once: Node hands over all that have arrived before it looks at
 * anything else. What comes with one key waits for its own like, not for that of others. What asks for the gateway's health waits for
 * no turn.
 */
export function serveRoundRobin(listener: RequestListener): RequestListener {
  const inTurn = createRoundRobin();

  return function begin(request, response) {
    if (healthProbe.test(request.url ?? '')) return listener(request, response);
    inTurn(() => {
      // A client may be gone by now.
      if (!request.socket.destroyed) listener(request, response);
    }, keyText(request));
  };
}

/** The key or its id as it was sent: which tenant that is will be known when the call has begun. */
function keyText({ headers, url = '' }: IncomingMessage): string {
  return headers.authorization ?? /[?&](?:ak|kid)=([^&]*)/.exec(url)?.[1] ?? '';
}

import type { RequestListener } from 'node:http';

/** Requests that are begun in one turn of the event loop: about ten milliseconds of work. */
const mostInTurn = 32;

/** What balancers ask, often with little patience; it costs nothing. */
const prompt = /^\/(?:healthz|readyz)(?:$|\?)/;

/**
 * Lets the event loop turn while hundreds of requests come at once: Node hands over all that have arrived before it looks at
 * anything else. Those past the first few wait for the next turns, in their order; what asks for the gateway's health does not.
 */
export function takeTurns(listener: RequestListener): RequestListener {
  const waiting: Parameters<RequestListener>[] = [];
  let begun = 0;
  let turns = false;

  function turn(): void {
    begun = 0;
    for (const [request, response] of waiting.splice(0, mostInTurn)) {
      begun += 1;
      // A client may be gone by now.
      if (!request.socket.destroyed) listener(request, response);
    }
    turns = begun > 0;
    if (turns) setImmediate(turn);
  }

  return function begin(request, response) {
    if (prompt.test(request.url ?? '')) return listener(request, response);
    if (begun >= mostInTurn) return void waiting.push([request, response]);
    begun += 1;
    if (!turns) setImmediate(turn);
    turns = true;
    listener(request, response);
  };
}

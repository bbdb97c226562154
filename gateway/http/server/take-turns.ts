import type { RequestListener } from 'node:http';

/** What is begun in one turn of the event loop: about ten milliseconds of work. */
const mostInTurn = 32;

/** What balancers ask, often with little patience; it costs nothing. */
const prompt = /^\/(?:healthz|readyz)(?:$|\?)/;

/** Begins the first few at once, those past them in the next turns of the event loop, in their order. */
export function createTurns(): (begin: () => void) => void {
  const waiting: (() => void)[] = [];
  let begun = 0;
  let turns = false;

  function turn(): void {
    const next = waiting.splice(0, mostInTurn);
    begun = next.length;
    turns = begun > 0;
    if (turns) setImmediate(turn);
    for (const begin of next) begin();
  }

  return function inTurn(begin) {
    if (begun >= mostInTurn) return void waiting.push(begin);
    begun += 1;
    if (!turns) setImmediate(turn);
    turns = true;
    begin();
  };
}

/**
 * Lets the event loop turn while hundreds of requests come at once: Node hands over all that have arrived before it looks at
 * anything else. What asks for the gateway's health waits for no turn.
 */
export function takeTurns(listener: RequestListener): RequestListener {
  const inTurn = createTurns();

  return function begin(request, response) {
    if (prompt.test(request.url ?? '')) return listener(request, response);
    inTurn(() => {
      // A client may be gone by now.
      if (!request.socket.destroyed) listener(request, response);
    });
  };
}
